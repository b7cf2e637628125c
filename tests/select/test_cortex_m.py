"""The loops of `runtime/microkernels/cortex_m`: int8 kernels have the same bits as the portable kernels.

The host runs the loops by `runtime/tests/support/cortex_m`, headers that have the instructions in plain C++.
`make targets` runs them on processors in QEMU.
"""

from __future__ import annotations

import math
import random
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.select.test_project import needs_targets, symbols

import rushlight
from models import selective
from rushlight.ir import quantized_ops  # noqa: F401  (defines the operators)
from rushlight.ir.quantized_reference import exponentials
from rushlight.runtime import Runtime

own, decomposed = torch.ops.rushlight, torch.ops.quantized_decomposed
RANGES = {torch.int8: (-128, 127), torch.uint8: (0, 255)}
Inputs = tuple[torch.Tensor, ...]
Result = Callable[..., torch.Tensor | tuple[torch.Tensor, ...]]

# The macros with which a host compiles the loops, by name.
EMULATED = {
    "dsp": ("-D__ARM_FEATURE_DSP=1", "-D__ARM_FP=4"),
    "helium": ("-D__ARM_FEATURE_MVE=3",),
}
HEADERS = selective.ROOT / "runtime" / "tests" / "support" / "cortex_m"


class Calls(torch.nn.Module):
    """Calls of operators. Each has its own inputs.

    Args:
        calls: by call, the number of inputs and the function of them.
    """

    def __init__(self, calls: Sequence[tuple[int, Result]]) -> None:
        super().__init__()
        self.calls = calls

    def forward(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        """Returns the results of all calls."""
        results: list[torch.Tensor] = []
        for count, call in self.calls:
            result = call(*inputs[:count])
            results += [result] if isinstance(result, torch.Tensor) else result
            inputs = inputs[count:]
        return results


class Cases:
    """Random calls of one family of operators, with inputs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.calls: list[tuple[int, Result]] = []
        self.inputs: list[torch.Tensor] = []

    def add(self, call: Result, *inputs: torch.Tensor) -> None:
        self.calls.append((len(inputs), call))
        self.inputs += inputs

    def one_of(self, *values: int) -> int:
        return self.random.choice(values)

    def dtype(self) -> torch.dtype:
        return self.random.choice([torch.int8, torch.int8, torch.uint8])

    def bytes(self, *shape: int, dtype: torch.dtype = torch.int8) -> torch.Tensor:
        """Returns numbers of the whole range, which include the smallest and the largest."""
        low, high = RANGES[dtype]
        numbers = torch.randint(low, high + 1, shape, generator=self.generator)
        return numbers.to(dtype)

    def image(self, *shape: int, dtype: torch.dtype) -> torch.Tensor:
        """Returns an image whose channels are the outermost or the innermost dimension."""
        layout = self.random.choice([torch.contiguous_format, torch.channels_last])
        return self.bytes(*shape, dtype=dtype).contiguous(memory_format=layout)

    def zero(self, dtype: torch.dtype) -> int:
        low, high = RANGES[dtype]
        return self.random.choice([low, high, 3, self.random.randint(low, high)])

    def output(self, dtype: torch.dtype, real: float) -> tuple[float, int, int, int]:
        """Returns scale, zero point and range for results up to about `real`, or for saturated results."""
        low, high = RANGES[dtype]
        scale = real / 127 * self.random.choice([1.0, 0.2])
        if self.one_of(0, 1):
            scale = float(np.float32(scale))  # as the observers of a quantizer do
        return scale, self.zero(dtype), low + self.one_of(0, 0, 20), high - self.one_of(0, 0, 11)

    def parameters(self, channels: int) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Returns scales of weights, for each channel or for all, and a bias or None."""
        scales = torch.rand(self.one_of(channels, channels, 1), generator=self.generator) * 0.01 + 1e-4
        bias = torch.randn(channels, generator=self.generator) if self.one_of(0, 1, 1) else None
        return scales, bias

    def convolution(
        self,
        image: Sequence[int],
        weights: Sequence[int],
        stride: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0),
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
        *,
        in_scale: float = 0.03,
        zero: int | None = None,
    ) -> None:
        """Adds a convolution of an image with weights [outputs, inputs of a group, taps...]."""
        dtype = self.dtype()
        x = self.image(*image, dtype=dtype) if len(image) == 4 else self.bytes(*image, dtype=dtype)
        w = self.bytes(*weights)
        if len(weights) == 4 and self.one_of(0, 0, 1):
            w = w.contiguous(memory_format=torch.channels_last)
        scales, bias = self.parameters(weights[0])
        in_zero = self.zero(dtype) if zero is None else zero
        depth = w[0].numel()
        output = self.output(dtype, in_scale * 0.005 * 74 * 74 * depth**0.5 * 2)

        def call(x: torch.Tensor) -> torch.Tensor:
            geometry = (list(stride), list(padding), list(dilation), False, [0] * len(stride), groups)
            result: torch.Tensor = own.quantized_convolution.default(
                x, in_scale, in_zero, w, scales, bias, *geometry, *output
            )
            return result

        self.add(call, x)

    def random_convolution(self) -> None:
        """Adds a convolution with groups, a depthwise convolution, or a convolution with any window."""
        groups = self.one_of(1, 1, 2, 3)
        inputs, outputs = groups * self.one_of(1, 2, 3, 5, 16), groups * self.one_of(1, 2, 4, 7)
        if self.one_of(0, 1):
            groups = inputs = self.one_of(2, 3, 8)
            outputs = groups * self.one_of(1, 1, 2)
        kernel = [self.one_of(1, 2, 3, 5), self.one_of(1, 2, 3, 4)]
        dilation = [self.one_of(1, 1, 2), self.one_of(1, 1, 2)]
        padding = [self.one_of(0, 1, size // 2, size) for size in kernel]
        size = [
            max(self.one_of(1, 4, 7, 12), dilation[i] * (kernel[i] - 1) + 1 - 2 * padding[i])
            for i in range(2)
        ]
        self.convolution(
            (self.one_of(1, 1, 2), inputs, *size),
            (outputs, inputs // groups, *kernel),
            [self.one_of(1, 1, 2, 3), self.one_of(1, 1, 2)],
            padding,
            dilation,
            groups,
        )

    def linear(
        self, rows: Sequence[int], depth: int, columns: int, *, scale: float | None = None, offset: float = 0
    ) -> None:
        """Adds a linear layer. One of its channels has the scale and the offset, if there is a scale."""
        dtype = self.dtype()
        scales, bias = self.parameters(columns)
        if scale is not None:
            scales, bias = torch.full((columns,), 0.004), torch.zeros(columns)
            scales[columns // 2], bias[columns // 2] = scale, offset
        w, zero = self.bytes(columns, depth), self.zero(dtype)
        output = self.output(dtype, 0.03 * 0.005 * 74 * 74 * depth**0.5 * 2)

        def call(x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = own.quantized_linear.default(x, 0.03, zero, w, scales, bias, *output)
            return result

        self.add(call, self.bytes(*rows, depth, dtype=dtype))

    def average_pool(self, *size: int) -> None:
        """Adds an average pooling of an image to one pixel, or of a random image with any window."""
        dtype = self.dtype()
        kernel = [self.one_of(1, 2, 3, 5), self.one_of(1, 2, 4)]
        geometry = (
            kernel,
            [self.one_of(1, 2, 3), self.one_of(1, 2)],
            [self.one_of(0, size // 2) for size in kernel],
            bool(self.one_of(0, 1)),
            bool(self.one_of(0, 1)),
        )
        if size:
            geometry = (list(size[2:]), [1, 1], [0, 0], False, False)
        zero, output = self.zero(dtype), self.output(dtype, 3.0)

        def call(x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = own.quantized_avg_pool2d.default(x, 0.02, zero, *geometry, *output)
            return result

        if not size:
            size = (self.one_of(1, 2), self.one_of(1, 3), self.one_of(5, 8, 19), self.one_of(5, 6, 17))
        self.add(call, self.image(*size, dtype=dtype))

    def mean(self, *dims: int) -> None:
        dtype = self.dtype()
        zero, output = self.zero(dtype), self.output(dtype, 1.0)

        def call(x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = own.quantized_mean.default(x, 0.02, zero, list(dims), True, *output)
            return result

        self.add(call, self.image(2, 3, 5, 7, dtype=dtype))

    def max_pool(self) -> None:
        dtype = self.dtype()
        kernel = [self.one_of(1, 2, 3), self.one_of(2, 3, 4)]
        geometry = (
            kernel,
            [self.one_of(1, 2, 3), self.one_of(1, 2)],
            [self.one_of(0, size // 2) for size in kernel],
            [self.one_of(1, 1, 2), self.one_of(1, 1, 2)],
            bool(self.one_of(0, 1)),
        )

        def call(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            results: tuple[torch.Tensor, ...] = torch.ops.aten.max_pool2d_with_indices.default(x, *geometry)
            return results

        x = self.image(self.one_of(1, 2), self.one_of(1, 3), 11, self.one_of(9, 14), dtype=dtype)
        # There are few distinct numbers, so that several in a window are equal.
        self.add(call, x // 64 * 64 if self.one_of(0, 1) else x)

    def binary(self, name: str, a: Sequence[int], b: Sequence[int], scale: float = 0.05) -> None:
        dtype = self.dtype()
        low, high = RANGES[dtype]
        operator = decomposed.add.default if name == "add" else own.quantized_mul.default
        left = (scale, self.zero(dtype), low, high)
        right = (0.03, self.zero(dtype), low, high)
        output = self.output(dtype, scale * (100 if name == "add" else 250))

        def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = operator(x, *left, y, *right, *output)
            return result

        self.add(call, self.bytes(*a, dtype=dtype), self.bytes(*b, dtype=dtype))

    def lookup(self, *shape: int) -> None:
        dtype, table = self.dtype(), self.bytes(256, dtype=self.dtype())

        def call(x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = own.quantized_lookup.default(x, table)
            return result

        self.add(call, self.bytes(*shape, dtype=dtype))

    def softmax(self, *shape: int, dim: int = -1, scale: float = 0.06) -> None:
        dtype, table = self.dtype(), exponentials(scale)
        output = self.output(dtype, 1.0)

        def call(x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = own.quantized_softmax.default(x, table, dim, *output)
            return result

        self.add(call, self.bytes(*shape, dtype=dtype))

    def quantize(self, *shape: int, scale: float = 0.02) -> None:
        dtype = self.dtype()
        parameters = (scale, self.zero(dtype), *RANGES[dtype], dtype)

        def call(x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = decomposed.quantize_per_tensor.default(x, *parameters)
            return result

        x = torch.randn(shape, generator=self.generator) * 2
        special = torch.tensor(
            [float("nan"), float("inf"), float("-inf"), 0.01, 0.03, -0.01, -0.0, 1e-42, 3e38]
        )
        self.add(call, torch.cat([x.flatten(), special]))

    def dequantize(self, *shape: int, scale: float = 0.02) -> None:
        dtype = self.dtype()
        parameters = (scale, self.zero(dtype), *RANGES[dtype], dtype)

        def call(x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = decomposed.dequantize_per_tensor.default(x, *parameters)
            return result

        self.add(call, self.bytes(*shape, dtype=dtype))


def convolutions() -> Cases:
    cases = Cases(1)
    cases.convolution((1, 3, 9, 8), (5, 3, 3, 3), padding=(1, 1))
    cases.convolution((1, 33, 5, 3), (17, 33, 1, 1))
    cases.convolution((2, 16, 3, 3), (4, 16, 3, 3))
    cases.convolution((1, 1, 21, 10), (6, 1, 10, 4), (2, 2), (5, 1))
    for batch in (1, 3):
        cases.convolution((batch, 16, 1, 1), (16, 16, 1, 1))
        cases.convolution((batch, 5, 1, 1), (39, 5, 1, 1))
    cases.convolution((1, 6, 3, 1), (6, 2, 1, 1), (3, 1), groups=3)
    cases.convolution((1, 4, 11), (3, 4, 5), (2,), (2,), (1,))
    cases.convolution((1, 2, 3, 4, 4), (3, 2, 2, 3, 2), (1, 1, 1), (0, 1, 1), (1, 1, 1))
    cases.convolution((1, 4, 5, 5), (4, 4, 3, 3), padding=(4, 7))
    cases.convolution((1, 4, 5, 5), (4, 4, 3, 3), padding=(1, 1), zero=1000)
    cases.convolution((1, 4, 5, 5), (4, 4, 3, 3), padding=(1, 1), in_scale=1e-36)
    for _ in range(8):
        cases.random_convolution()
    return cases


def more_convolutions(seed: int) -> Cases:
    cases = Cases(seed)
    for _ in range(16):
        cases.random_convolution()
    return cases


def depthwise() -> Cases:
    cases = Cases(2)
    cases.convolution((1, 6, 9, 8), (6, 1, 3, 3), padding=(1, 1), groups=6)
    cases.convolution((2, 3, 25, 5), (3, 1, 3, 3), padding=(1, 1), groups=3)
    cases.convolution((1, 3, 40, 11), (6, 1, 3, 3), (2, 2), (1, 1), groups=3)
    cases.convolution((1, 2, 30, 20), (2, 1, 5, 4), padding=(2, 2), dilation=(1, 2), groups=2)
    cases.convolution((1, 5, 2, 2), (5, 1, 3, 3), padding=(1, 1), groups=5)
    cases.convolution((1, 2, 300), (2, 1, 7), (1,), (3,), (1,), groups=2)
    for _ in range(6):
        cases.random_convolution()
    return cases


def products() -> Cases:
    cases = Cases(3)
    for rows, depth, columns in [((), 5, 3), ((1,), 64, 12), ((9,), 33, 7), ((2, 3), 128, 10), ((4,), 1, 1)]:
        cases.linear(rows, depth, columns)
    unusual = [(0.0, 0.0), (1e-40, 0.0), (1e-30, 0.0), (0.004, 1e-39), (0.004, 1e35), (1e35, 0.0)]
    infinite = [(math.inf, 0.0), (0.004, -math.inf), (3e38, -3e38)]
    for scale, offset in unusual + infinite:
        cases.linear((1,), 20, 9, scale=scale, offset=offset)
    for _ in range(5):
        cases.linear(
            (cases.one_of(1, 2, 3, 4, 6),), cases.one_of(3, 15, 16, 17, 40), cases.one_of(1, 2, 5, 9)
        )
    return cases


def pools() -> Cases:
    cases = Cases(4)
    for size in [(1, 16, 2, 2), (2, 5, 3, 4), (1, 3, 5, 25), (1, 33, 7, 7)]:
        cases.average_pool(*size)
    for _ in range(8):
        cases.average_pool()
        cases.max_pool()
    for dims in [(2, 3), (3,), (1,), (0, 1, 2, 3)]:
        cases.mean(*dims)
    return cases


def elementwise() -> Cases:
    cases = Cases(5)
    for name in ("add", "mul"):
        for a, b in [
            ((3, 40), (3, 40)),
            ((3, 5, 1), (3, 5, 1)),
            ((2, 0), (2, 0)),
            ((2, 3, 5), (5,)),
            ((4, 1), (1, 6)),
            ((1, 3, 4, 4), (1, 3, 1, 1)),
            ((7,), ()),
        ]:
            cases.binary(name, a, b)
        cases.binary(name, (6,), (6,), scale=1e36)
    for shape in [(1,), (31,), (2, 3, 16)]:
        cases.lookup(*shape)
        cases.quantize(*shape)
        cases.dequantize(*shape)
    for shape in [(1,), (3, 10), (2, 2, 37), (1, 300)]:
        cases.softmax(*shape)
    cases.softmax(4, 5, 6, dim=1)
    cases.softmax(3, 17, scale=1e-4)
    cases.quantize(5, scale=1e-33)
    cases.dequantize(5, scale=1e-42)
    return cases


QUICK: dict[str, Callable[[], Cases]] = {
    "convolutions": convolutions,
    "depthwise": depthwise,
    "products": products,
    "pools": pools,
    "elementwise": elementwise,
}
ALL: dict[str, Callable[[], Cases]] = {
    **QUICK,
    **{f"convolutions{seed}": partial(more_convolutions, seed) for seed in range(10, 16)},
}


def written(families: dict[str, Callable[[], Cases]], folder: Path) -> tuple[list[Path], list[str]]:
    """Returns programs with their inputs, and the output of a runner with portable kernels."""
    programs, lines = [], []
    for name, make in families.items():
        cases = make()
        inputs = tuple(cases.inputs)
        program = bytes(rushlight.compile(Calls(cases.calls), inputs, partitioner=()).buffer)
        programs.append(selective.with_cases(program, [inputs], folder, name))
        method = Runtime.get().load_program(program).load_method("forward")
        results = method.execute(tuple(x.numpy() for x in inputs))
        for i, result in enumerate(results):
            lines.append(f"{name} {i}: " + _bits(np.asarray(result)))
    return programs, lines


def _bits(array: np.ndarray) -> str:  # type: ignore[type-arg]
    kind = {1: "u1", 4: "<u4", 8: "<u8"}[array.dtype.itemsize]
    # A runner prints elements in the order of memory.
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    flat = array.transpose(order).reshape(-1).view(kind)
    return " ".join(f"{int(number):0{2 * array.dtype.itemsize}x}" for number in flat)


def shown(text: str) -> list[str]:
    """Returns the same lines from the output of a runner."""
    lines, program = [], ""
    for line in text.splitlines():
        if line.startswith("program "):
            program = line.split()[1]
        elif line.startswith("output "):
            index, _, rest = line.removeprefix("output ").partition(": ")
            lines.append(f"{program} {index}: {rest.partition(' ')[2]}")
    return lines


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[str]]:
    """Returns the programs of QUICK and their results."""
    return written(QUICK, tmp_path_factory.mktemp("quick"))


@pytest.mark.long
@pytest.mark.parametrize("instructions", EMULATED)
def test_loops_on_the_host(instructions: str, quick: tuple[list[Path], list[str]], tmp_path: Path) -> None:
    programs, expected = quick
    project = selective.select(programs, tmp_path / "project", "--portable", "--embed")
    macros = ["-D__ARM_ARCH_PROFILE=77", *EMULATED[instructions], f"-I{HEADERS}"]
    options = ["-DRUSHLIGHT_CORTEX_M=ON", "-DRUSHLIGHT_TRACING=OFF", f"-DCMAKE_CXX_FLAGS={' '.join(macros)}"]
    folder = selective.build(project, "runner", options=options)
    assert "cortex_m::convolve(" in symbols(folder)
    code, text = selective.run(folder)
    assert code == 0, text
    assert shown(text) == expected


@needs_targets
@pytest.mark.parametrize("toolchain", ["cortex-m4", "cortex-m7", "cortex-m55"])
def test_loops_on_processors(toolchain: str, tmp_path: Path) -> None:
    programs, expected = written(ALL, tmp_path)
    project = selective.select(programs, tmp_path / "project", "--portable", "--embed")
    folder = selective.build(project, "runner", toolchain, ["-DRUSHLIGHT_TRACING=OFF"])
    names = subprocess.run(
        ["arm-none-eabi-nm", "-C", folder / "runner"], capture_output=True, text=True, check=True
    ).stdout
    assert "rushlight::microkernels::cortex_m::convolve(" in names
    code, text = selective.run(folder, toolchain)
    assert code == 0, text
    assert shown(text) == expected
