"""A dequantization followed by the same quantization is removed."""

from __future__ import annotations

import pytest
import torch
from tests.passes.support import Build, apply, calls
from torch.export import export

from rushlight.exir import to_edge
from rushlight.passes.fold_quantize_pairs import FoldQuantizePairsPass

qd = torch.ops.quantized_decomposed
PARAMETERS = (0.25, 3, -128, 127, torch.int8)


class Again(torch.nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = qd.dequantize_per_tensor(qd.quantize_per_tensor(x, *PARAMETERS), *PARAMETERS)
        x = torch.nn.functional.dropout(x, 0.5, training=False)
        other = (self.scale, *PARAMETERS[1:])
        return qd.dequantize_per_tensor(qd.quantize_per_tensor(x, *other), *other)


@pytest.mark.parametrize(("scale", "left"), [(0.25, 1), (0.5, 2)])
def test_pairs_around_a_clone(scale: float, left: int) -> None:
    x, module = torch.randn(2, 16), Again(scale)
    edge = to_edge(export(module, (x,))).exported_program()
    names = [str(node.target) for node in edge.graph.nodes]
    assert sum(".quantize_per_tensor" in name for name in names) == left
    assert torch.equal(edge.module()(x), module(x))


@pytest.mark.parametrize("scale", [0.25, 0.5])
def test_whole_numbers_pass_through(scale: float) -> None:
    build = Build()
    q = build.input("q", 4, dtype=torch.int8)
    real = build.call(qd.dequantize_per_tensor.default, q, *PARAMETERS)
    again = build.call(qd.quantize_per_tensor.default, real, scale, *PARAMETERS[1:])
    result = apply(FoldQuantizePairsPass(), build.finish(again))
    assert result.modified == (scale == 0.25)
    assert len(calls(result.graph_module)) == (0 if scale == 0.25 else 2)
