"""Speed of memory-bound kernels on large tensors: `python -m benchmarks.bandwidth [threads] [filter]`.

Prints bytes read and written a second, and the share of a memcpy interleaved in the same run.
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

ELEMENTS = 1 << 22


@dataclass
class Case:
    """A kernel over large tensors; `moved` bytes are what it has to read and write once."""

    label: str
    kernel: str
    arguments: list[Any]
    out: torch.Tensor
    moved: int


def size_of(*tensors: torch.Tensor) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


def filled(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)


def case(operator: str, dtype: torch.dtype, arguments: list[Any], out: torch.Tensor, note: str = "") -> Case:
    label = f"{operator.split('.')[0]}{' ' + note if note else ''} {str(dtype)[6:]}"
    tensors = [item for item in arguments if isinstance(item, torch.Tensor)]
    return Case(label, f"aten::{operator}", arguments, out, size_of(*tensors, out))


def elementwise(dtype: torch.dtype) -> Iterator[Case]:
    x, y = filled(dtype, 2048, 2048), filled(dtype, 2048, 2048)
    out, mask = torch.empty_like(x), torch.empty(x.shape, dtype=torch.bool)
    yield case("add.out", dtype, [x, y, 1], out)
    yield case("mul.out", dtype, [x, y], out)
    yield case("mul.Scalar_out", dtype, [x, 3], out, "by a number")
    yield case("add.out", dtype, [x, filled(dtype, 2048), 1], out, "rows")
    yield case("add.out", dtype, [x, filled(dtype, 2048, 1), 1], out, "columns")
    yield case("relu.out", dtype, [x], out)
    yield case("maximum.out", dtype, [x, y], out)
    yield case("clamp.out", dtype, [x, 1, 5], out)
    yield case("lt.Tensor_out", dtype, [x, y], mask)
    yield case("eq.Scalar_out", dtype, [x, 1], mask)
    yield case("where.self_out", dtype, [filled(torch.bool, 2048, 2048), x, y], out)


def quantized() -> Iterator[Case]:
    x, q, r = (
        filled(torch.float32, 2048, 2048),
        filled(torch.int8, 2048, 2048),
        filled(torch.int8, 2048, 2048),
    )
    scales, zeros = torch.rand(2048) + 0.1, torch.zeros(2048, dtype=torch.int64)
    whole, channels = (0.05, 3, -128, 127, torch.int8), (scales, zeros, 0, -128, 127, torch.int8)
    operand, space = (0.05, 3, -128, 127), "quantized_decomposed::"
    bytes, floats = torch.empty_like(q), torch.empty_like(x)
    for label, kernel, arguments, out in (
        ("quantize", "quantize_per_tensor", [x, *whole], bytes),
        ("quantize channels", "quantize_per_channel", [x, *channels], bytes),
        ("dequantize", "dequantize_per_tensor", [q, *whole, None], floats),
        ("dequantize channels", "dequantize_per_channel", [q, *channels, None], floats),
        ("quantized add", "add", [q, *operand, r, *operand, *operand], bytes),
    ):
        tensors = [item for item in arguments if isinstance(item, torch.Tensor)]
        yield Case(label, f"{space}{kernel}.out", arguments, out, size_of(*tensors, out))


def casts() -> Iterator[Case]:
    f32, f16, i64, u8 = torch.float32, torch.float16, torch.int64, torch.uint8
    pairs = [
        (f32, f16), (f16, f32), (f32, torch.bfloat16), (torch.bfloat16, f32), (f32, i64), (i64, f32),
        (u8, f32), (f32, u8), (i64, torch.int32), (torch.int32, i64), (torch.bool, f32),
    ]  # fmt: skip
    for source, target in pairs:
        x = filled(source, 2048, 2048)
        note = f"to {str(target)[6:]} of"
        yield case("_to_copy.out", source, [x, False, None], torch.empty(x.shape, dtype=target), note)


def reductions(dtype: torch.dtype) -> Iterator[Case]:
    x = filled(dtype, 2048, 2048)
    total = torch.int64 if not dtype.is_floating_point else dtype
    for dims, note, shape in (([0, 1], "all", ()), ([1], "rows", (2048,)), ([0], "columns", (2048,))):
        yield case("sum.IntList_out", dtype, [x, dims, False, None], torch.empty(shape, dtype=total), note)
        yield case("amax.out", dtype, [x, dims, False], torch.empty(shape, dtype=dtype), note)
        if dtype.is_floating_point:
            yield case("mean.out", dtype, [x, dims, False, None], torch.empty(shape, dtype=dtype), note)
    yield case("argmax.out", dtype, [x, 1, False], torch.empty(2048, dtype=torch.int64), "rows")
    if dtype.is_floating_point:
        yield case("_softmax.out", dtype, [x, 1, False], torch.empty_like(x))
    yield case("cumsum.out", dtype, [x, 1, None], torch.empty(x.shape, dtype=total), "rows")


def indexing(dtype: torch.dtype) -> Iterator[Case]:
    x = filled(dtype, 16384, 256)
    out = torch.empty_like(x)
    rows = torch.randint(0, 16384, (16384,))
    yield case("index_select.out", dtype, [x, 0, rows], out, "rows")
    yield case("embedding.out", dtype, [x, rows, -1, False, False], out)
    yield case("index.Tensor_out", dtype, [x, [rows]], out, "rows")
    where = torch.randint(0, 256, (16384, 256))
    yield case("gather.out", dtype, [x, 1, where, False], out, "along rows")
    yield case(
        "gather.out", dtype, [x, 0, torch.randint(0, 16384, (16384, 256)), False], out, "along columns"
    )
    columns = torch.randint(0, 256, (256,))
    yield case("index_select.out", dtype, [x, 1, columns], out, "columns")


def copies(dtype: torch.dtype) -> Iterator[Case]:
    x = filled(dtype, 64, 256, 256)
    flat, out = x.view(2048, 2048), torch.empty_like(x)
    yield case("clone.out", dtype, [x, None], out)
    yield case("transpose_copy.int_out", dtype, [flat, 0, 1], torch.empty_like(flat))
    yield case("permute_copy.out", dtype, [x, [1, 0, 2]], torch.empty(256, 64, 256, dtype=dtype), "1 0 2")
    yield case("permute_copy.out", dtype, [x, [0, 2, 1]], out, "0 2 1")
    yield case("permute_copy.out", dtype, [x, [2, 1, 0]], torch.empty(256, 256, 64, dtype=dtype), "2 1 0")
    halves = [x[:32].contiguous(), x[32:].contiguous()]
    yield Case(f"cat outer {str(dtype)[6:]}", "aten::cat.out", [halves, 0], out, 2 * size_of(x))
    parts = list(flat.view(2048, 4, 512).permute(1, 0, 2).contiguous())
    yield Case(
        f"cat inner {str(dtype)[6:]}", "aten::cat.out", [parts, 1], torch.empty_like(flat), 2 * size_of(x)
    )
    half = torch.empty(2048, 1024, dtype=dtype)
    sliced = case("slice_copy.Tensor_out", dtype, [flat, 1, 512, 1536, 1], half)
    sliced.moved = 2 * size_of(half)
    yield sliced
    every = case("slice_copy.Tensor_out", dtype, [flat, 1, 0, 2048, 2], half, "by 2")
    yield every
    yield case("expand_copy.out", dtype, [flat[:1].contiguous(), [2048, 2048], False], torch.empty_like(flat))
    yield case("constant_pad_nd.out", dtype, [x, [1, 1, 1, 1], 0], torch.empty(64, 258, 258, dtype=dtype))
    yield case("flip.out", dtype, [flat, [1]], torch.empty_like(flat))


def cases() -> Iterator[Case]:
    common = (torch.float32, torch.int64, torch.float16, torch.uint8)
    for dtype in (*common, torch.int32, torch.bfloat16):
        yield from elementwise(dtype)
    yield from casts()
    yield from quantized()
    for dtype in common:
        yield from reductions(dtype)
    for dtype in common:
        yield from copies(dtype)
    for dtype in (torch.float32, torch.int64, torch.uint8):
        yield from indexing(dtype)


def timed(run: Callable[[], object], threads: int) -> float:
    """Seconds; of one thread those that it ran, so that other processes count less."""
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    run()
    return clock() - start


def main(arguments: list[str]) -> None:
    threads = int(arguments[0]) if arguments else 1
    wanted = arguments[1] if len(arguments) > 1 else ""
    torch.set_num_threads(threads)
    source = torch.ones(ELEMENTS * 4, dtype=torch.float32)
    target = torch.empty_like(source)
    for item in cases():
        if wanted not in item.label:
            continue
        call = (item.kernel, [*item.arguments, item.out], None, threads)
        call_kernel(*call)
        copy = kernel = math.inf
        end = time.perf_counter() + 0.3
        while time.perf_counter() < end:
            copy = min(copy, timed(lambda: target.copy_(source), threads))
            kernel = min(kernel, *(timed(lambda call=call: call_kernel(*call), threads) for _ in range(3)))  # type: ignore[misc]
        rate, limit = item.moved / kernel * 1e-9, 2 * size_of(source) / copy * 1e-9
        print(
            f"{item.label:36} {kernel * 1e6:9.0f} us {rate:7.1f} GB/s {100 * rate / limit:5.0f} %", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
