"""Comparisons, logical operators, integers and `where` in plans with float32 steps."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, lower, operations, plan_of, run
from tests.backends.cpu.test_values import special

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Copy

WHOLE = torch.tensor([[-3, 0, 7, 2**62], [5, 5, -(2**63), 1]])
OTHER = torch.tensor([[7], [5]])
X = torch.linspace(-2, 2, 8).view(2, 4)


def _each(a: torch.Tensor, b: Any) -> list[torch.Tensor]:
    names = ("eq", "ne", "lt", "le", "gt", "ge")
    return [getattr(operator, name)(a, b) for name in names]


def _put(x: torch.Tensor, places: Any, values: torch.Tensor) -> torch.Tensor:
    x[places] = values
    return x


def _rows_in_turn(x: torch.Tensor, is_kept: bool = False) -> Any:
    """Replaces the columns of a new tensor in a loop. With `is_kept`, the loop also reads old values."""
    rows, total, kept = torch.zeros_like(x), torch.zeros_like(x[:, 0]), []
    for i in range(x.shape[1]):
        total = total * 0.5 + x[:, i]
        if is_kept:
            kept.append(rows.amax(1))
        rows[:, i] = total + 1
    return torch.sigmoid(rows), *kept


def _changed_copies(x: torch.Tensor, y: torch.Tensor) -> Any:
    a = x * 2
    b, c, d = a.clone(), a.t(), y * 3
    a[0] = y[1]
    b[:, 1:3] = y[:, :2]
    d[1] = d[0]
    return a + b, c * 2, d + 1


CASES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "compare_floats": (lambda x, y: (x * 2, *_each(x, y)), (special(3, 5), special(5, 3).t().contiguous())),
    "compare_with_number": (lambda x: (x + 1, *_each(x, 0.5)), (special(4, 4),)),
    "compare_whole": (lambda x, a, b: (x * 2, *_each(a, b), a > 3), (X, WHOLE, OTHER)),
    "compare_int32": (lambda x, a, b: (x * 2, *_each(a, b)), (X, WHOLE.int(), OTHER.int())),
    "arithmetic": (lambda x, a, b: (x * 2, a + b, a - b, a * b, a + 1, a * 3), (X, WHOLE, OTHER)),
    "arithmetic_int32": (lambda x, a, b: (x * 2, (a + b) * b - 1), (X, WHOLE.int(), OTHER.int())),
    "logic": (
        lambda x, a: (x * 2, (x > 0) & (a > 0), (x > 0) | (a > 0), (x > 0) ^ (a > 0), ~(a > 0)),
        (X, WHOLE),
    ),
    "logic_named": (
        lambda x, a: torch.logical_and(x > 0, torch.logical_not(a > 0)) | torch.logical_xor(x > 1, a > 1),
        (X, WHOLE),
    ),
    "where": (lambda x, a: (torch.where(x > 0, x, -x), torch.where(a[:, :1] > 0, x, 2.0)), (X, WHOLE)),
    "where_whole": (lambda x, a, b: (x * 2, torch.where(x > 0, a, b)), (X, WHOLE, OTHER)),
    "lerp": (lambda x, a, b: (x.lerp(x * 3, 0.3), x.lerp(x * 3, 0.7), x.lerp(x * 3, x)), (X, WHOLE, OTHER)),
    "where_constant": (
        lambda x: (
            torch.where(torch.arange(2)[:, None] >= 0, x * 2, 1.0) + torch.where(torch.zeros(4) > 0, 5.0, x)
        ),
        (X,),
    ),
    "masked_fill": (lambda x: (x * 2).masked_fill(x < 0, float("-inf")).softmax(-1), (X + 1.5,)),
    "mask_as_number": (lambda x: (1.0 - (x > 0).float()) * -10000 + x, (X,)),
    "transposed": (lambda x, y: torch.where((x * 2).t() > y, x.t(), y), (X, X.t().contiguous())),
    "empty": (lambda x: torch.where(x * 2 > 0, x, 1.0), (torch.zeros(0, 4),)),
    "scatter_slice": (lambda x, y: torch.slice_scatter(x * 2, y, 1, 1, 3), (X, X[:, :2].contiguous())),
    "scatter_select": (lambda x, y: torch.select_scatter(x * 2, y, 0, -1), (X, X[0].contiguous())),
    "scatter_in_turn": (lambda x: _rows_in_turn(x), (X,)),
    "scatter_of_kept_values": (lambda x: _rows_in_turn(x, is_kept=True), (X,)),
    "scatter_of_a_shared_value": (_changed_copies, (X, X.contiguous())),
    "index_add": (
        lambda x, y: (x * 2).index_add(0, torch.tensor([1, 0, 1]), y[[0, 1, 1]] * 3),
        (X, X.contiguous()),
    ),
    "index_add_columns": (
        lambda x, y: torch.zeros_like(x).index_add(1, torch.tensor([3, 3, 0]), y[:, :3] * 3),
        (X, X.contiguous()),
    ),
    "index_put_sums": (
        lambda x, y: (x * 2).index_put((torch.tensor([1, -1, 1]),), y[[0, 1, 1]] * 3, accumulate=True),
        (X, X.contiguous()),
    ),
    "scatter_add": (
        lambda x, y: (x * 2).scatter_add(
            0, torch.tensor([1, 0, 1])[:, None].expand(3, x.shape[1]), y[[0, 1, 1]]
        ),
        (X, X.contiguous()),
    ),
    "scatter_add_of_numbers": (
        lambda x, y: (x[:, 0] * 2).scatter_add(0, torch.tensor([1, 0, 1]), y[0, :3] + 1),
        (X, X.contiguous()),
    ),
    "index_put": (
        lambda x, y, i: _put(x * 2, (slice(None), i), y),
        (X, X[:, :2].contiguous(), torch.tensor([3, -4])),
    ),
    "index_put_number": (
        lambda x, y, i: _put(x * 2, (i,), y),
        (X, torch.tensor(5.0), torch.tensor([1])),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str) -> None:
    tested, inputs = CASES[name]

    def function(*inputs: torch.Tensor) -> Any:
        # The partitioner makes no part that contains only masks.
        return tested(*inputs), torch.softmax(inputs[0], -1)

    program, outside = lower(function, inputs)
    assert not outside
    assert_close(run(program, inputs), expected(function, inputs))


def test_updates_in_turn_use_the_same_memory() -> None:
    program, outside = lower(_rows_in_turn, (X,))
    assert not outside
    values = plan_of(program).values
    ranks = [len(values[copy.output].sizes) for copy in operations(program, Copy)]
    assert ranks.count(2) == 1  # the zeros


def test_whole_numbers_alone_are_no_part() -> None:
    partitioner = CpuPartitioner()
    inputs = (WHOLE, OTHER)
    program, outside = lower(lambda a, b: (a + b) * b > 3, inputs, partitioner=partitioner)
    assert len(outside) == 3
    assert_close(run(program, inputs), expected(lambda a, b: (a + b) * b > 3, inputs))


@pytest.mark.parametrize("alpha", [1, 2])
def test_operands_of_several_types_stay_outside(alpha: int) -> None:
    inputs = (X, WHOLE, OTHER.int())

    def function(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> Any:
        return torch.relu(x) * 2, torch.add(a, b, alpha=alpha)

    program, outside = lower(function, inputs)
    assert outside
    assert_close(run(program, inputs), expected(function, inputs))
