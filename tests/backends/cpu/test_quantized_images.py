"""Convolutions, batch norms and padding of int8 images in plans."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.backends.cpu.quantized_support import dequantize_scale, input_of, kinds, lower, run
from tests.backends.cpu.support import damaged, plan_of, refusals
from torch import nn

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import (
    Copy,
    Dequantize,
    Int8DepthwiseConv2d,
    Int8Gemm,
    Int8GroupedConv2d,
    Int8Lookup,
    Quantize,
)
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.exir import to_edge_transform_and_lower
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import static_int8
from rushlight.runtime import Runtime

F = nn.functional


class Padded(nn.Module):
    """Padding between quantized layers, before a convolution and in a sum, and padding of other values."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(6, 10, 3, stride=2)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.first(x)
        z = self.second(F.pad(y, (0, 1, 0, 1)))
        shortcut = F.pad(F.max_pool2d(y, 2), (0, 0, 0, 0, 0, 4))
        return z + shortcut, F.pad(y, (1, -1, 2, 0), value=0.3), F.pad(y, (1, 1), value=float("-inf"))


def test_padding_of_int8_tensors() -> None:
    torch.manual_seed(0)
    model, x = Padded().eval(), input_of((2, 4, 8, 10))
    exported = quantize(model, (x,), CpuQuantizer().set_global(static_int8()), [(x,)])
    program = lower(exported)
    method = Runtime.get().load_program(program).load_method("forward")
    with torch.no_grad():
        for got, want in zip(method.execute([x]), exported.module()(x), strict=True):
            torch.testing.assert_close(torch.as_tensor(got), want, rtol=0, atol=0.05)
    dequantized = [step for step in plan_of(program).steps if isinstance(step.operation, Dequantize)]
    assert len(dequantized) <= 3  # one for each result


def test_transposed_convolutions_with_a_float32_result_and_with_groups() -> None:
    """The first result is not quantized. The second convolution runs as a kernel, because it has groups."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.ConvTranspose2d(6, 8, 4, 2, 1), nn.ConvTranspose2d(8, 4, 2, 2, groups=2)).eval()
    x = torch.randn(1, 6, 5, 4)
    exported = quantize(model, (x,), CpuQuantizer().set_global(static_int8()), [(x,)])
    edge = to_edge_transform_and_lower(exported, partitioner=[CpuPartitioner()])
    with torch.no_grad():
        torch.testing.assert_close(
            run(bytes(edge.to_executorch().buffer), x), exported.module()(x), rtol=0, atol=0.03
        )
    # Without the last quantize and dequantize nodes, the result of the first convolution is float32.
    first = nn.Sequential(model[0], nn.Softmax(1)).eval()
    exported = quantize(first, (x,), CpuQuantizer().set_global(static_int8()), [(x,)])
    program = lower(exported)
    assert Int8Gemm in kinds(program)
    with torch.no_grad():
        torch.testing.assert_close(run(program, x), exported.module()(x), rtol=0, atol=0.01)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other sets multiply int8 directly")
def test_large_maps_take_winograd_transforms(tmp_path: Path) -> None:
    """In a process for AVX2, because AMX would compute the convolution directly."""
    x = input_of((1, 64, 43, 46))
    exported = quantize(
        nn.Conv2d(64, 64, 3, padding=1), (x,), CpuQuantizer().set_global(static_int8()), [(x,)]
    )
    (tmp_path / "model.pte").write_bytes(lower(exported, CpuPartitioner(target="avx2")))
    code = f"""if True:
        import numpy as np
        from rushlight.runtime import Runtime
        method = Runtime.get().load_program({str(tmp_path / "model.pte")!r}).load_timed_method("forward")
        method.execute([np.ones({tuple(x.shape)}, np.float32)])
        print([name for name, *_ in method.timings()])"""
    environment = os.environ | {"RUSHLIGHT_ISA": "avx2"}
    ran = subprocess.run(
        [sys.executable, "-c", code], check=True, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert "int8 Winograd" in ran.stdout


class Scaled(nn.Module):
    """A batch norm between a concatenation and a function, which cannot be folded into weights."""

    def __init__(self, channels: int, *, relu: bool) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, channels, 3, padding=1), nn.Conv2d(4, 5, 1)
        self.norm = nn.BatchNorm2d(channels + 5)
        self.relu = relu
        for tensor in (self.norm.weight, self.norm.bias, self.norm.get_buffer("running_mean")):
            nn.init.normal_(tensor)
        nn.init.uniform_(self.norm.get_buffer("running_var"), 0.5, 2)
        self.last = nn.Conv2d(channels + 5, 7, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(torch.cat([self.first(x), self.second(x)], 1))
        return self.last(y.relu() if self.relu else y)  # type: ignore[no-any-return]


@pytest.mark.parametrize("channels", [3, 60])
@pytest.mark.parametrize("relu", [False, True])
def test_batch_norms_of_int8_images_are_one_step(channels: int, relu: bool) -> None:
    torch.manual_seed(0)
    model = Scaled(channels, relu=relu).eval()
    x = torch.randn(2, 4, 9, 8)
    program = quantize(model, (x,), CpuQuantizer().set_global(static_int8()), [(x,)])
    lowered = lower(program)
    assert kinds(lowered) <= {Quantize, Int8Gemm, Int8DepthwiseConv2d, Int8Lookup, Copy, Dequantize}
    expected = program.module()(x)
    step = dequantize_scale(program)
    assert (run(lowered, x) - expected).abs().max() <= 2 * step


# Channels, outputs, groups, and the groups of the step for 16 lanes.
MERGED = [
    (96, 96, 16, 4),  # 6 channels
    (36, 36, 3, 3),  # 12 channels of a prime number of groups
    (128, 256, 16, 8),  # more outputs than inputs
    (64, 16, 4, 1),  # few outputs of many channels
    (64, 32, 2, 2),  # 16 outputs of 32 channels
]


@pytest.mark.parametrize(("channels", "outputs", "groups", "merged"), MERGED)
@pytest.mark.parametrize("config", [static_int8(), static_int8(per_channel=False)])
def test_small_groups_are_merged(channels: int, outputs: int, groups: int, merged: int, config: Any) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(channels, outputs, 3, 2, 1, groups=groups), nn.ReLU(), nn.Conv2d(outputs, 8, 1)
    )
    x = torch.randn(1, channels, 15, 14)
    program = quantize(model.eval(), (x,), CpuQuantizer().set_global(config), [(x,)])
    wide = lower(program, CpuPartitioner("avx512"))
    steps = [s.operation for s in plan_of(wide).steps if isinstance(s.operation, Int8Gemm)]
    assert [step.groups for step in steps] == [merged, 1]
    plain = lower(program, CpuPartitioner(compact=True))
    steps = [s.operation for s in plan_of(plain).steps if isinstance(s.operation, Int8Gemm)]
    assert [step.groups for step in steps] == [groups, 1]
    assert torch.equal(run(lower(program), x), run(plain, x))
    assert torch.equal(run(wide, x), run(plain, x))


# Channels, groups, and the arguments of a convolution.
GROUPED = [
    (128, 32, {"kernel_size": 3, "stride": 2, "padding": 1}),  # groups of 4 channels
    (104, 13, {"kernel_size": 3, "padding": 1}),  # groups of 8 channels; the last vector has one group
    (48, 3, {"kernel_size": 3, "padding": 2, "dilation": 2}),  # groups of 16 channels
    (24, 6, {"kernel_size": (1, 5), "stride": (1, 3), "padding": (0, 2)}),
]


@pytest.mark.parametrize(("channels", "groups", "window"), GROUPED)
@pytest.mark.parametrize("target", ["avx512", "avx2", "neon"])
def test_groups_of_a_vector(channels: int, groups: int, window: dict[str, Any], target: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(channels, channels, groups=groups, **window), nn.ReLU(), nn.Conv2d(channels, 8, 1)
    )
    x = torch.randn(2, channels, 15, 14)
    program = quantize(model.eval(), (x,), CpuQuantizer().set_global(static_int8()), [(x,)])
    grouped = lower(program, CpuPartitioner(target))
    lanes = {"avx512": 16, "avx2": 8, "neon": 4}[target]
    assert (Int8GroupedConv2d in kinds(grouped)) == (channels // groups <= lanes)
    assert torch.equal(run(grouped, x), run(lower(program, CpuPartitioner(compact=True)), x))


@pytest.mark.damage
def test_a_damaged_plan_with_groups_gives_an_error_or_a_result() -> None:
    x = torch.randn(1, 32, 6, 7)
    model = nn.Sequential(nn.Conv2d(32, 32, 3, padding=1, groups=4), nn.ReLU(), nn.Conv2d(32, 8, 1)).eval()
    program = lower(
        quantize(model, (x,), CpuQuantizer().set_global(static_int8()), [(x,)]), CpuPartitioner("avx512")
    )
    assert Int8GroupedConv2d in kinds(program)
    assert refusals(damaged(program, 500, 0), (x,)) > 25
