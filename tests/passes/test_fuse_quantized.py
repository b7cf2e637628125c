"""Quantized programs are fused to operators on integers, whose results differ by at most one quantum."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from tests.passes.support import counted, edge_of, edge_of_quantized, output_scale, quantized_edge
from torch.nn import functional as F

from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.passes.fuse_quantized import FuseQuantizedPass
from rushlight.quantize import quantize, static_int8

qd = torch.ops.quantized_decomposed
rl = torch.ops.rushlight
aten = torch.ops.aten


class Image(torch.nn.Module):
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


def fused(
    model: torch.nn.Module, inputs: tuple[Any, ...], config: Any, available: Any = lambda op, dtype: True
) -> tuple[Any, Any, Counter[Any]]:
    """Returns the quantized program, its fused edge program, and the counts of operators."""
    program, edge = quantized_edge(model, inputs, config)
    result = FuseQuantizedPass(available)(edge).exported_program
    return program, result, counted(result)


def test_static_programs_are_int8_from_end_to_end() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(2, 3, 12, 12),)
    program, result, found = fused(Image(), inputs, static_int8())
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
    # Each of the consecutive operators may have an error of one quantum.
    assert (got - expected).abs().max() <= 3.01 * output_scale(program)
    assert expected.abs().max() > 20 * output_scale(program)


def test_softmax_is_quantized_where_it_is_named() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 10), torch.nn.Softmax(1))
    inputs = (torch.randn(4, 8),)
    for named in (False, True):
        quantizer = CpuQuantizer().set_global(static_int8())
        if named:
            quantizer.set_operator_type(aten.softmax.int, static_int8())
        program = quantize(model, inputs, quantizer, [inputs])
        result = FuseQuantizedPass(lambda op, dtype: True)(edge_of_quantized(program)).exported_program
        found = counted(result)
        assert found[rl.quantized_softmax.default] == named and found[aten._softmax.default] == (not named)
        got, expected = result.module()(*inputs), program.module()(*inputs)
        assert (got - expected).abs().max() <= (1.01 / 256 if named else 1e-6)
        assert expected.max() > 0.2


def test_what_the_target_lacks_stays() -> None:
    inputs = (torch.randn(2, 3, 12, 12),)
    _, _, found = fused(Image(), inputs, static_int8(), lambda op, dtype: "convolution" not in op)
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


def test_programs_of_floats_stay() -> None:
    assert not FuseQuantizedPass(lambda op, dtype: True)(
        edge_of(torch.nn.Linear(4, 4), torch.ones(1, 4))
    ).modified
