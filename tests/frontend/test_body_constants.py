"""Constants in bodies of control flow, in programs that torch decomposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import Function

import rushlight
from rushlight.frontend.body_constants import lift_body_constants
from rushlight.frontend.decompose import why_general


def _swapped(x: torch.Tensor) -> torch.Tensor:
    return x[:, torch.tensor([2, 1, 0])]


def _cond(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, _swapped, lambda x: x + torch.tensor([1.0, 2.0, 3.0]), (x,))


def _nested(x: torch.Tensor) -> torch.Tensor:
    def inner(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x[0, 0] > 0, _swapped, lambda x: x * 2, (x,))

    return torch.cond(x.sum() > 0, inner, lambda x: x - 1, (x,))


def _loop(x: torch.Tensor) -> torch.Tensor:
    def step(i: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return i + 1, x + torch.tensor([1.0, 2.0, 3.0])

    return torch.while_loop(lambda i, x: i < torch.tensor(3), step, (torch.tensor(0), x))[1]  # type: ignore[no-any-return]


def _map(x: torch.Tensor) -> torch.Tensor:
    def swap(row: Any, *_: Any) -> Any:
        return row[torch.tensor([1, 0, 2])]

    return torch._higher_order_ops.map(swap, x)  # type: ignore[no-any-return]


def _scan(x: torch.Tensor) -> torch.Tensor:
    def step(a: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return a + row * torch.tensor([1.0, 0.0, 2.0]), a * 1.0

    return torch._higher_order_ops.scan(step, x[0] * 0, x)[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("function", [_cond, _nested, _loop, _map, _scan])
def test_bodies_with_constants(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.randn(4, 3)
    want = function(x), function(-x)

    def with_a_size_from_data(x: torch.Tensor) -> Any:
        return function(x), torch.nonzero(x > 0)

    exported = torch.export.export(Function(with_a_size_from_data), (x,))
    assert why_general(exported) == "aten.nonzero.default makes a size that depends on data"
    before = str(exported)
    module = rushlight.load(rushlight.compile(exported, partitioner=()).buffer)
    assert str(exported) == before
    for value, result in zip((x, -x), want, strict=True):
        got, places = module(value)
        torch.testing.assert_close(got, result)
        assert torch.equal(places, torch.nonzero(value > 0))


def test_a_program_without_constants_in_bodies_is_returned() -> None:
    function = Function(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)))
    exported = torch.export.export(function, (torch.randn(4, 3),))
    assert lift_body_constants(exported) is exported
