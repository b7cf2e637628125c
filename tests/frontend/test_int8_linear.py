"""Linear layers of torchao's Int8Tensor become quantized linear layers, with the results of torchao.

Sums of integers are exact, and the parameters of the activations have the same bits as those of torchao. One
layer therefore differs only in the roundings of the scales: 1e-5 of the largest result. After several layers,
a difference of one bit in an activation may move it to the next integer.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from torchao.quantization import quantize_
from torchao.quantization.granularity import PerAxis, PerGroup, PerRow, PerTensor
from torchao.quantization.quant_api import (
    Int8DynamicActivationInt8WeightConfig,
    Int8DynamicActivationIntxWeightConfig,
    Int8StaticActivationInt8WeightConfig,
    Int8WeightOnlyConfig,
)
from torchao.quantization.quant_primitives import MappingType

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compiler.pipelines import exported_to_plain
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge_transform_and_lower
from rushlight.runtime import BackendRegistry, Runtime

qd, rl = torch.ops.quantized_decomposed, torch.ops.rushlight
SCALE = torch.tensor([[0.02]])
ASYMMETRIC = MappingType.ASYMMETRIC
Products = Int8DynamicActivationInt8WeightConfig
Static = Int8StaticActivationInt8WeightConfig
CONFIGS: dict[str, Any] = {
    "rows": Products(),
    "rows, asymmetric": Products(act_mapping_type=ASYMMETRIC),
    "rows, reduced range": Products(reduce_range=True),
    "tensors": Products(granularity=PerTensor()),
    "tensors, asymmetric": Products(granularity=PerTensor(), act_mapping_type=ASYMMETRIC),
    "rows of the weight only": Products(granularity=[PerTensor(), PerRow()]),
    "rows of the input only": Products(granularity=[PerRow(), PerTensor()]),
    "float inputs": Int8WeightOnlyConfig(),
    "float inputs, one scale": Int8WeightOnlyConfig(granularity=PerTensor()),
    "static": Static(act_quant_scale=SCALE, granularity=PerTensor()),
    "static, asymmetric": Static(
        act_quant_scale=SCALE,
        act_quant_zero_point=torch.tensor([[5]], dtype=torch.int8),
        granularity=PerTensor(),
        act_mapping_type=ASYMMETRIC,
    ),
}


def _layer(name: str, bias: bool = True, dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 40, bias=bias)).to(dtype).eval()
    quantize_(model, CONFIGS[name])
    return model


def _called(program: Any) -> set[object]:
    return {node.target for node in program.graph.nodes if node.op == "call_function"}


def _assert_close(got: torch.Tensor, expected: torch.Tensor) -> None:
    assert got.shape == expected.shape
    assert (got - expected).abs().max() <= 1e-5 * expected.abs().max()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(5, 64), (1, 64), (64,), (2, 3, 64), (2, 2, 3, 64)])
@pytest.mark.parametrize("name", CONFIGS)
def test_layers_are_recognized(name: str, shape: tuple[int, ...], bias: bool) -> None:
    if "static" in name and len(shape) != 2:
        pytest.skip("torchao refuses such a scale")
    model, x = _layer(name, bias), torch.randn(shape) * 3
    plain = exported_to_plain(export(model, (x,)), {})
    called = _called(plain)
    assert torch.ops.aten.linear.default in called
    assert not called & {
        torch.ops.aten._int_mm.default,
        torch.ops.aten.mm.default,
        torch.ops.aten.add_.Tensor,
    }
    _assert_close(plain.module()(x), model(x))


@pytest.mark.parametrize("name", ["rows", "rows, asymmetric", "tensors"])
def test_a_decomposed_program_is_recognized(name: str) -> None:
    model, x = _layer(name), torch.randn(2, 3, 64)
    plain = exported_to_plain(export(model, (x,)).run_decompositions({}), {})
    assert torch.ops.aten._int_mm.default not in _called(plain)
    _assert_close(plain.module()(x), model(x))


def test_other_products_are_not_changed() -> None:
    """The scale of another tensor, or float16 roundings, are no layer of torchao."""

    class Other(nn.Module):
        def __init__(self, layer: nn.Module) -> None:
            super().__init__()
            weight: Any = layer.weight
            self.register_buffer("ints", weight.qdata)
            self.register_buffer("scales", weight.scale)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            s, z = torch.ops.torchao.choose_qparams_affine(
                x, "ASYMMETRIC", [1, 64], torch.int8, -128, 127, 1.2e-7, torch.float32, torch.int8, True
            )
            q = torch.ops.torchao.quantize_affine(x, [1, 64], s, z, torch.int8, -128, 127)
            total = torch._int_mm(q, self.ints.t()).to(torch.float32)  # type: ignore[operator]
            result: torch.Tensor = total * s * self.scales.flatten()  # type: ignore[operator]
            return result

    x = torch.randn(3, 64)
    model = Other(_layer("rows")[0])  # type: ignore[index]
    plain = exported_to_plain(export(model, (x,)), {})
    assert torch.ops.aten._int_mm.default in _called(plain), "it ignores the zero points"
    half = _layer("rows", dtype=torch.bfloat16)
    plain = exported_to_plain(export(half, (x.bfloat16(),)), {})
    assert torch.ops.aten._int_mm.default in _called(plain)


@pytest.mark.parametrize("name", CONFIGS)
def test_in_the_cpu_backend(name: str) -> None:
    model, x = _layer(name), torch.randn(5, 64) * 3
    program = export(model, (x,), dynamic_shapes=({0: Dim("n", min=1, max=9)},))
    edge = to_edge_transform_and_lower(program, partitioner=[CpuPartitioner()])
    assert get_non_lowered_nodes(edge.exported_program().graph) == []
    buffer = bytes(edge.to_executorch().buffer)
    assert len(buffer) < 0.75 * 4 * 64 * 40 + 4096
    method = Runtime.get().load_program(buffer).load_method("forward")
    for inputs in (x, torch.randn(9, 64), torch.zeros(1, 64)):
        _assert_close(torch.as_tensor(method.execute([inputs])[0]), model(inputs))


@pytest.mark.parametrize("name", CONFIGS)
def test_on_kernels(name: str) -> None:
    model, x = _layer(name), torch.randn(5, 64) * 3
    program = to_edge_transform_and_lower(export(model, (x,))).to_executorch()
    names = {str(target) for target in _called(program.exported_program())}
    assert not any("mm.out" in name for name in names), "a kernel multiplies int8 numbers"
    method = Runtime.get().load_program(bytes(program.buffer)).load_method("forward")
    _assert_close(torch.as_tensor(method.execute([x])[0]), model(x))


@pytest.mark.skipif(
    not BackendRegistry().is_available("XnnpackBackend"), reason="this build has no XnnpackBackend"
)
@pytest.mark.parametrize("name", CONFIGS)
def test_with_xnnpack(name: str) -> None:
    """XNNPACK has asymmetric rows only. It does not separate other layers from their weights and ranges."""
    model, x = _layer(name), torch.randn(2, 64) * 3
    edge = to_edge_transform_and_lower(export(model, (x,)), partitioner=[XnnpackPartitioner()])
    if name == "rows, asymmetric":
        assert get_non_lowered_nodes(edge.exported_program().graph) == []
    program = edge.to_executorch()
    names = {str(target) for target in _called(program.exported_program())}
    assert not any("mm.out" in name for name in names)
    got = torch.as_tensor(
        Runtime.get().load_program(bytes(program.buffer)).load_method("forward").execute([x])[0]
    )
    assert (got - model(x)).abs().max() <= 0.01 * model(x).abs().max()


@pytest.mark.parametrize("mapping", [MappingType.SYMMETRIC, ASYMMETRIC])
@pytest.mark.parametrize("granularity", [PerAxis(0), PerGroup(32)])
def test_int8_weights_of_intx_layers(mapping: MappingType, granularity: Any) -> None:
    """Int8 zero points do not overflow, and rows with one scale are multiplied as integers."""
    torch.manual_seed(0)
    float_model, x = nn.Sequential(nn.Linear(64, 40)).eval(), torch.randn(5, 64)
    model = copy.deepcopy(float_model)
    quantize_(
        model,
        Int8DynamicActivationIntxWeightConfig(weight_granularity=granularity, weight_mapping_type=mapping),
    )
    program = export(model, (x,))
    _assert_close(exported_to_plain(program, {}).module()(x), model(x))
    edge = to_edge_transform_and_lower(program, partitioner=[CpuPartitioner()])
    is_whole = get_non_lowered_nodes(edge.exported_program().graph) == []
    assert is_whole or mapping is ASYMMETRIC or isinstance(granularity, PerGroup)
    method = Runtime.get().load_program(bytes(edge.to_executorch().buffer)).load_method("forward")
    _assert_close(torch.as_tensor(method.execute([x])[0]), model(x))
