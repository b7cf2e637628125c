"""Models that torchao's `quantize_` has quantized run on kernels, and completely in XnnpackBackend."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from torchao.quantization import quantize_
from torchao.quantization.granularity import PerAxis, PerGroup, PerTensor
from torchao.quantization.quant_api import (
    Int8DynamicActivationInt8WeightConfig,
    Int8DynamicActivationIntxWeightConfig,
    Int8WeightOnlyConfig,
    IntxWeightOnlyConfig,
)

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.runtime import BackendRegistry, Runtime

INT4: torch.dtype = getattr(torch, "int4")  # noqa: B009  (the stubs of torch lack it)
DYNAMIC = {
    "int4 by groups": Int8DynamicActivationIntxWeightConfig(
        weight_dtype=INT4,
        weight_granularity=PerGroup(32),
    ),
    "int4 by channels": Int8DynamicActivationIntxWeightConfig(
        weight_dtype=INT4,
        weight_granularity=PerAxis(0),
    ),
    "int8 by channels": Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int8, weight_granularity=PerAxis(0)
    ),
}
WEIGHT_ONLY = {
    "int4 weights alone": IntxWeightOnlyConfig(weight_dtype=INT4, granularity=PerGroup(32)),
    "int8 weights alone": IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)),
    "int8 weights as aten has them": Int8WeightOnlyConfig(),
}
INTEGER_PRODUCTS = {
    "int8 products by rows": Int8DynamicActivationInt8WeightConfig(),
    "int8 products by tensors": Int8DynamicActivationInt8WeightConfig(granularity=PerTensor()),
}
CONFIGS = DYNAMIC | WEIGHT_ONLY | INTEGER_PRODUCTS


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 96), nn.Linear(96, 32, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


def _quantized(name: str) -> tuple[nn.Module, torch.Tensor, Any]:
    torch.manual_seed(0)
    model, x = Perceptron().eval(), torch.randn(2, 5, 64)
    quantize_(model, CONFIGS[name])
    return model, x, export(model, (x,), dynamic_shapes=({0: Dim("n", min=1, max=8)},))


def _assert_agree(buffer: bytes, model: nn.Module, x: torch.Tensor) -> None:
    """Requires that the results differ from eager PyTorch by at most one quantum of the activations."""
    method = Runtime.get().load_program(bytes(buffer)).load_method("forward")
    for inputs in (x, torch.randn(7, 5, 64)):
        expected = model(inputs)
        got = torch.as_tensor(method.execute([inputs])[0])
        assert (got - expected).abs().max() <= 0.02 * expected.abs().max()
        assert (got - expected).abs().mean() <= 0.001 * expected.abs().max()


@pytest.mark.parametrize("name", CONFIGS)
def test_on_kernels(name: str) -> None:
    model, x, program = _quantized(name)
    before = program.graph_module.code
    edge = to_edge(program)
    targets = {str(node.target) for node in edge.exported_program().graph.nodes}
    assert not any("torchao" in target or "subclass" in target for target in targets)
    buffer = edge.to_executorch().buffer
    assert len(buffer) < 0.75 * 4 * (64 * 96 + 96 * 32)
    _assert_agree(buffer, model, x)
    assert program.graph_module.code == before


@pytest.mark.skipif(
    not BackendRegistry().is_available("XnnpackBackend"), reason="this build has no XnnpackBackend"
)
@pytest.mark.parametrize("name", DYNAMIC)
def test_in_xnnpack(name: str) -> None:
    model, x, program = _quantized(name)
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert get_non_lowered_nodes(edge.exported_program().graph) == []
    _assert_agree(edge.to_executorch().buffer, model, x)
