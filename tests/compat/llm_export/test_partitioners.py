"""The partitioners of language models."""

from __future__ import annotations

import pytest
import torch
from torch.export import export

from rushlight.compat.llm_export.partitioners import get_openvino_partitioner, get_xnnpack_partitioner
from rushlight.exir import to_edge_transform_and_lower


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.linear(x))


@pytest.mark.parametrize(
    ("dtype", "only_dynamic", "bf16", "left"),
    [
        (torch.float32, True, False, {"sigmoid"}),
        (torch.float32, False, False, set()),
        (torch.bfloat16, True, False, {"linear", "sigmoid"}),
        (torch.bfloat16, True, True, {"sigmoid"}),
    ],
)
def test_xnnpack(dtype: torch.dtype, only_dynamic: bool, bf16: bool, left: set[str]) -> None:
    partitioner = get_xnnpack_partitioner(only_dynamic, enable_bf16=bf16)
    program = export(Layers().to(dtype), (torch.randn(2, 4, dtype=dtype),))
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
    text = edge.exported_program().graph_module.code
    operators = {"linear": "aten_addmm_default", "sigmoid": "aten_sigmoid_default"}
    assert {layer for layer, operator in operators.items() if operator in text} == left


def test_openvino() -> None:
    (spec,) = get_openvino_partitioner("GPU").delegation_spec.compile_specs
    assert (spec.key, spec.value) == ("device", b"GPU")
