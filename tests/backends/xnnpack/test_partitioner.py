"""The nodes that the XNNPACK partitioner selects, and those that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram, export
from torch.fx import Node

from rushlight.backends.xnnpack import nodes, partitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.compiler import edge
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.export.xnnpack_configs import get_transform_passes
from rushlight.ir.quantization import qd
from rushlight.quantize import QuantizationConfig
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import dynamic_int8, static_int8
from rushlight.runtime import load


def lowered(module: torch.nn.Module, *inputs: torch.Tensor) -> Any:
    return to_edge_transform_and_lower(export(module, inputs), partitioner=[XnnpackPartitioner()])


def calls(manager: Any) -> list[str]:
    nodes = manager.exported_program().graph.nodes
    names = [
        str(getattr(node.target, "__name__", node.target)) for node in nodes if node.op == "call_function"
    ]
    return [name for name in names if "getitem" not in name]


class Product(torch.nn.Module):
    """A product with a matrix that is not transposed, and a bias with one row."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = torch.nn.Parameter(torch.randn(4, 5))
        self.bias = torch.nn.Parameter(torch.randn(1, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.addmm(self.bias, x, self.matrix)


def test_a_product_with_a_bias_of_one_row() -> None:
    module, x = Product(), torch.randn(3, 4)
    manager = lowered(module, x)
    assert calls(manager) == ["executorch_call_delegate"]
    torch.testing.assert_close(load(manager.to_executorch().buffer)(x), module(x))


class Upward(torch.nn.Module):
    """A transposed convolution with the same stride, padding and dilation for both axes."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(2, 3, 3, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.convolution(x, self.weight, None, [2], [1], [1], True, [1], 1)


def test_a_transposed_convolution_with_one_number_for_both_axes() -> None:
    module, x = Upward().eval(), torch.randn(1, 2, 5, 6)
    manager = lowered(module, x)
    assert calls(manager) == ["executorch_call_delegate"]
    torch.testing.assert_close(load(manager.to_executorch().buffer)(x), module(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("config", [None, static_int8(), dynamic_int8()])
def test_decomposed_layers_with_batches_are_taken_whole(config: QuantizationConfig | None) -> None:
    """`to_edge` writes linear layers with batches as products between views."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.ReLU()).eval()
    inputs = (torch.randn(3, 4, 8),)
    program = export(model, inputs)
    if config is not None:
        program = quantize(model, inputs, XNNPACKQuantizer().set_global(config), [inputs])
    edge = to_edge(program)
    assert "aten.addmm.default" in calls(edge)
    manager = edge.to_backend(XnnpackPartitioner())
    assert calls(manager) == ["executorch_call_delegate"]
    assert "aten.addmm.default" in calls(edge)
    result = load(manager.to_executorch().buffer)(*inputs)
    torch.testing.assert_close(result, program.module()(*inputs), atol=0.05, rtol=0)


def test_a_decomposed_layer_that_is_not_taken_stays_decomposed() -> None:
    """XNNPACK has no product with dynamically quantized inputs and one scale for the weight."""
    inputs = (torch.randn(3, 4, 8),)
    config = get_symmetric_quantization_config(is_dynamic=True, is_per_channel=False)
    program = quantize(torch.nn.Linear(8, 6), inputs, XNNPACKQuantizer().set_global(config))
    manager = to_edge(program).to_backend(XnnpackPartitioner())
    manager.to_executorch()
    assert "aten.addmm.default" in calls(manager) and "aten.linear.default" not in calls(manager)


def test_quantization_alone_is_taken() -> None:
    class Rounded(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return qd.quantize_per_tensor.default(x, 0.125, 3, -128, 127, torch.int8)

    x = torch.randn(4, 5)
    manager = lowered(Rounded(), x)
    assert calls(manager) == ["executorch_call_delegate"]
    assert torch.equal(load(manager.to_executorch().buffer)(x), Rounded()(x))


class Requantized(torch.nn.Module):
    """A slice of a quantized tensor, quantized again with another scale."""

    def __init__(self, scale: float, new_scale: float, axis: int | None) -> None:
        super().__init__()
        self.numbers = (scale, new_scale)
        self.scales = [torch.full((4,), value) for value in (scale, new_scale)]
        self.zero_points = torch.zeros(4, dtype=torch.int64)
        self.axis = axis

    def rounded(self, x: torch.Tensor, index: int) -> torch.Tensor:
        if self.axis is None:
            scale = self.numbers[index]
            integers = qd.quantize_per_tensor.default(x, scale, 0, -128, 127, torch.int8)
            return qd.dequantize_per_tensor.default(integers, scale, 0, -128, 127, torch.int8)
        params = (self.scales[index], self.zero_points, self.axis, -128, 127, torch.int8)
        return qd.dequantize_per_channel.default(qd.quantize_per_channel.default(x, *params), *params)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.rounded(self.rounded(x, 0)[:, :, :2], 1)


@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize(("scale", "new_scale"), [(0.25, 0.25), (0.25, 0.5)])
def test_slices_that_change_quantization_parameters(scale: float, new_scale: float, axis: int | None) -> None:
    module, x = Requantized(scale, new_scale, axis), torch.randn(1, 4, 3)
    manager = lowered(module, x)
    is_left = "aten.slice_copy.Tensor" in calls(manager)
    assert is_left == (scale != new_scale)
    assert torch.equal(load(manager.to_executorch().buffer)(x), module(x))


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="'fast'; its options are enable_bf16, force_non_static"):
        XnnpackPartitioner(fast=True)
    with pytest.raises(TypeError, match="no effect in ExecuTorch 1.x: leave it out"):
        XnnpackPartitioner(force_fp32_dynamic_linear=True)


def test_code_for_executorch_is_warned(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After `install_as_executorch()`, unknown options and the former way to lower give warnings."""
    for module in (partitioner, edge):
        monkeypatch.setattr(module, "stands_for_executorch", lambda: True)
    with pytest.warns(UserWarning, match="no effect in ExecuTorch 1.x: leave it out"):
        chosen = XnnpackPartitioner(force_fp32_dynamic_linear=True)
    program = export(torch.nn.Linear(3, 2), (torch.randn(1, 3),))
    to_edge_transform_and_lower(program, partitioner=[chosen])
    assert not any(record.name.startswith("executorch.") for record in caplog.records)
    to_edge(program).to_backend(chosen)
    (record,) = (record for record in caplog.records if record.name.startswith("executorch."))
    assert "to_edge_transform_and_lower()" in record.message


@pytest.mark.parametrize("stands", [False, True])
def test_conversions_of_constants(stands: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only in ExecuTorch's programs, the conversion of an integer to a float tensor is not delegated."""
    monkeypatch.setattr(nodes, "stands_for_executorch", lambda: stands)

    class AddOne(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x + 1)

    x = torch.randn(3)
    manager = lowered(AddOne(), x)
    copies = ["dim_order_ops._to_dim_order_copy.default"] if stands else []
    assert calls(manager) == [*copies, "executorch_call_delegate"]
    assert torch.equal(load(manager.to_executorch().buffer)(x), torch.relu(x + 1))


def with_argument(program: ExportedProgram, position: int, value: object) -> None:
    node = next(node for node in program.graph.nodes if "quantize_per_tensor" in str(node.target))
    node.update_arg(position, value)


def with_weight_scale(program: ExportedProgram, value: float) -> None:
    node = next(node for node in program.graph.nodes if "dequantize_per_channel" in str(node.target))
    scale = node.args[1]
    assert isinstance(scale, Node)
    program.state_dict[program.graph_signature.inputs_to_buffers[scale.name]][2] = value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda program: with_argument(program, 1, float("nan")), "quantize_per_tensor.*its scale 0 is nan"),
        (lambda program: with_argument(program, 1, 1e-39), "its scale 0 is 1e-39"),
        (lambda program: with_argument(program, 2, 128), "its zero point 128 is not an int8"),
        (
            lambda program: with_weight_scale(program, float("inf")),
            "dequantize_per_channel.*its scale 2 is inf",
        ),
    ],
)
def test_parameters_that_xnnpack_lacks(change: Callable[[ExportedProgram], None], message: str) -> None:
    x = torch.randn(1, 4)
    quantized = quantize(torch.nn.Linear(4, 4), (x,), XNNPACKQuantizer().set_global(static_int8()), [(x,)])
    program = export(quantized, (x,)) if not isinstance(quantized, ExportedProgram) else quantized
    change(program)
    with pytest.raises(ValueError, match=f"(?s)Invalid quantization scale or zero point for .*{message}"):
        to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])


def test_passes_before_lowering_remove_what_changes_nothing() -> None:
    class Same(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.expand(2, 3)[0:].neg()

    program = export(Same(), (torch.ones(2, 3),))
    manager = to_edge_transform_and_lower(program, transform_passes=get_transform_passes())
    assert calls(manager) == ["aten.neg.default"]
