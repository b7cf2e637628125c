"""Programs whose tensors share memory run several times on kernels only, and agree with eager PyTorch.

Buffers and outputs that alias, operators whose arguments are one tensor, results of control flow: a plan may
keep them in one place only where nobody can tell.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop
from torch.export import export

import rushlight

pytest.importorskip("rushlight.runtime.kernels", reason="the native runtime is not built")

CALLS = 4
ROWS = torch.tensor([1, 0])
PLACES = torch.tensor([[1, 0, 1], [0, 1, 0]])


class Net(torch.nn.Module):
    """The buffers `a` and `b` are [2, 3], and `c` is [3, 3]. The cases are methods that use them."""

    def __init__(self, case: Callable[..., Any]) -> None:
        super().__init__()
        self.case = case
        self.register_buffer("a", torch.arange(6.0).view(2, 3))
        self.register_buffer("b", torch.arange(6.0).view(2, 3) * 10 + 1)
        self.register_buffer("c", torch.arange(9.0).view(3, 3))

    def forward(self, x: torch.Tensor) -> Any:
        return self.case(self, x)


def each_buffer_from_the_other(m: Any, x: Any) -> Any:
    m.a.copy_(m.b)
    m.b.copy_(m.a)
    return x + m.a


def swapped_buffers(m: Any, x: Any) -> Any:
    old = m.a.clone()
    m.a.copy_(m.b)
    m.b.copy_(old)
    return x + m.a


def swapped_and_changed(m: Any, x: Any) -> Any:
    changed = m.a + 1
    m.a.copy_(m.b)
    m.b.copy_(changed)
    return m.a - m.b


def old_contents_move_on(m: Any, x: Any) -> Any:
    m.b.copy_(m.a)
    m.a.add_(x)
    return m.b + m.a


def old_contents_move_on_before_a_part_is_written(m: Any, x: Any) -> Any:
    m.b.copy_(m.a)
    m.a[0] = x[0]
    return m.b + m.a


def one_value_for_two_buffers(m: Any, x: Any) -> Any:
    y = m.a + x
    m.a.copy_(y)
    m.b.copy_(y)
    return y


def a_part_between_two_uses(m: Any, x: Any) -> Any:
    m.a[0] = x[0]
    m.b.copy_(m.a)
    m.a[1] = x[1]
    return m.b - m.a


def an_input_kept(m: Any, x: Any) -> Any:
    m.a.copy_(x)
    return x, m.a * 1


def old_and_new_returned(m: Any, x: Any) -> Any:
    old = m.a.clone()
    m.a.add_(x)
    return old, m.a, m.a.view(3, 2)


def an_old_view_returned(m: Any, x: Any) -> Any:
    old = m.a.view(6).clone()
    m.a[0] = x[0]
    return old, m.a[0], m.a[1:]


def a_row_from_its_neighbour(m: Any, x: Any) -> Any:
    m.a[0] = m.a[1]
    m.a[1] = m.a[0] + 1
    return m.a + x


def columns_from_their_neighbours(m: Any, x: Any) -> Any:
    m.a[:, 1:] = m.a[:, :2].clone()
    return m.a


def scattered_onto_itself(m: Any, x: Any) -> Any:
    m.a.scatter_add_(0, PLACES, m.a.clone())
    return m.a + x


def rows_put_onto_itself(m: Any, x: Any) -> Any:
    m.a.index_put_((ROWS,), m.a.clone(), accumulate=True)
    return x * 1


def rows_copied_onto_itself(m: Any, x: Any) -> Any:
    m.a.index_copy_(0, ROWS, m.a.clone())
    return m.a


def transposed_in_place(m: Any, x: Any) -> Any:
    m.c.copy_(m.c.t().clone())
    return m.c + 0


def chosen_from_itself(m: Any, x: Any) -> Any:
    m.a.copy_(torch.where(m.a > 1, m.b, m.a))
    m.b.copy_(m.a)
    return m.b


def branches_over_buffers(m: Any, x: Any) -> Any:
    def then(s: Any, t: Any) -> Any:
        return t.clone(), s.clone()

    def otherwise(s: Any, t: Any) -> Any:
        return s + 1, t + 1

    y, z = torch.cond(x.sum() < 4, then, otherwise, (m.a, m.b))
    m.a.copy_(y)
    m.b.copy_(z)
    return y + x


def a_branch_returns_old_contents(m: Any, x: Any) -> Any:
    y = torch.cond(x.sum() < 4, lambda s: s.clone(), lambda s: s + 1, (m.a,))
    m.a[0] = x[0]
    return y


def a_branch_returns_two_shapes_of_one_value(m: Any, x: Any) -> Any:
    def then(s: Any) -> Any:
        u = s + 1
        return u.view(6), u * 2

    def otherwise(s: Any) -> Any:
        return (s - 1).view(6), s * 2

    y, z = torch.cond(x.sum() < 4, then, otherwise, (x,))
    return y.view(3, 2) * 1, z.view(6)


def a_loop_that_turns_its_values(m: Any, x: Any) -> Any:
    def body(i: Any, a: Any, b: Any) -> Any:
        return i + 1, b.clone(), a + b

    _, y, z = while_loop(lambda i, a, b: i < 3, body, (torch.tensor(0), x + 0, x * 2))
    return y, z


def a_loop_over_what_is_used_later(m: Any, x: Any) -> Any:
    w = x * 3
    _, y = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * w), (torch.tensor(0), w + 0))
    return y, w


def the_input_itself(m: Any, x: Any) -> Any:
    return x


def the_input_as_a_whole_slice(m: Any, x: Any) -> Any:
    return x[0:], x + 1, x.view(3, 2)


def the_input_joined_with_nothing(m: Any, x: Any) -> Any:
    return torch.cat((torch.empty(0, 3), x))


def nothing_joined_with_nothing(m: Any, x: Any) -> Any:
    return torch.cat((x[:0], x[2:])), x


def one_value_twice(m: Any, x: Any) -> Any:
    y = x * 2
    return y, y, y.view(6)


def a_value_and_its_transpose(m: Any, x: Any) -> Any:
    y = x.repeat(1, 2)[:, :2] * 2
    return y + y.t(), y - y[:1], torch.maximum(y, y.t()), y * y[..., :1]


def scatter_add_of_itself(m: Any, x: Any) -> Any:
    y = x * 2
    return y.scatter_add(1, PLACES, y)


def scatter_of_itself(m: Any, x: Any) -> Any:
    y = x * 2
    return y.scatter(1, torch.tensor([[1, 2, 0], [2, 0, 1]]), y)


def index_put_of_itself(m: Any, x: Any) -> Any:
    y, z = x * 2, x * 3
    return y.index_put((ROWS,), y), z.index_put((ROWS,), z, accumulate=True)


def slices_of_itself(m: Any, x: Any) -> Any:
    y = x * 2
    return y.slice_scatter(y[:, :2], 1, 1, 3), y.select_scatter(y[0], 0, 1)


def positions_that_are_the_values(m: Any, x: Any) -> Any:
    y = torch.tensor([1, 2, 3, 4, 0]) * x.new_ones((), dtype=torch.int64)
    return y.scatter(0, y, 1 << 30), y.scatter_add(0, y, y * 1000000), y.index_put((y,), y)


def masks_that_are_the_values(m: Any, x: Any) -> Any:
    y, z = x > 1, x > 2
    return y.masked_fill(y, False), torch.where(z, z, ~z)


def elements_in_step(m: Any, x: Any) -> Any:
    y, z = x * 2, x * 3
    return y * y, torch.pow(z, z), torch.clamp(x + 1, x + 1, x + 1)


def parts_under_another_shape(m: Any, x: Any) -> Any:
    first, second = torch.split(x * 2, 1, 0)
    return first.reshape(3) + second.reshape(3, 1)


CASES = [
    case
    for case in list(globals().values())
    if getattr(case, "__code__", None) and "m" in case.__code__.co_varnames[:1]
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kernels(case: Any) -> None:
    check(case, partitioner=())


@pytest.mark.parametrize(
    "case",
    [the_input_itself, the_input_as_a_whole_slice, the_input_joined_with_nothing, nothing_joined_with_nothing]
    + [swapped_buffers, one_value_twice, scatter_add_of_itself, positions_that_are_the_values],
    ids=lambda case: case.__name__,
)
def test_the_default_backend(case: Any) -> None:
    check(case)


def check(case: Callable[..., Any], **options: Any) -> None:
    """Compares several calls of a program, which keeps its state, with those of the module."""
    x = torch.full((2, 3), 0.5)
    program = rushlight.load(rushlight.compile(export(Net(case), (x,)), **options).buffer, threads=1)
    eager = Net(case)
    for call in range(CALLS):
        x = torch.arange(6.0).view(2, 3) / 4 + call / 2
        # The results of eager PyTorch may share memory with its buffers.
        expected = torch.utils._pytree.tree_map(torch.clone, eager(x.clone()))
        actual = program(x.clone())
        if isinstance(expected, torch.Tensor):
            expected, actual = (expected,), (actual,)
        for given, wanted in zip(actual, expected, strict=True):
            torch.testing.assert_close(given, wanted, msg=functools.partial("call {}: {}".format, call))
