"""Conversion of quantized weights for XNNPACK's payloads."""

from __future__ import annotations

import pytest
import torch
from torchao.quantization.pt2e.quantizer import QuantizationSpec

from rushlight.backends.xnnpack import XnnpackPartitioner
from rushlight.backends.xnnpack.nodes import SupportContext
from rushlight.backends.xnnpack.quantized import is_packed_int4, supported_weight
from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from rushlight.exir import to_edge_transform_and_lower
from rushlight.ir.quantization import QuantizedWeight, qd
from rushlight.quantize import QuantizationConfig, QuantizationError, quantize
from rushlight.runtime import Runtime


class Grouped(torch.nn.Module):
    """Dequantizes a matrix [3, 8] with groups along its rows."""

    def __init__(self, group_size: int, quant_min: int, quant_max: int, zero_point: int = 0) -> None:
        super().__init__()
        self.arguments = quant_min, quant_max, torch.int8, group_size, torch.float32
        self.register_buffer("values", torch.randint(quant_min, quant_max + 1, (3, 8), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(3, 8 // group_size))
        self.register_buffer("zeros", torch.full((3, 8 // group_size), zero_point))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + qd.dequantize_per_channel_group.default(
            self.values, self.scales, self.zeros, *self.arguments
        )


def weight_of(module: torch.nn.Module) -> QuantizedWeight | None:
    program = torch.export.export(module, (torch.randn(3, 8),))
    facts = SupportContext(program)
    (node,) = (node for node in program.graph.nodes if "dequantize" in str(node.target))
    return supported_weight(node, facts)


def test_groups_of_int4() -> None:
    weight = weight_of(Grouped(4, -8, 7))
    assert weight is not None and is_packed_int4(weight)
    assert weight.group_size == 4 and isinstance(weight.scale, torch.Tensor)
    assert weight.scale.shape == (3, 2)


def test_a_group_of_a_whole_row_is_a_channel() -> None:
    weight = weight_of(Grouped(8, -127, 127))
    assert weight is not None and not is_packed_int4(weight)
    assert (weight.axis, weight.group_size) == (0, None)
    assert isinstance(weight.scale, torch.Tensor) and weight.scale.shape == (3,)


@pytest.mark.parametrize("module", [Grouped(4, -127, 127), Grouped(4, -8, 7, zero_point=1)])
def test_what_xnnpack_cannot_store(module: Grouped) -> None:
    assert weight_of(module) is None


def with_activations(dtype: torch.dtype) -> QuantizationConfig:
    """Returns the symmetric int8 configuration with another dtype for activations."""
    config = get_symmetric_quantization_config()
    spec = config.input_activation
    assert isinstance(spec, QuantizationSpec)
    limits = torch.iinfo(dtype)
    wide = QuantizationSpec(dtype, spec.observer_or_fake_quant_ctr, limits.min, limits.max, spec.qscheme)
    return QuantizationConfig(wide, wide, config.weight, config.bias)


def test_int16_activations_stay_outside_of_the_delegates() -> None:
    """XNNPACK has no int16: kernels quantize, and delegates compute in float."""
    model, inputs = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()), (torch.randn(2, 8),)
    quantizer = XNNPACKQuantizer().set_global(with_activations(torch.int16))
    program = quantize(model, inputs, quantizer, [inputs])
    assert any(node.args[-1] is torch.int16 for node in program.graph.nodes if node.args)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
    for delegate in lowered.executorch_program.execution_plan[0].delegates:
        assert delegate.id == "XnnpackBackend"
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    torch.testing.assert_close(method.execute([*inputs])[0], program.module()(*inputs), atol=3e-4, rtol=0)
    with pytest.raises(QuantizationError, match="to int32, only to int8, uint8 and int16"):
        XNNPACKQuantizer().set_global(with_activations(torch.int32))


class Branches(torch.nn.Module):
    """Joins results that have different quantization parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.cat([self.conv(x), torch.relu(x * x)], 1)
        return torch.nn.functional.adaptive_avg_pool2d(torch.nn.functional.max_pool2d(y, 2), 1)


NARROW = {
    "linear": (torch.nn.Linear(8, 5), (3, 8)),
    "linear_relu": (torch.nn.Sequential(torch.nn.Linear(8, 5), torch.nn.ReLU()), (3, 8)),
    "convolution": (torch.nn.Conv2d(4, 4, 3, padding=1), (2, 4, 5, 6)),
    "line": (torch.nn.Conv1d(4, 6, 3), (2, 4, 9)),
    "branches": (Branches(), (2, 4, 6, 6)),
}


@pytest.mark.parametrize("act_range", [(-60, 70), (0, 127), (-128, 0)])
@pytest.mark.parametrize("name", NARROW)
def test_results_have_the_range_of_the_configuration(name: str, act_range: tuple[int, int]) -> None:
    """XNNPACK clamps to the range of int8, so that the delegate must clamp to a smaller range."""
    model, shape = NARROW[name]
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    config = get_symmetric_quantization_config(
        is_per_channel=True, act_qmin=act_range[0], act_qmax=act_range[1]
    )
    program = quantize(model.eval(), (x,), XNNPACKQuantizer().set_global(config), [(x,)])
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    want = program.module()(3 * x)
    steps = [
        float(node.args[1]) for node in program.graph.nodes if "dequantize_per_tensor" in str(node.target)
    ]
    assert (method.execute([3 * x])[0] - want).abs().max() < 1.01 * steps[-1]


class ReadTwice(torch.nn.Module):
    """Dequantizes a tensor with the parameters with which it was quantized, and with others."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = qd.quantize_per_tensor.default(x, 0.02, 5, -128, 127, torch.int8)
        first = qd.dequantize_per_tensor.default(y, 0.03, -7, -128, 127, torch.int8)
        return torch.relu(first), qd.dequantize_per_tensor.default(y, 0.02, 5, -128, 127, torch.int8)


def test_other_parameters_than_those_of_the_tensor_stay_outside() -> None:
    x = torch.randn(3, 8)
    program = torch.export.export(ReadTwice(), (x,))
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
    results = Runtime.get().load_program(lowered.buffer).load_method("forward").execute([x])
    for got, expected in zip(results, ReadTwice()(x), strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-6)
