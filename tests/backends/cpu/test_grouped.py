"""Convolutions with few channels in each group, in all algorithms, agree with eager PyTorch."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.backends.cpu.support import assert_close, expected, kinds, lower, run
from tests.fresh import run_python
from torch import nn
from torch.export import Dim

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Elementwise, Gemm, GroupedConv2d, Winograd

# Inputs, outputs, groups, kernel, stride, padding, dilation, height and width.
SHAPES = [
    (32, 32, 8, 3, 1, 1, 1, 14, 15),  # groups of 4: vectors permuted in registers
    (64, 64, 8, 3, 2, 1, 1, 15, 14),  # groups of 8
    (40, 40, 5, 3, 2, 1, 1, 7, 7),  # not whole vectors
    (16, 32, 16, 3, 1, 1, 1, 9, 10),  # two outputs of one input
    (80, 80, 10, 5, 1, 2, 1, 1, 5),  # one row
    (12, 12, 2, 3, 1, 0, 1, 6, 6),  # groups that are no power of two: planes in memory
    (6, 9, 3, 3, 1, 1, 1, 8, 9),
    (24, 24, 12, 5, 1, 2, 1, 9, 7),
    (8, 16, 8, 7, 2, 3, 1, 17, 19),
    (16, 32, 8, 3, 1, 2, 2, 12, 13),
    (20, 60, 20, (4, 2), 1, 1, 1, 13, 13),
    (8, 8, 4, 3, 4, 0, 1, 11, 11),  # rows that no window reads
    (18, 36, 9, 3, 1, 1, 1, 9, 10),  # four outputs of two inputs
    (20, 20, 5, 3, 2, 1, 1, 9, 10),  # groups of 4: two and a half vectors
]
# Shapes of convolutions whose groups are computed as products.
WIDER_SHAPES = [
    (48, 48, 3, (3, 2), 1, 1, 1, 14, 15),  # 16 outputs
    (72, 72, 3, (2, 3), 2, 1, 1, 9, 13),  # 24 outputs
    (60, 80, 2, (3, 4), 1, 1, 1, 5, 6),  # 40 outputs
    (100, 24, 2, 3, 1, 2, 2, 6, 5),  # 12 outputs, deep sums
    (48, 96, 4, 1, 1, 0, 1, 7, 9),  # windows of one pixel
    (16, 48, 4, 3, 1, 2, 2, 9, 11),  # 12 outputs, dilated
]
# Shapes of convolutions whose groups are computed with Winograd's algorithm.
WINOGRAD_SHAPES = [
    (96, 96, 3, 3, 1, 1, 1, 14, 15),  # 32 outputs
    (96, 144, 3, 3, 1, 2, 1, 9, 13),  # 48 outputs of 32 inputs
    (192, 144, 2, 3, 1, 0, 1, 12, 11),  # 72 outputs: more than a panel
    (256, 256, 2, 3, 2, 1, 1, 13, 20),  # stride 2
]


def conv(shape: tuple[object, ...]) -> nn.Module:
    inputs, outputs, groups, kernel, stride, padding, dilation, *_ = shape
    return nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation, groups)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("activation", [nn.ReLU6, nn.SiLU])
def test_grouped_convolutions(shape: tuple[int, ...], activation: type[nn.Module]) -> None:
    torch.manual_seed(0)
    model, inputs = nn.Sequential(conv(shape), activation()), (torch.randn(2, shape[0], *shape[-2:]),)
    program, _ = lower(model, inputs)
    assert GroupedConv2d in kinds(program)
    for threads in (1, 2):
        assert_close(run(program, inputs, threads), expected(model, inputs))


@pytest.mark.parametrize("shape", WIDER_SHAPES)
@pytest.mark.parametrize("activation", [nn.ReLU6, nn.SiLU])
def test_wider_groups(shape: tuple[int, ...], activation: type[nn.Module]) -> None:
    torch.manual_seed(0)
    model, inputs = nn.Sequential(conv(shape), activation()), (torch.randn(2, shape[0], *shape[-2:]),)
    program, _ = lower(model, inputs)
    assert Gemm in kinds(program)
    for threads in (1, 2):
        assert_close(run(program, inputs, threads), expected(model, inputs))


@pytest.mark.parametrize("shape", WINOGRAD_SHAPES)
@pytest.mark.parametrize("activation", [nn.ReLU6, nn.SiLU])
def test_winograd_groups(shape: tuple[int, ...], activation: type[nn.Module]) -> None:
    torch.manual_seed(0)
    model, inputs = nn.Sequential(conv(shape), activation()), (torch.randn(2, shape[0], *shape[-2:]),)
    program, _ = lower(model, inputs)
    assert Winograd in kinds(program)
    for threads in (1, 2):
        assert_close(run(program, inputs, threads), expected(model, inputs))


@pytest.mark.parametrize(("target", "kind"), [("avx2", Gemm), ("avx512", Winograd)])
def test_groups_of_16_channels_are_transformed_only_with_wide_vectors(target: str, kind: type) -> None:
    inputs = (torch.randn(1, 64, 14, 14),)
    program, _ = lower(nn.Conv2d(64, 64, 3, padding=1, groups=4), inputs, partitioner=CpuPartitioner(target))
    assert [found for found in kinds(program) if found in (Gemm, Winograd)] == [kind]


@pytest.mark.parametrize("weights", [torch.float32, torch.float16])
def test_winograd_groups_with_untransformed_weights(weights: torch.dtype) -> None:
    torch.manual_seed(0)
    model, inputs = conv(WINOGRAD_SHAPES[1]), (torch.randn(1, 96, 9, 13),)
    program, _ = lower(model, inputs, partitioner=CpuPartitioner(weights=weights, compact=True))
    assert Winograd in kinds(program)
    state, rounded = model.state_dict(), conv(WINOGRAD_SHAPES[1])
    rounded.load_state_dict(state | {"weight": state["weight"].to(weights).float()})
    assert_close(run(program, inputs), expected(rounded, inputs))


def test_winograd_groups_add_a_residual() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = conv(WINOGRAD_SHAPES[0])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.conv(x) + x)

    model, inputs = Residual(), (torch.randn(1, 96, 14, 15),)
    program, _ = lower(model, inputs)
    assert Winograd in kinds(program)
    assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize("shape", WINOGRAD_SHAPES)
def test_winograd_groups_with_numbers_that_are_not_finite(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model, inputs = conv(shape), (torch.randn(1, shape[0], *shape[-2:]),)
    inputs[0][0, 3, 4, 5], inputs[0][0, -2, 7, 1] = float("nan"), float("inf")
    program, _ = lower(model, inputs)
    assert Winograd in kinds(program)
    (got,), (wanted,) = run(program, inputs), expected(model, inputs)
    assert torch.equal(got.isnan(), wanted.isnan())
    assert_close((got.nan_to_num(),), (wanted.nan_to_num(),))


def test_wider_groups_in_bfloat16() -> None:
    torch.manual_seed(0)
    model, inputs = nn.Conv2d(48, 96, 1, groups=4).bfloat16(), (torch.randn(1, 48, 7, 9).bfloat16(),)
    with torch.no_grad():
        exact = model.double()(inputs[0].double())
    compiled = rushlight.compile(model.bfloat16(), inputs)
    (result,) = rushlight.load(compiled)(*inputs)
    assert (result.double() - exact).abs().max() < 0.02 * exact.abs().max()


@pytest.mark.parametrize("isa", ["avx2", pytest.param("generic", marks=pytest.mark.long)])
def test_other_instruction_sets(isa: str) -> None:
    names = ("test_grouped_convolutions", "test_wider_groups", "test_winograd_groups")
    tests = [f"{Path(__file__)}::{name}" for name in names]
    script = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    arguments = ["-q", "-p", "no:cacheprovider", "-k", "SiLU", *tests]
    environment = os.environ | {"RUSHLIGHT_ISA": isa}
    done = run_python(script, *arguments, cwd=Path(__file__).parents[3], environment=environment)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("shape", [SHAPES[0], SHAPES[5]])
def test_groups_do_not_see_the_numbers_of_others(shape: tuple[int, ...]) -> None:
    inputs = (torch.randn(1, shape[0], *shape[-2:]),)
    inputs[0][:, : shape[0] // shape[2]] = float("nan")
    program, _ = lower(conv(shape), inputs)
    (got,) = run(program, inputs)
    assert got[:, : shape[1] // shape[2]].isnan().all()
    assert got[:, shape[1] // shape[2] :].isfinite().all()


def test_dynamic_sizes() -> None:
    torch.manual_seed(0)
    model = conv(SHAPES[0])
    shapes = ({0: Dim("b", max=3), 2: Dim("h", min=4, max=20), 3: Dim("w", min=4, max=20)},)
    program, _ = lower(model, (torch.randn(2, 32, 14, 15),), shapes)
    for size in ((1, 4, 20), (3, 20, 4), (2, 9, 9)):
        inputs = (torch.randn(size[0], 32, *size[1:]),)
        assert_close(run(program, inputs), expected(model, inputs))


def test_weights_of_16_bits() -> None:
    torch.manual_seed(0)
    model, inputs = conv(SHAPES[0]), (torch.randn(1, 32, 14, 15),)
    program, _ = lower(model, inputs, partitioner=CpuPartitioner(weights=torch.float16))
    weights, rounded = model.state_dict(), conv(SHAPES[0])
    rounded.load_state_dict(weights | {"weight": weights["weight"].half().float()})
    assert GroupedConv2d in kinds(program)
    assert_close(run(program, inputs), expected(rounded, inputs))


def test_a_sum_stays_a_step_of_its_own() -> None:
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = conv(SHAPES[0])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(x) + x * 2

    model, inputs = Residual(), (torch.randn(1, 32, 14, 15),)
    program, _ = lower(model, inputs)
    assert {GroupedConv2d, Elementwise} <= set(kinds(program))
    assert_close(run(program, inputs), expected(model, inputs))


@pytest.mark.parametrize("shape", [(64, 64, 2, 5, 1, 2, 1, 8, 8), (32, 32, 8, 1, 1, 0, 1, 8, 8)])
def test_large_groups_and_single_pixels_are_products(shape: tuple[int, ...]) -> None:
    model, inputs = conv(shape), (torch.randn(1, shape[0], 8, 8),)
    program, _ = lower(model, inputs)
    assert Gemm in kinds(program)
    assert_close(run(program, inputs), expected(model, inputs))


# Runs a program whose file ends at the end of a page. The next page cannot be read.
GUARDED_RUN = """
import ctypes, mmap, sys
import numpy as np
from rushlight.runtime import _native

data = open(sys.argv[1], "rb").read()
pages = -(-len(data) // mmap.PAGESIZE) * mmap.PAGESIZE
memory = mmap.mmap(-1, pages + mmap.PAGESIZE)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.mprotect(ctypes.c_void_p(address + pages), mmap.PAGESIZE, 0) == 0
memory[pages - len(data) : pages] = data
program = _native.load_buffer(memoryview(memory)[pages - len(data) : pages], [], 1)
inputs = [np.load(sys.argv[2])]
np.save(sys.argv[3], _native.Method(program, "forward").execute(inputs)[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="calls mprotect")
def test_the_bias_of_the_last_group_may_end_the_file(tmp_path: Path) -> None:
    # Each of 16 groups has four outputs, which are fewer than the numbers of a vector.
    model, x = conv((128, 64, 16, 1, 1, 0, 1, 9, 9)), torch.randn(1, 128, 9, 9)
    compiled, given, result = (tmp_path / name for name in ("model.pte", "given.npy", "result.npy"))
    rushlight.compile(model, (x,)).save(compiled)
    np.save(given, x.numpy())
    done = run_python(GUARDED_RUN, str(compiled), str(given), str(result), cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    torch.testing.assert_close(torch.from_numpy(np.load(result)), model(x))
