"""Sizes and integers that a program requires, such as those of slices with a static size."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import Dim, export

import rushlight
from rushlight.frontend.relations import relations_of
from rushlight.runtime.errors import InvalidArgumentError

SLICES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "begin": (lambda x: x[:2] * 2, 2),
    "middle": (lambda x: x[1:2] + 1, 2),
    "end": (lambda x: x[-1:] + 1, 1),
    "behind the end": (lambda x: x[-2:-1] + 1, 2),
    "diagonal": (lambda x: x[:, :1].diagonal() + 1, 1),
}


def _program(function: Callable[[Any], Any]) -> Any:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return function(x)

    return export(Model(), (torch.randn(5, 4),), dynamic_shapes={"x": {0: Dim("b", min=0, max=8)}})


@pytest.mark.parametrize("name", SLICES)
def test_a_part_of_static_size_needs_the_size(name: str) -> None:
    function, least = SLICES[name]
    module = rushlight.load(rushlight.compile(_program(function), partitioner=()).buffer)
    x = torch.randn(least, 4)
    torch.testing.assert_close(module(x), function(x))
    with pytest.raises(
        InvalidArgumentError, match=rf"needs x.shape\[0\] >= {least} \(test_relations.py:\d+\)"
    ):
        module(x[1:])


def test_a_slice_with_a_step_needs_the_size_up_to_its_last_element() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.cat([x] * 4) * 1
        y[:5:3] += 1
        return y + y[1:7:4].sum()

    program = _program(function)
    for compiled in (rushlight.compile(program), rushlight.compile(program, partitioner=())):
        module = rushlight.load(compiled.buffer)
        for rows in (2, 7):
            x = torch.randn(rows, 4)
            torch.testing.assert_close(module(x), function(x))
        with pytest.raises(InvalidArgumentError, match=r"needs 4\*x.shape\[0\] >= 6 "):
            module(x[:1])


def test_a_size_that_the_range_holds_is_no_relation() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x[:1] + x[-1:]

    program = export(Model(), (torch.randn(5, 4),), dynamic_shapes={"x": {0: Dim("b", min=1, max=8)}})
    assert relations_of(program) == ()


class Moved(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.relu(x.permute(0, 2, 3, 1)) + 1, x.transpose(1, 3) * 2


def test_a_saved_program_takes_the_same_sizes() -> None:
    """Torch asks for layouts while it loads the program, and records that 5 * rows is greater than 5."""
    sizes = {0: torch.export.Dim("b", max=6), 1: torch.export.Dim("rows", min=1, max=6)}
    program = torch.export.export(Moved(), (torch.randn(4, 3, 1, 5),), dynamic_shapes=(sizes,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    module = rushlight.load(rushlight.compile(torch.export.load(file)).buffer)
    x = torch.randn(4, 1, 1, 5)
    torch.testing.assert_close(module(x), Moved()(x))
