"""Quantized programs become operators over whole numbers that compute the same, within one quantum."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from rushlight.backends.cpu.quantizer import CPUQuantizer
from rushlight.exir import EdgeCompileConfig, to_edge
from rushlight.ir.edge_ops import aten_op
from rushlight.passes.fuse_quantized import FuseQuantized
from rushlight.quantize import (
    dynamic_int8,
    dynamic_int8_weight_int4,
    quantize,
    static_int8,
    weight_only_int4,
    weight_only_int8,
)

qd = torch.ops.quantized_decomposed
rl = torch.ops.rushlight
aten = torch.ops.aten


class Picture(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)
        self.up = torch.nn.ConvTranspose2d(8, 8, 2, stride=2, groups=2)
        self.head = torch.nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.hardtanh(self.conv(x), 0, 6)
        y = F.relu(y + self.depthwise(y))
        y = F.max_pool2d(self.up(y), 2)
        y = torch.cat([y, F.silu(y * 0.5)], 1)
        y = F.avg_pool2d(y, 2).flatten(2).permute(0, 2, 1).contiguous()
        return F.relu(self.head(y)).mean(1)


class Text(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(20, 64)
        self.up = torch.nn.Linear(64, 128)
        self.down = torch.nn.Linear(128, 64, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids)
        return x + self.down(F.gelu(self.up(x)))


def fused(
    model: torch.nn.Module, inputs: tuple[Any, ...], config: Any, available: Any = lambda op, dtype: True
) -> tuple[Any, Any, Counter[Any]]:
    """(quantized program, its fused edge program, how often each operator stands in that)."""
    program = quantize(model.eval(), inputs, CPUQuantizer().set_global(config), [inputs])
    edge = to_edge(program, compile_config=EdgeCompileConfig(core_aten_only=False)).exported_program()
    result = FuseQuantized(available)(edge).exported_program
    found = Counter(aten_op(node.target) for node in result.graph.nodes if node.op == "call_function")
    return program, result, found


def output_scale(program: Any) -> float:
    (output,) = program.graph.output_node().args[0]
    return float(output.args[1])


def test_static_programs_are_int8_from_end_to_end() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(2, 3, 12, 12),)
    program, result, found = fused(Picture(), inputs, static_int8())
    assert found[rl.quantized_convolution.default] == 3
    assert found[rl.quantized_linear.default] == 1
    assert found[qd.add.default] == 1 and found[rl.quantized_mul.default] == 1
    assert found[rl.quantized_avg_pool2d.default] == 1 and found[rl.quantized_mean.default] == 1
    assert found[rl.quantized_lookup.default] >= 1
    assert found[aten.cat.default] == 1 and found[aten.permute_copy.default] == 1
    # Only the input is quantized and only the output dequantized.
    assert found[qd.quantize_per_tensor.default] == 1 and found[qd.dequantize_per_tensor.default] == 1
    assert found[qd.dequantize_per_channel.default] == 0
    got, expected = result.module()(*inputs), program.module()(*inputs)
    # A quantum may be off at each of the few operators in a row.
    assert (got - expected).abs().max() <= 3.01 * output_scale(program)
    assert expected.abs().max() > 20 * output_scale(program)


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
    program, result, found = fused(Layer(name), inputs, static_int8())
    floats = [
        op
        for op in found
        if op is not None and op.namespace == "aten" and op.name().split("::")[1] not in ("view_copy", "flip")
    ]
    assert not floats, floats
    error = (result.module()(*inputs) - program.module()(*inputs)).abs().max()
    assert error <= 1.01 * output_scale(program)


@pytest.mark.parametrize(
    ("config", "op", "embedding"),
    [
        (dynamic_int8(), rl.dynamic_linear.default, qd.embedding_byte.default),
        (dynamic_int8(per_token=True), rl.dynamic_linear.default, qd.embedding_byte.default),
        (dynamic_int8(per_channel=False), rl.dynamic_linear.default, None),
        (dynamic_int8_weight_int4(), rl.dynamic_linear_4bit.default, qd.embedding_4bit.default),
        (weight_only_int8(), qd.mixed_linear.default, qd.embedding_byte.default),
        (weight_only_int8(group_size=32), qd.mixed_linear.default, qd.embedding_byte.default),
        (weight_only_int4(), rl.linear_4bit.default, qd.embedding_4bit.default),
    ],
)
def test_weights_stay_whole_numbers(config: Any, op: Any, embedding: Any) -> None:
    torch.manual_seed(0)
    inputs = (torch.randint(0, 20, (2, 5)),)
    program, result, found = fused(Text(), inputs, config)
    assert found[op] == 2
    if embedding is not None:
        assert found[embedding] == 1
        assert not any(op is not None and "dequantize" in str(op) for op in found)
    torch.testing.assert_close(result.module()(*inputs), program.module()(*inputs), rtol=2e-2, atol=2e-2)


def test_four_bits_are_stored_as_two_a_byte() -> None:
    inputs = (torch.randint(0, 20, (2, 5)),)
    _, result, _ = fused(Text(), inputs, weight_only_int4())
    stored = {
        name: value
        for name, value in result.state_dict.items()
        if value.dtype == torch.uint8 and any(node.target == name for node in result.graph.nodes)
    }
    assert sorted(tuple(value.shape) for value in stored.values()) == [(20, 32), (64, 64), (128, 32)]


def test_what_the_target_lacks_stays() -> None:
    inputs = (torch.randn(2, 3, 12, 12),)
    _, _, found = fused(Picture(), inputs, static_int8(), lambda op, dtype: "convolution" not in op)
    assert found[rl.quantized_linear.default] == 1
    assert found[rl.quantized_convolution.default] == 0 and found[aten.convolution.default] == 3


def test_results_that_others_read_as_floats_are_not_fused() -> None:
    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            y = self.linear(x)
            return y.relu(), torch.sin(y)

    inputs = (torch.randn(3, 4),)
    program, result, _ = fused(Twice(), inputs, static_int8())
    for got, expected in zip(result.module()(*inputs), program.module()(*inputs), strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=0.05)
