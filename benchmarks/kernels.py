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
    label: str
    kernel: str
    arguments: list[Any]
    outs: list[torch.Tensor]
    work: float
    unit: str  # "GFLOP/s" or "GB/s"


def traffic(*tensors: torch.Tensor) -> float:
    return float(sum(t.numel() * t.element_size() for t in tensors))


def convolution(
    c: int, size: int, o: int, k: int, stride: int = 1, groups: int = 1, last: bool = False
) -> Case:
    x, w, bias = torch.randn(1, c, size, size), torch.randn(o, c // groups, k, k), torch.randn(o)
    format = torch.channels_last if last else torch.contiguous_format
    out = torch.empty(1, o, size // stride, size // stride).to(memory_format=format)
    lists = [[stride] * 2, [k // 2] * 2, [1, 1], False, [0, 0], groups]
    arguments = [x.to(memory_format=format), w.to(memory_format=format), bias, *lists]
    label = f"conv {c}->{o} {size}x{size} k{k} s{stride} g{groups}{' channels last' if last else ''}"
    return Case(label, "aten::convolution.out", arguments, [out], 2.0 * out.numel() * w[0].numel(), "GFLOP/s")


def addmm(m: int, k: int, n: int) -> Case:
    a, b, c, out = torch.randn(m, k), torch.randn(k, n), torch.randn(n), torch.empty(m, n)
    if m == 1:
        work, unit = traffic(b), "GB/s"
    else:
        work, unit = 2.0 * m * k * n, "GFLOP/s"
    return Case(f"addmm {m}x{k} @ {k}x{n}", "aten::addmm.out", [c, a, b, 1, 1], [out], work, unit)


def linear(m: int, k: int, n: int) -> Case:
    x, w, bias, out = torch.randn(m, k), torch.randn(n, k), torch.randn(n), torch.empty(m, n)
    work, unit = (traffic(w), "GB/s") if m == 1 else (2.0 * m * k * n, "GFLOP/s")
    return Case(f"linear {m}x{k} -> {n}", "aten::linear.out", [x, w, bias], [out], work, unit)


def bmm(b: int, m: int, k: int, n: int) -> Case:
    x, y, out = torch.randn(b, m, k), torch.randn(b, k, n), torch.empty(b, m, n)
    return Case(
        f"bmm {b} x {m}x{k} @ {k}x{n}", "aten::bmm.out", [x, y], [out], 2.0 * b * m * k * n, "GFLOP/s"
    )


def elementwise(name: str, shape: tuple[int, ...], *more: Any) -> Case:
    x, out = torch.randn(shape), torch.empty(shape)
    return Case(f"{name} {shape}", f"aten::{name}.out", [x, *more], [out], traffic(x, out), "GB/s")


def cases() -> Iterator[Case]:
    yield addmm(384, 384, 384)
    yield elementwise("abs", (1 << 24,))
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
    yield addmm(197, 192, 768)
    yield addmm(128, 1536, 384)
    yield addmm(1, 1280, 1000)
    yield linear(128, 384, 1536)
    yield linear(1, 768, 3072)
    yield bmm(12, 197, 64, 197)
    yield bmm(12, 197, 197, 64)
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
