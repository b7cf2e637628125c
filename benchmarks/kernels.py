"""Speed of single kernels on shapes of real networks: `python -m benchmarks.kernels [threads] [filter]`.

Prints GFLOP/s or GB/s of each kernel, and this rate relative to that of a large matrix product (GFLOP/s) or
of a large copy (GB/s) in the same run.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from rushlight.runtime import call_kernel


@dataclass
class Case:
    """A call of a kernel.

    Attributes:
        label: the name in the table.
        kernel: the name of the kernel.
        arguments: the arguments before the outputs.
        outs: the outputs.
        work: the floating-point operations of the call, or the bytes that it must read and write.
        unit: "GFLOP/s" or "GB/s".
    """

    label: str
    kernel: str
    arguments: list[Any]
    outs: list[torch.Tensor]
    work: float
    unit: str


def traffic(*tensors: torch.Tensor) -> float:
    """Returns the total size of some tensors in bytes."""
    return float(sum(t.numel() * t.element_size() for t in tensors))


def convolution(
    channels: int, size: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, last: bool = False
) -> Case:
    """A convolution of one image of size x size pixels, in channels-last memory if `last`."""
    format = torch.channels_last if last else torch.contiguous_format
    image = torch.randn(1, channels, size, size).to(memory_format=format)
    weight = torch.randn(outputs, channels // groups, kernel, kernel).to(memory_format=format)
    bias = torch.randn(outputs)
    out = torch.empty(1, outputs, size // stride, size // stride).to(memory_format=format)
    arguments = [image, weight, bias, [stride] * 2, [kernel // 2] * 2, [1, 1], False, [0, 0], groups]
    layout = " channels last" if last else ""
    label = f"conv {channels}->{outputs} {size}x{size} k{kernel} s{stride} g{groups}{layout}"
    operations = 2.0 * out.numel() * weight[0].numel()
    return Case(label, "aten::convolution.out", arguments, [out], operations, "GFLOP/s")


def addmm(m: int, k: int, n: int) -> Case:
    """The product of [m, k] and [k, n], plus a row. With one row, the limit is the bandwidth of memory."""
    a, b, c, out = torch.randn(m, k), torch.randn(k, n), torch.randn(n), torch.empty(m, n)
    if m == 1:
        work, unit = traffic(b), "GB/s"
    else:
        work, unit = 2.0 * m * k * n, "GFLOP/s"
    return Case(f"addmm {m}x{k} @ {k}x{n}", "aten::addmm.out", [c, a, b, 1, 1], [out], work, unit)


def linear(m: int, k: int, n: int) -> Case:
    """The product of [m, k] and the transpose of [n, k], plus a row; see `addmm`."""
    x, w, bias, out = torch.randn(m, k), torch.randn(n, k), torch.randn(n), torch.empty(m, n)
    work, unit = (traffic(w), "GB/s") if m == 1 else (2.0 * m * k * n, "GFLOP/s")
    return Case(f"linear {m}x{k} -> {n}", "aten::linear.out", [x, w, bias], [out], work, unit)


def bmm(b: int, m: int, k: int, n: int) -> Case:
    """A batch of products of [m, k] and [k, n]."""
    x, y, out = torch.randn(b, m, k), torch.randn(b, k, n), torch.empty(b, m, n)
    return Case(
        f"bmm {b} x {m}x{k} @ {k}x{n}", "aten::bmm.out", [x, y], [out], 2.0 * b * m * k * n, "GFLOP/s"
    )


def elementwise(name: str, shape: tuple[int, ...], *more: Any) -> Case:
    """A kernel with one tensor of the shape of the output. `more` are its other arguments."""
    x, out = torch.randn(shape), torch.empty(shape)
    return Case(f"{name} {shape}", f"aten::{name}.out", [x, *more], [out], traffic(x, out), "GB/s")


def cases() -> Iterator[Case]:
    """Yields all cases. The first two measure the limits of the machine: arithmetic and bandwidth."""
    yield addmm(384, 384, 384)
    yield elementwise("abs", (1 << 24,))
    yield from convolutions()
    yield from products()
    yield from rows_and_images()


def convolutions() -> Iterator[Case]:
    """Yields convolutions of MobileNetV2, ResNet and MobileNetV3."""
    yield convolution(3, 224, 32, 3, 2)
    yield convolution(32, 112, 32, 3, 1, 32)
    yield convolution(16, 112, 96, 1)
    yield convolution(96, 112, 96, 3, 2, 96)
    yield convolution(144, 56, 24, 1)
    yield convolution(96, 14, 576, 1)
    yield convolution(960, 7, 960, 3, 1, 960)
    yield convolution(960, 7, 160, 1)
    yield convolution(120, 14, 120, 5, 1, 120)
    yield convolution(64, 56, 64, 3)
    yield convolution(256, 14, 256, 3)
    yield convolution(512, 7, 512, 3)
    yield convolution(64, 56, 64, 3, last=True)
    yield convolution(96, 56, 24, 1, last=True)
    yield convolution(144, 56, 144, 3, 1, 144, last=True)


def products() -> Iterator[Case]:
    """Yields matrix products of transformers and classifiers."""
    yield addmm(197, 192, 768)
    yield addmm(128, 1536, 384)
    yield addmm(1, 1280, 1000)
    yield linear(128, 384, 1536)
    yield linear(1, 768, 3072)
    yield bmm(12, 197, 64, 197)
    yield bmm(12, 197, 197, 64)


def rows_and_images() -> Iterator[Case]:
    """Yields elementwise functions, norms, reductions, pooling and permutations."""
    for name in ("relu", "exp", "tanh", "sigmoid", "erf"):
        yield elementwise(name, (197, 768))
    yield elementwise("gelu", (197, 768), "none")
    yield elementwise("_softmax", (12, 197, 197), -1, False)
    x, y, row = torch.randn(128, 384), torch.randn(128, 384), torch.randn(384)
    yield Case("add rows", "aten::add.out", [x, row, 1], [torch.empty_like(x)], traffic(x, x), "GB/s")
    yield Case("mul", "aten::mul.out", [x, y], [torch.empty_like(x)], traffic(x, y, x), "GB/s")
    statistics = [torch.empty_like(x), torch.empty(128, 1), torch.empty(128, 1)]
    arguments = [x, [384], row, row, 1e-5]
    yield Case("layer_norm", "aten::native_layer_norm.out", arguments, statistics, traffic(x, x), "GB/s")
    image = torch.randn(1, 64, 112, 112)
    pooled = [torch.empty(1, 64, 56, 56), torch.empty(1, 64, 56, 56, dtype=torch.int64)]
    arguments = [image, [3, 3], [2, 2], [1, 1], [1, 1], False]
    yield Case(
        "max_pool2d k3 s2",
        "aten::max_pool2d_with_indices.out",
        arguments,
        pooled,
        traffic(image, *pooled),
        "GB/s",
    )
    wide = torch.randn(1, 1280, 7, 7)
    arguments = [wide, [2, 3], False, None]
    yield Case("mean of planes", "aten::mean.out", arguments, [torch.empty(1, 1280)], traffic(wide), "GB/s")
    heads = torch.randn(1, 197, 12, 64)
    out = torch.empty(1, 12, 197, 64)
    yield Case("permute", "aten::permute_copy.out", [heads, [0, 2, 1, 3]], [out], traffic(heads, out), "GB/s")


def seconds_of(run: Callable[[], object], budget: float) -> float:
    """Returns the shortest time of a call in seconds. `budget` is the time for all calls in seconds."""
    run()
    best, end = math.inf, time.perf_counter() + budget
    while time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def main(arguments: list[str]) -> None:
    threads = int(arguments[0]) if arguments else 1
    wanted = arguments[1] if len(arguments) > 1 else ""
    limits: dict[str, float] = {}
    for case in cases():
        if limits.keys() >= {"GFLOP/s", "GB/s"} and wanted not in case.label:
            continue
        call = (case.kernel, [*case.arguments, *case.outs], None, threads)
        seconds = seconds_of(lambda call=call: call_kernel(*call), 0.25)  # type: ignore[misc]
        rate = case.work / seconds * 1e-9
        limit = limits.setdefault(case.unit, rate)
        print(
            f"{case.label:44} {seconds * 1e6:10.1f} us {rate:8.1f} {case.unit:8} {100 * rate / limit:5.0f} %"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
