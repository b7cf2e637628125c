"""Functions of one 8-bit tensor are replaced by a table of 256 results."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.passes.support import calls, edge_of
from torch.export import ExportedProgram
from torch.nn import functional as F

from rushlight.passes.fuse_lookup import fuse_lookups
from rushlight.passes.quantized_rewriter import Rewriter

qd = torch.ops.quantized_decomposed
IN = (0.05, 3, -128, 127, torch.int8)
OUT = (0.02, -7, -128, 127, torch.int8)


class Requantized(torch.nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, q: torch.Tensor) -> torch.Tensor:
        x = qd.dequantize_per_tensor(q, *IN)
        result: torch.Tensor = qd.quantize_per_tensor(self.function(x), *OUT)
        return result


def rewritten(function: Callable[[torch.Tensor], torch.Tensor], available: bool = True) -> ExportedProgram:
    program = edge_of(Requantized(function), ENTRIES)
    fuse_lookups(Rewriter(program, lambda op, dtype: available))
    program.graph.eliminate_dead_code()
    program.graph_module.recompile()
    return program


ENTRIES = torch.arange(-128, 128, dtype=torch.int8)


@pytest.mark.parametrize(
    "function",
    [F.silu, lambda x: x * torch.sigmoid(x) + 0.5, lambda x: x],
    ids=["one operator", "several operators", "another scale alone"],
)
def test_all_256_results_are_those_of_eager(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    program = rewritten(function)
    assert calls(program.graph_module) == ["rushlight.quantized_lookup.default"]
    assert torch.equal(program.module()(ENTRIES), Requantized(function)(ENTRIES))


def test_each_table_has_the_parameters_of_its_input() -> None:
    """The tensor is also dequantized with other parameters, before its function and after."""

    class Twice(torch.nn.Module):
        def forward(self, q: torch.Tensor) -> tuple[torch.Tensor, ...]:
            first, second = qd.dequantize_per_tensor(q, *OUT), qd.dequantize_per_tensor(q, *IN)
            return tuple(qd.quantize_per_tensor(F.silu(x), *OUT) for x in (second, first))

    program = edge_of(Twice(), ENTRIES)
    fuse_lookups(Rewriter(program, lambda op, dtype: True))
    program.graph.eliminate_dead_code()
    program.graph_module.recompile()
    assert calls(program.graph_module) == ["rushlight.quantized_lookup.default"] * 2
    for got, expected in zip(program.module()(ENTRIES), Twice()(ENTRIES), strict=True):
        assert torch.equal(got, expected)


def test_what_mixes_elements_is_no_table() -> None:
    program = rewritten(lambda x: F.silu(x).cumsum(0))
    assert not any("lookup" in name for name in calls(program.graph_module))


def test_a_target_without_tables_keeps_the_operators() -> None:
    assert not any("lookup" in name for name in calls(rewritten(F.silu, available=False).graph_module))


class Twice(torch.nn.Module):
    def forward(self, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = F.silu(qd.dequantize_per_tensor(q, *IN))
        return qd.quantize_per_tensor(y, *OUT), y


def test_results_that_others_read_as_floats_stay() -> None:
    program = edge_of(Twice(), ENTRIES)
    fuse_lookups(Rewriter(program, lambda op, dtype: True))
    assert not any("lookup" in name for name in calls(program.graph_module))
