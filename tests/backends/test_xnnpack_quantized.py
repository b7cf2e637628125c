"""Quantized programs in XnnpackBackend: every quantized node, computed in int8 or in float."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torchao.quantization import PerAxis, quantize_
from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig

import rushlight
from rushlight.backends.xnnpack import graph as g
from rushlight.backends.xnnpack.nodes import ConfigPrecisionType
from rushlight.backends.xnnpack.partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackFloatingPointPartitioner,
    XnnpackPartitioner,
    XnnpackQuantizedPartitioner,
)
from rushlight.backends.xnnpack.payload import read_payload
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge_transform_and_lower
from rushlight.format.pte import read_pte
from rushlight.ir.errors import CompileError
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import dynamic_int8, dynamic_int8_weight_int4
from rushlight.runtime import Runtime

BY_CHANNEL = get_symmetric_quantization_config(is_per_channel=True)
BY_TENSOR = get_symmetric_quantization_config()


class Arithmetic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 18, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        z = torch.relu(y + y[:, :, :1, :1]) * y
        return torch.cat([z, nn.functional.max_pool2d(y, 3, 1, 1)], 1)[:, 3:29].permute(0, 2, 3, 1)


class Pooled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.linear = nn.Conv2d(3, 20, 3, stride=2), nn.Linear(20, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.conv(x))
        return self.linear(nn.functional.adaptive_avg_pool2d(y, 1).flatten(1))


torch.manual_seed(0)
CASES: dict[str, tuple[nn.Module, tuple[int, ...]]] = {
    "pointwise": (nn.Conv2d(20, 37, 1), (2, 20, 7, 9)),
    "pointwise_grouped": (nn.Conv2d(12, 9, 1, groups=3), (2, 12, 5, 6)),
    "stem": (nn.Conv2d(3, 17, 7, stride=2, padding=3), (2, 3, 31, 29)),
    "dilated": (nn.Conv2d(5, 8, 3, dilation=2, padding=3), (1, 5, 12, 11)),
    "grouped": (nn.Conv2d(12, 18, (3, 2), groups=3, padding=(2, 1)), (2, 12, 8, 9)),
    "one_channel": (nn.Conv2d(1, 12, 3, padding=1), (1, 1, 9, 9)),
    "multiplied": (nn.Conv2d(6, 12, 3, groups=6, padding=1), (1, 6, 9, 9)),
    "depthwise_3": (nn.Conv2d(21, 21, 3, groups=21, padding=1), (2, 21, 10, 37)),
    "depthwise_5": (nn.Conv2d(16, 16, 5, groups=16, padding=2, stride=2, bias=False), (1, 16, 9, 19)),
    "line": (nn.Conv1d(6, 9, 5, padding=2), (2, 6, 20)),
    "same_even": (nn.Conv2d(5, 9, 4, padding="same"), (2, 5, 9, 8)),
    "same_even_depthwise": (nn.Conv2d(6, 6, (2, 4), groups=6, padding="same"), (1, 6, 7, 8)),
    "same_even_line": (nn.Conv1d(5, 7, 4, padding="same"), (2, 5, 11)),
    "transposed": (nn.ConvTranspose2d(7, 5, 3, stride=2, padding=1), (1, 7, 6, 5)),
    "linear": (nn.Linear(70, 45), (3, 5, 70)),
    "linear_row": (nn.Linear(500, 100, bias=False), (1, 500)),
    "arithmetic": (Arithmetic(), (1, 4, 9, 8)),
    "pooled": (Pooled(), (2, 3, 15, 15)),
}


def _quantized(module: nn.Module, shape: tuple[int, ...], config: Any) -> tuple[bytes, torch.Tensor, Any]:
    """Returns the program, an input, and the quantized program in eager mode."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(3))
    program = quantize(module.eval(), (x,), XNNPACKQuantizer().set_global(config), [(x,)])
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert get_non_lowered_nodes(edge.exported_program().graph) == []
    return bytes(edge.to_executorch().buffer), x, program.module()


def _run(program: bytes, x: torch.Tensor, **options: Any) -> torch.Tensor:
    method = Runtime.get().load_program(program).load_method("forward", **options)
    return torch.as_tensor(method.execute([x])[0]).clone()


def _values(program: bytes) -> list[g.XNNDatatype]:
    graph, _ = read_payload(bytes(read_pte(program).delegate_data[0]))
    kinds = []
    for value in graph.xvalues:
        union = value.xvalue_union
        tensor = union.tensor_value if isinstance(union, g.XNNQuantizedTensorValue) else union
        assert tensor is not None
        kinds.append(tensor.datatype)
    return kinds


@pytest.mark.parametrize("name", CASES)
def test_static(name: str) -> None:
    config = BY_TENSOR if name in ("grouped", "depthwise_5", "linear") else BY_CHANNEL
    program, x, eager = _quantized(*CASES[name], config)
    with torch.no_grad():
        expected = eager(x)
    results = [torch.as_tensor(rushlight.load(program, threads=n)(x)).clone() for n in (1, 2, 3)]
    assert all(torch.equal(results[0], other) for other in results[1:])
    wide = _run(program, x, backend_options={"XnnpackBackend": {"microkernels": False}})
    quantum = float(expected.abs().max()) / 60
    for result in (results[0], wide):
        assert result.shape == expected.shape
        assert (result - expected).abs().max() <= quantum
        assert (result - expected).abs().mean() <= quantum / 50
    kinds = _values(program)
    assert g.XNNDatatype.xnn_datatype_qint8 in kinds
    assert kinds.count(g.XNNDatatype.xnn_datatype_fp32) == 2  # the input and the result


@pytest.mark.parametrize("by_channel", [False, True])
@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (nn.Linear(16, 4), (5, 16)),
        (nn.Conv2d(16, 4, 3), (1, 16, 5, 6)),
        (nn.Conv2d(4, 4, 3, groups=4), (1, 4, 5, 6)),
    ],
    ids=["linear", "conv", "depthwise"],
)
def test_a_bias_far_larger_than_its_weights(module: Any, shape: tuple[int, ...], by_channel: bool) -> None:
    with torch.no_grad():
        module.weight *= 0 if not by_channel else 1
        module.weight[1] = 0
        module.weight[2] *= 1e-7
        module.bias[:] = torch.tensor([0.5, 3.0, -2.0, 0.25])
    config = get_symmetric_quantization_config(is_per_channel=by_channel)
    program, x, eager = _quantized(module, shape, config)
    with torch.no_grad():
        expected = eager(x)
    result = torch.as_tensor(rushlight.load(program)(x))
    assert (result - expected).abs().max() <= float(expected.abs().max()) / 60


FOUR_BITS = get_symmetric_quantization_config(
    is_per_channel=True, is_dynamic=True, weight_qmin=-8, weight_qmax=7
)
DYNAMIC: dict[str, tuple[Any, g.XNNDatatype]] = {
    "by_channel": (dynamic_int8(per_token=True), g.XNNDatatype.xnn_datatype_qcint8),
    "4_bits_by_group": (dynamic_int8_weight_int4(group_size=32), g.XNNDatatype.xnn_datatype_qbint4),
    "4_bits_by_channel": (FOUR_BITS, g.XNNDatatype.xnn_datatype_qcint4),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_dynamic(name: str) -> None:
    config, kind = DYNAMIC[name]
    module = nn.Sequential(nn.Linear(96, 70), nn.ReLU(), nn.Linear(70, 32) if name[0] != "4" else nn.ReLU())
    program, x, eager = _quantized(module, (2, 9, 96), config)
    with torch.no_grad():
        expected = eager(x)
    results = [torch.as_tensor(rushlight.load(program, threads=n)(x)).clone() for n in (1, 2)]
    assert torch.equal(*results)
    # XNNPACK finds a scale for each row, where the pattern of 4 bits by channel has one for all; scales of
    # groups are bfloat16.
    tolerance = {"4_bits_by_channel": 0.02, "4_bits_by_group": 0.004}.get(name, 1e-5)
    wide = _run(program, x, backend_options={"XnnpackBackend": {"microkernels": False}})
    for result in (results[0], wide):
        assert (result - expected).abs().max() <= tolerance * float(expected.abs().max())
    assert (results[0] - wide).abs().max() <= 1e-5 * float(expected.abs().max())
    assert {g.XNNDatatype.xnn_datatype_qdint8, kind} <= set(_values(program))


@pytest.mark.damage
@pytest.mark.parametrize("value", [1e-45, -3e-43, 1e-39])
def test_dynamic_with_denormal_rows(value: float) -> None:
    """The scale of such a row is 0 or denormal, so that its reciprocal is infinite."""
    module = nn.Linear(96, 16)
    program, x, _ = _quantized(module, (3, 96), dynamic_int8(per_token=True))
    x[1] = 0
    x[1, 5] = value
    for options in ({}, {"backend_options": {"XnnpackBackend": {"microkernels": False}}}):
        result = _run(program, x, **options)
        assert (result[1] - module.bias).abs().max() <= 1e-6


@pytest.mark.parametrize(
    "module",
    [
        nn.Conv2d(4, 6, 3, padding=1),
        nn.Conv2d(4, 6, 4, padding="same"),
        nn.ConvTranspose2d(4, 6, 3, stride=2),
        nn.ConvTranspose2d(4, 6, 2, padding=1, bias=False),
    ],
    ids=["conv", "same_even", "transposed", "transposed_padded"],
)
def test_dynamic_convolutions(module: nn.Module) -> None:
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    program, x, eager = _quantized(module, (1, 4, 7, 6), config)
    with torch.no_grad():
        expected = eager(x)
    wide = _run(program, x, backend_options={"XnnpackBackend": {"microkernels": False}})
    for result in (torch.as_tensor(rushlight.load(program)(x)), wide):
        assert result.shape == expected.shape
        assert (result - expected).abs().max() <= float(expected.abs().max()) / 100
    assert g.XNNDatatype.xnn_datatype_qdint8 in _values(program)


def test_a_dynamic_product_needs_a_scale_for_each_channel() -> None:
    x = torch.randn(4, 8)
    config = get_symmetric_quantization_config(is_dynamic=True)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    program = quantize(model, (x,), XNNPACKQuantizer().set_global(config), [(x,)])
    partitioner = XnnpackDynamicallyQuantizedPartitioner()
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
    assert not get_lowered_backend_modules(edge.exported_program().graph_module)
    assert "needs a scale for each channel" in partitioner.report.get_table_report()


def test_groups_of_a_size_that_xnnpack_lacks() -> None:
    x = torch.randn(4, 48)
    config = dynamic_int8_weight_int4(group_size=16)
    program = quantize(nn.Linear(48, 8).eval(), (x,), XNNPACKQuantizer().set_global(config), [(x,)])
    message = r"aten\.linear\.default.*requires group_size to be a multiple of 32, but got 16"
    with pytest.raises(CompileError, match=message):
        to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])


@pytest.mark.parametrize("inputs", [8, 21, 48, 64])
def test_groups_of_whole_rows_have_any_size(inputs: int) -> None:
    model, x = nn.Linear(inputs, 7), torch.randn(4, inputs)
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerAxis(0))  # type: ignore[attr-defined]
    quantize_(model, config)
    program = torch.export.export(model, (x,))
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert get_lowered_backend_modules(edge.exported_program().graph_module)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    torch.testing.assert_close(method.execute([x])[0], program.module()(x), rtol=0.02, atol=0.02)


class Mixed(nn.Module):
    """A float part, a dynamically quantized part and a statically quantized part."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.third(torch.tanh(self.second(torch.tanh(self.first(x)))))


@pytest.mark.parametrize(
    ("partitioner", "taken"),
    [
        (XnnpackPartitioner, {"linear", "tanh"}),
        (XnnpackQuantizedPartitioner, {"linear"}),
        (XnnpackDynamicallyQuantizedPartitioner, {"linear"}),
        (XnnpackFloatingPointPartitioner, {"linear", "tanh"}),
    ],
)
def test_precisions(partitioner: Any, taken: set[str]) -> None:
    x = torch.randn(4, 8)
    quantizer = XNNPACKQuantizer()
    quantizer.set_module_name(
        "second", get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
    )
    quantizer.set_module_name("third", BY_CHANNEL)
    program = quantize(Mixed().eval(), (x,), quantizer, [(x,)])
    edge = to_edge_transform_and_lower(program, partitioner=[partitioner()])
    left = [str(node.target) for node in get_non_lowered_nodes(edge.exported_program().graph)]
    count = sum("addmm" in name or "linear" in name for name in left)
    assert count == 0  # products are taken in any precision, and in float where this is asked for alone
    assert any("tanh" in name for name in left) == ("tanh" not in taken)
    got = rushlight.load(bytes(edge.to_executorch().buffer))(x)
    torch.testing.assert_close(torch.as_tensor(got), program.module()(x), rtol=0, atol=0.02)


@pytest.mark.parametrize(
    ("precision", "is_dynamic", "left"),
    [
        (ConfigPrecisionType.DYNAMIC_QUANT, True, ["relu"]),
        (ConfigPrecisionType.DYNAMIC_QUANT, False, []),
        (ConfigPrecisionType.STATIC_QUANT, True, []),
    ],
)
def test_an_activation_after_a_dynamic_product_is_float(
    precision: ConfigPrecisionType, is_dynamic: bool, left: list[str]
) -> None:
    """A partitioner for dynamic quantization alone leaves it to kernels; static products contain theirs."""
    x = torch.randn(4, 8)
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    program = quantize(model, (x,), XNNPACKQuantizer().set_global(config), [(x,)])
    edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner(config_precisions=precision)])
    nodes = get_non_lowered_nodes(edge.exported_program().graph)
    names = [str(node.target).split(".")[-2] for node in nodes if "aten" in str(node.target)]
    assert names == left
