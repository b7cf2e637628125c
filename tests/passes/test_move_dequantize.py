"""Operators that move elements run on integers, before the dequantization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.passes.support import calls, edge_of
from torch.export import ExportedProgram
from torch.nn import functional as F

from rushlight.ir import meta
from rushlight.passes.move_dequantize import move_dequantize
from rushlight.passes.quantized_rewriter import Rewriter

qd = torch.ops.quantized_decomposed
PARAMETERS = (0.05, 3, -128, 127, torch.int8)
OTHERS = (0.1, 3, -128, 127, torch.int8)


class Moved(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor], second: tuple[Any, ...] = PARAMETERS) -> None:
        super().__init__()
        self.function, self.second = function, second

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return self.function(
            qd.dequantize_per_tensor(a, *PARAMETERS), qd.dequantize_per_tensor(b, *self.second)
        )


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-128, 128, (1, 2, 4, 4), generator=generator, dtype=torch.int8) for _ in "ab")
    return a, b


def rewritten(module: torch.nn.Module, available: bool = True) -> ExportedProgram:
    program = edge_of(module, *inputs())
    move_dequantize(Rewriter(program, lambda op, dtype: available))
    program.graph.eliminate_dead_code()
    program.graph.lint()
    program.graph_module.recompile()
    return program


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a.reshape(2, 16),
        lambda a, b: a.permute(0, 2, 3, 1),
        lambda a, b: a[:, :, 1:3],
        lambda a, b: F.max_pool2d(a, 2),
        lambda a, b: torch.cat([a, b], 1),
    ],
    ids=["view", "permute", "slice", "maximum", "concatenation"],
)
def test_the_dequantization_comes_last(function: Callable[..., torch.Tensor]) -> None:
    program = rewritten(Moved(function))
    names = calls(program.graph_module)
    assert names[-1] == "quantized_decomposed.dequantize_per_tensor.default"
    assert sum("dequantize" in name for name in names) == 1
    result = program.graph.output_node().args[0][0]
    assert meta.get_val(result.args[0]).dtype == torch.int8
    assert torch.equal(program.module()(*inputs()), Moved(function)(*inputs()))


def test_other_parameters_are_not_joined() -> None:
    program = rewritten(Moved(lambda a, b: torch.cat([a, b], 1), OTHERS))
    assert calls(program.graph_module)[-1] == "cat.default"


def test_movements_that_the_target_lacks_stay() -> None:
    program = rewritten(Moved(lambda a, b: a.reshape(2, 16)), available=False)
    assert calls(program.graph_module)[-1] == "view_copy.default"


class Again(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        moved = qd.dequantize_per_tensor(a, *PARAMETERS).reshape(2, 16)
        result: torch.Tensor = qd.quantize_per_tensor(moved, *PARAMETERS)
        return result


def test_what_is_quantized_again_by_the_same_parameters_stays_whole() -> None:
    program = rewritten(Again())
    assert calls(program.graph_module) == ["view_copy.default"]
    assert torch.equal(program.module()(*inputs()), Again()(*inputs()))
