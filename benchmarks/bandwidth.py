"""Speed of memory-bound kernels: `python -m benchmarks.bandwidth [threads] [pattern] [seconds]`.

`pattern` is a regular expression that selects cases by their labels. `seconds` is the time for each case.

For each case it prints the bytes read and written per second, this rate relative to that of a memcpy, and the
time relative to eager PyTorch. The kernel, the memcpy and eager PyTorch run in turn.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch

from rushlight.runtime import call_kernel

ELEMENTS = 1 << 22


@dataclass
class Case:
    """A kernel call with large tensors. `moved` is the number of bytes that it must read and write."""

    label: str
    kernel: str
    arguments: list[Any]
    out: torch.Tensor
    moved: int
    # Torch's call with the same result, if it is not the operator with the same name and the same `out`.
    eager: Callable[[], object] | None = None


def size_of(*tensors: torch.Tensor) -> int:
    """Returns the total size of some tensors in bytes."""
    return sum(t.numel() * t.element_size() for t in tensors)


def filled(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Returns a tensor of random numbers."""
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else 100, shape).to(dtype)


def case(
    operator: str,
    dtype: torch.dtype,
    arguments: list[Any],
    out: torch.Tensor,
    note: str = "",
    eager: Callable[[], object] | None = None,
) -> Case:
    """Returns a call that reads its tensors once and writes `out` once; see `Case`.

    Args:
        operator: the operator with its overload, without `aten::`.
        dtype: the dtype in the label.
        arguments: the arguments before the output.
        out: the output.
        note: what distinguishes the case from others with the same operator.
        eager: torch's call with the same result, if it differs.
    """
    label = f"{operator.split('.')[0]}{' ' + note if note else ''} {str(dtype)[6:]}"
    tensors = [item for item in arguments if isinstance(item, torch.Tensor)]
    return Case(label, f"aten::{operator}", arguments, out, size_of(*tensors, out), eager)


def copied(out: torch.Tensor, view: torch.Tensor) -> Callable[[], object]:
    """Returns torch's copy of a view."""
    return lambda: out.copy_(view)


def eager_operator(item: Case) -> Callable[[], object]:
    """Returns a call of torch's operator with the name of the case and the same arguments."""
    name, overload = item.kernel.split("::")[1].split(".")
    operator = getattr(getattr(torch.ops.aten, name), overload)
    places = operator._schema.arguments
    positional = [v for v, place in zip(item.arguments, places, strict=False) if not place.kwarg_only]
    named = {p.name: v for v, p in zip(item.arguments, places, strict=False) if p.kwarg_only}
    named[places[-1].name] = item.out
    return lambda: cast(object, operator(*positional, **named))


def elementwise(dtype: torch.dtype) -> Iterator[Case]:
    """Yields arithmetic, comparisons and selections."""
    x, y = filled(dtype, 2048, 2048), filled(dtype, 2048, 2048)
    out, mask = torch.empty_like(x), torch.empty(x.shape, dtype=torch.bool)
    yield case("add.out", dtype, [x, y, 1], out)
    yield case("mul.out", dtype, [x, y], out)
    yield case("mul.Scalar_out", dtype, [x, 3], out, "by a number", lambda: torch.mul(x, 3, out=out))
    yield case("add.out", dtype, [x, filled(dtype, 2048), 1], out, "rows")
    yield case("add.out", dtype, [x, filled(dtype, 2048, 1), 1], out, "columns")
    yield case("relu.out", dtype, [x], out, "", lambda: torch.clamp_min(x, 0, out=out))
    yield case("maximum.out", dtype, [x, y], out)
    yield case("clamp.out", dtype, [x, 1, 5], out)
    yield case("lt.Tensor_out", dtype, [x, y], mask)
    yield case("eq.Scalar_out", dtype, [x, 1], mask)
    yield case("where.self_out", dtype, [filled(torch.bool, 2048, 2048), x, y], out)


def quantized() -> Iterator[Case]:
    """Yields kernels that quantize, dequantize or compute with int8 numbers."""
    x, q, r = (
        filled(torch.float32, 2048, 2048),
        filled(torch.int8, 2048, 2048),
        filled(torch.int8, 2048, 2048),
    )
    scales, zeros = torch.rand(2048) + 0.1, torch.zeros(2048, dtype=torch.int64)
    whole, channels = (0.05, 3, -128, 127, torch.int8), (scales, zeros, 0, -128, 127, torch.int8)
    tokens = (scales.double()[:, None], zeros[:, None], -128, 127, torch.int8)
    operand, space = (0.05, 3, -128, 127), "quantized_decomposed::"
    codes, floats = torch.empty_like(q), torch.empty_like(x)
    per_tensor = torch.quantize_per_tensor(x, 0.05, 3, torch.qint8)
    per_channel = torch.quantize_per_channel(x, scales, zeros, 0, torch.qint8)
    # FBGEMM sums unsigned bytes.
    halves = [torch.quantize_per_tensor(x, 0.05, 3, torch.quint8) for _ in range(2)]
    rows: list[tuple[str, str, list[Any], torch.Tensor, Callable[[], object]]] = [
        ("quantize", "quantize_per_tensor", [x, *whole], codes,
         lambda: torch.quantize_per_tensor(x, 0.05, 3, torch.qint8)),
        ("quantize channels", "quantize_per_channel", [x, *channels], codes,
         lambda: torch.quantize_per_channel(x, scales, zeros, 0, torch.qint8)),
        ("quantize tokens", "quantize_per_token", [x, *tokens], codes,
         lambda: torch.quantize_per_channel(x, scales, zeros, 0, torch.qint8)),
        ("dequantize", "dequantize_per_tensor", [q, *whole, None], floats, per_tensor.dequantize),
        ("dequantize channels", "dequantize_per_channel", [q, *channels, None], floats,
         per_channel.dequantize),
        ("dequantize tokens", "dequantize_per_token", [q, *tokens, torch.float32], floats,
         per_channel.dequantize),
        ("quantized add", "add", [q, *operand, r, *operand, *operand], codes,
         lambda: torch.ops.quantized.add(halves[0], halves[1], 0.05, 3)),
    ]  # fmt: skip
    for label, kernel, arguments, out, eager in rows:
        tensors = [item for item in arguments if isinstance(item, torch.Tensor)]
        yield Case(label, f"{space}{kernel}.out", arguments, out, size_of(*tensors, out), eager)


def casts() -> Iterator[Case]:
    """Yields conversions between dtypes."""
    f32, f16, i64, u8 = torch.float32, torch.float16, torch.int64, torch.uint8
    pairs = [
        (f32, f16), (f16, f32), (f32, torch.bfloat16), (torch.bfloat16, f32), (f32, i64), (i64, f32),
        (u8, f32), (f32, u8), (i64, torch.int32), (torch.int32, i64), (torch.bool, f32),
    ]  # fmt: skip
    for source, target in pairs:
        x = filled(source, 2048, 2048)
        out, note = torch.empty(x.shape, dtype=target), f"to {str(target)[6:]} of"
        yield case("_to_copy.out", source, [x, False, None], out, note, copied(out, x))


def reductions(dtype: torch.dtype) -> Iterator[Case]:
    """Yields sums and other reductions over all elements, rows or columns."""
    x = filled(dtype, 2048, 2048)
    total = torch.int64 if not dtype.is_floating_point else dtype
    for dims, note, shape in (([0, 1], "all", ()), ([1], "rows", (2048,)), ([0], "columns", (2048,))):
        yield case("sum.IntList_out", dtype, [x, dims, False, None], torch.empty(shape, dtype=total), note)
        yield case("amax.out", dtype, [x, dims, False], torch.empty(shape, dtype=dtype), note)
        if dtype.is_floating_point:
            yield case("mean.out", dtype, [x, dims, False, None], torch.empty(shape, dtype=dtype), note)
    yield case("argmax.out", dtype, [x, 1, False], torch.empty(2048, dtype=torch.int64), "rows")
    if dtype.is_floating_point:
        for dim, note in ((1, "rows"), (0, "columns")):
            yield case("_softmax.out", dtype, [x, dim, False], torch.empty_like(x), note)
            yield case("_log_softmax.out", dtype, [x, dim, False], torch.empty_like(x), note)
    yield case("cumsum.out", dtype, [x, 1, None], torch.empty(x.shape, dtype=total), "rows")
    yield case("cumsum.out", dtype, [x, 0, None], torch.empty(x.shape, dtype=total), "columns")


def indexing(dtype: torch.dtype) -> Iterator[Case]:
    """Yields kernels that read or write elements at indices."""
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
    """Yields copies of views, concatenations, padding and flips."""
    x = filled(dtype, 64, 256, 256)
    flat, out = x.view(2048, 2048), torch.empty_like(x)
    square = torch.empty_like(flat)

    def permute(source: torch.Tensor, dims: list[int], note: str) -> Case:
        out = torch.empty([source.shape[d] for d in dims], dtype=dtype)
        return case("permute_copy.out", dtype, [source, dims], out, note, copied(out, source.permute(dims)))

    def slice_of(dim: int, start: int, end: int, step: int, note: str) -> Case:
        part = flat[:, start:end:step] if dim == 1 else flat[start:end:step]
        half = torch.empty(part.shape, dtype=dtype)
        arguments = [flat, dim, start, end, step]
        sliced = case("slice_copy.Tensor_out", dtype, arguments, half, note, copied(half, part))
        # The processor reads whole cache lines, even if the kernel uses only a part of them.
        sliced.moved = size_of(half) * (2 if dim == 0 else 1 + min(step, 64))
        return sliced

    yield case("clone.out", dtype, [x, None], out, "", copied(out, x))
    yield case("transpose_copy.int_out", dtype, [flat, 0, 1], square, "", copied(square, flat.t()))
    yield permute(x, [1, 0, 2], "1 0 2")
    yield permute(x, [0, 2, 1], "0 2 1")
    yield permute(x, [2, 1, 0], "2 1 0")
    yield permute(x.view(4, 64, 128, 128), [0, 2, 3, 1], "to NHWC")
    yield permute(x.view(4, 128, 128, 64), [0, 3, 1, 2], "to NCHW")
    image = filled(dtype, 8, 3, 384, 384)
    yield permute(image, [0, 2, 3, 1], "image to NHWC")
    yield permute(image.view(8, 384, 384, 3), [0, 3, 1, 2], "image to NCHW")
    halves = [x[:32].contiguous(), x[32:].contiguous()]
    name, both = str(dtype)[6:], 2 * size_of(x)
    yield Case(f"cat outer {name}", "aten::cat.out", [halves, 0], out, both)
    parts = list(flat.view(2048, 4, 512).permute(1, 0, 2).contiguous())
    yield Case(f"cat inner {name}", "aten::cat.out", [parts, 1], torch.empty_like(flat), both)
    yield slice_of(1, 512, 1536, 1, "columns")
    yield slice_of(0, 0, 2048, 2, "rows by 2")
    yield slice_of(1, 0, 2048, 2, "by 2")
    yield slice_of(1, 0, 2048, 3, "by 3")
    row = flat[:1].contiguous()
    yield case("expand_copy.out", dtype, [row, [2048, 2048], False], square, "", copied(square, row))
    yield case("constant_pad_nd.out", dtype, [x, [1, 1, 1, 1], 0], torch.empty(64, 258, 258, dtype=dtype))
    yield case("flip.out", dtype, [flat, [1]], square, "", lambda: flat.flip(1))
    yield case("flip.out", dtype, [flat, [0]], square, "rows", lambda: flat.flip(0))


def cases() -> Iterator[Case]:
    """Yields all cases."""
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
    """Returns the processor time of one thread, or the elapsed time of several threads, in seconds."""
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    run()
    return clock() - start


def main(arguments: list[str]) -> None:
    threads = int(arguments[0]) if arguments else 1
    wanted = arguments[1] if len(arguments) > 1 else ""
    budget = float(arguments[2]) if len(arguments) > 2 else 0.4
    torch.set_num_threads(threads)
    source = torch.ones(ELEMENTS * 4, dtype=torch.float32)
    target = torch.empty_like(source)
    for item in cases():
        if not re.search(wanted, item.label):
            continue
        runs: dict[str, Callable[[], object]] = {
            "copy": lambda: target.copy_(source),
            "kernel": lambda item=item: call_kernel(  # type: ignore[misc]
                item.kernel, [*item.arguments, item.out], None, threads
            ),
            "eager": item.eager or eager_operator(item),
        }
        least = dict.fromkeys(runs, math.inf)
        end = time.perf_counter() + budget
        while time.perf_counter() < end or math.inf in least.values():
            for name, run in runs.items():
                least[name] = min(least[name], timed(run, threads), timed(run, threads))
        rate, limit = item.moved / least["kernel"] * 1e-9, 2 * size_of(source) / least["copy"] * 1e-9
        print(
            f"{item.label:36} {least['kernel'] * 1e6:9.0f} us {rate:7.1f} GB/s {100 * rate / limit:5.0f} % "
            f"{least['kernel'] / least['eager']:6.2f} of eager",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
