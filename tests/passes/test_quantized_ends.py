"""The quantization parameters of inputs and outputs that the program leaves quantized."""

from __future__ import annotations

import pytest
import torch
from torch.export import export

from rushlight.exir import to_edge
from rushlight.passes.quantized_ends import extract_io_quant_params

qd = torch.ops.quantized_decomposed
RANGE = (-128, 127, torch.int8)


class Quantized(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = qd.dequantize_per_tensor(qd.quantize_per_tensor(x, 0.5, 3, *RANGE), 0.5, 3, *RANGE)
        return qd.dequantize_per_tensor(
            qd.quantize_per_tensor(x + y, 0.25, -1, *RANGE), 0.25, -1, *RANGE
        ), y.exp()


def test_parameters_of_ends() -> None:
    edge = to_edge(export(Quantized(), (torch.ones(2), torch.ones(2))))
    found = extract_io_quant_params(edge)
    assert found["inputs"] == {"x": {"scale": 0.5, "zero_point": 3}}
    ((name, parameters),) = found["outputs"].items()
    assert parameters == {"scale": 0.25, "zero_point": -1}
    assert name in {node.name for node in edge.exported_program().graph.nodes}
    with pytest.raises(ValueError, match="input y is not quantized"):
        extract_io_quant_params(edge, input_idxs=[1])
    with pytest.raises(ValueError, match="output .* is not dequantized"):
        extract_io_quant_params(edge.exported_program(), output_idxs=[1])
    with pytest.raises(ValueError, match="no output 2: the program has 2"):
        extract_io_quant_params(edge, output_idxs=[2])
