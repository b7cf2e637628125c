"""Dequantize, compute and quantize are fused to one operator on integers."""

from __future__ import annotations

import pytest
import torch
from tests.passes.support import counted, edge_of, output_scale, quantized_edge
from torch.nn import functional as F

import rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.passes.fuse_quantized import FuseQuantizedPass
from rushlight.passes.fuse_static_quantized import fuse_static
from rushlight.passes.quantized_rewriter import Rewriter
from rushlight.quantize import quantize, static_int8

qd = torch.ops.quantized_decomposed
rl = torch.ops.rushlight
aten = torch.ops.aten


class Layer(torch.nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.conv = torch.nn.Conv2d(4, 6, 3, padding=1, stride=2)
        self.conv1d = torch.nn.Conv1d(4, 6, 3)
        self.linear = torch.nn.Linear(4, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.name == "conv":
            return F.relu(self.conv(x.reshape(2, 4, 6, 6)))
        if self.name == "conv1d":
            return self.conv1d(x.reshape(2, 4, 36))
        if self.name == "linear":
            return F.relu(self.linear(x.reshape(2, 36, 4)))
        if self.name == "add":
            return F.hardtanh(x + x.flip(0), -0.5, 0.5)
        if self.name == "mul":
            return x * x.flip(0)
        return F.gelu(self.linear(x.reshape(2, 36, 4)))


@pytest.mark.parametrize("name", ["conv", "conv1d", "linear", "add", "mul", "gelu"])
def test_each_layer_is_within_one_quantum(name: str) -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(2, 144),)
    program, edge = quantized_edge(Layer(name), inputs, static_int8())
    result = FuseQuantizedPass(lambda op, dtype: True)(edge).exported_program
    found = counted(result)
    floats = [
        op
        for op in found
        if op is not None and op.namespace == "aten" and op.name().split("::")[1] not in ("view_copy", "flip")
    ]
    assert not floats, floats
    error = (result.module()(*inputs) - program.module()(*inputs)).abs().max()
    assert error <= 1.01 * output_scale(program)


class Clamped(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.linear(x))


def test_a_clamp_becomes_the_range_of_the_result() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(8, 4),)
    program, edge = quantized_edge(Clamped(), inputs, static_int8())
    before = counted(edge)
    assert before[aten.relu.default] == 1 and before[rl.quantized_linear.default] == 0
    rewriter = Rewriter(edge, lambda op, dtype: True)
    fuse_static(rewriter)
    edge.graph.eliminate_dead_code()
    edge.graph_module.recompile()
    after = counted(edge)
    assert rewriter.changed and after[rl.quantized_linear.default] == 1
    assert after[aten.relu.default] == 0 and after[qd.quantize_per_tensor.default] == 1
    (node,) = (n for n in edge.graph.nodes if "quantized_linear" in n.name)
    zero_point, low = node.args[-3:-1]
    assert low == zero_point  # no results below zero
    error = (edge.module()(*inputs) - program.module()(*inputs)).abs().max()
    assert error <= 1.01 * output_scale(program)


class ClampedTwice(torch.nn.Module):
    """A mean, which is clamped twice before it is quantized."""

    def __init__(self, *bounds: tuple[float, float]) -> None:
        super().__init__()
        self.bounds = bounds

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parameters = 1 / 64, 3, -128, 127, torch.int8
        y = qd.dequantize_per_tensor.default(qd.quantize_per_tensor.default(x, *parameters), *parameters)
        y = y.mean([1])
        for low, high in self.bounds:
            y = torch.clamp(y, low, high)
        return qd.dequantize_per_tensor.default(qd.quantize_per_tensor.default(y, *parameters), *parameters)


@pytest.mark.parametrize("second", [(-0.5, 0.25), (0.75, 1.0), (0.375, 0.625)])
def test_of_two_clamps_the_later_one_has_the_last_word(second: tuple[float, float]) -> None:
    x = torch.linspace(-2, 2, 24).reshape(8, 3)
    model = ClampedTwice((0.375, 0.5), second)
    edge = edge_of(model, x)
    rewriter = Rewriter(edge, lambda op, dtype: True)
    fuse_static(rewriter)
    edge.graph.eliminate_dead_code()
    edge.graph_module.recompile()
    found = counted(edge)
    assert found[rl.quantized_mean.default] == 1 and found[aten.clamp.default] == 0
    torch.testing.assert_close(edge.module()(x), model(x), rtol=0, atol=0)


def test_operators_that_the_target_lacks_stay() -> None:
    inputs = (torch.randn(8, 4),)
    _, edge = quantized_edge(Clamped(), inputs, static_int8())
    rewriter = Rewriter(edge, lambda op, dtype: False)
    fuse_static(rewriter)
    assert not rewriter.changed and counted(edge)[aten.relu.default] == 1


class Upward(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.ConvTranspose2d(3, 4, 2, stride=2)
        self.last = torch.nn.Conv2d(4, 2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.up(x))


def test_a_fused_operator_keeps_the_layout_that_its_users_expect() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 3, 5, 5).to(memory_format=torch.channels_last)
    program = quantize(Upward().eval(), (x,), CpuQuantizer().set_global(static_int8()), [(x,)])
    module = rushlight.load(rushlight.compile(program).buffer)
    torch.testing.assert_close(module(x), program.module()(x), atol=1.01 * output_scale(program), rtol=0)
