"""Operators that write elements at places which an index, a mask or strides select.

Example: `masked_scatter` of two values to float32[4].

    static int masked_scatter_0(const f32 *restrict in, f32 *restrict out, const b8 *restrict mask,
                                const f32 *restrict source) {
      for (ptrdiff_t i = 0; i < 4; ++i) {
        out[i] = in[i];
      }
      ptrdiff_t next = 0;
      for (ptrdiff_t i = 0; i < 4; ++i) {
        if (mask[i] != 0) {
          if (next == 2) return 1;
          out[i] = source[next];
          ++next;
        }
      }
      return 0;
    }
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import BOOL, C_TYPES, FLOAT, FLOATING, LONG, SIXTEEN, c_compute, compute_type
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.generators.copies import broadcast_copy, copy_elements, is_same_memory, start_from
from rushlight.aot_c.generators.elementwise import broadcast
from rushlight.aot_c.generators.fills import stored_number
from rushlight.aot_c.generators.indexing import (
    add_elements,
    gather_nest,
    position,
    require_index,
    row_major_place,
    size_at,
    stride_at,
)
from rushlight.aot_c.generators.shapes import normalized, require_window
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType

_INTEGER_LIMITS = {
    BOOL: ("0", "1"),
    ScalarType.BYTE: ("0", "UINT8_MAX"),
    ScalarType.CHAR: ("INT8_MIN", "INT8_MAX"),
    ScalarType.SHORT: ("INT16_MIN", "INT16_MAX"),
    ScalarType.INT: ("INT32_MIN", "INT32_MAX"),
    LONG: ("INT64_MIN", "INT64_MAX"),
    ScalarType.UINT16: ("0", "UINT16_MAX"),
    ScalarType.UINT32: ("0", "UINT32_MAX"),
    ScalarType.UINT64: ("0", "UINT64_MAX"),
}


def _scatter(
    k: Kernel,
    reduction: str,
    value_position: int,
    is_number: bool,
    out: TensorValue,
    include_self: bool = True,
) -> None:
    source, index = k.tensor(0), k.tensor(2)
    require_index(k, index)
    axis = normalized(k, k.integer(1), source.rank)
    k.require(source.dtype == out.dtype, "the dtypes differ")
    if reduction != "assign":
        compute_type(out.dtype)
    k.require_shape(out, source.sizes)
    part = None if is_number else k.tensor(value_position)
    k.require(part is None or part.dtype == out.dtype, "the dtypes differ")
    target = start_from(k, source, out)
    if index.numel == 0:
        return
    ranks = {max(tensor.rank, 1) for tensor in (index, source, part) if tensor is not None}
    k.require(len(ranks) == 1, "the ranks of index, input and source differ")
    for d in range(max(index.rank, 1)):
        fits = (d == axis or size_at(index, d) <= size_at(out, d)) and (
            part is None or size_at(index, d) <= size_at(part, d)
        )
        k.require(fits, "the index is larger than the input or the source in a dim")
    b = k.read(index, "index")
    if part is None:
        number = k.number_value(k.number(value_position), "value")
        k.code.add(f"const {C_TYPES[out.dtype]} number = {stored_number(k, number, out)};")
    else:
        k.read(part, "source")
    nest = gather_nest(index, part, out, axis)

    @contextmanager
    def places() -> Iterator[tuple[str, str]]:
        """Writes loops over the index. Yields the places of the elements in the result and in the source."""
        # Without loops, a block of its own keeps the variables of several uses apart.
        block = nullcontext() if nest.sizes else k.code.block("")
        with block, nest.emit(k.code) as (at, along, base):
            place = position(k, f"{b}[{at}]", size_at(out, axis), "place")
            yield plus(base, terms((place, stride_at(out, axis)))), along

    if not include_self:
        identity = _identity(k, out.dtype, reduction)
        with places() as (at, _):
            k.code.add(f"{target}[{at}] = {identity};")
    with places() as (at, along):
        element = f"{target}[{at}]"
        value = "number" if part is None else f"source[{along}]"
        k.code.add(f"{element} = {_combined(k, out.dtype, reduction, element, value)};")
    if reduction == "mean" and out.dtype != BOOL:
        k.scratch("counts", ScalarType.INT, out.numel)
        k.code.add(f"for (ptrdiff_t e = 0; e < {out.numel}; ++e) counts[e] = {int(include_self)};")
        with places() as (at, _):
            k.code.add(f"++counts[{at}];")
        with k.code.block(f"for (ptrdiff_t e = 0; e < {out.numel}; ++e)"):
            k.code.add(
                f"if (counts[e] > 1) {target}[e] = {_mean(k, out.dtype, f'{target}[e]', 'counts[e]')};"
            )


def _identity(k: Kernel, dtype: ScalarType, reduction: str) -> str:
    """Writes the element with which a reduction without the old elements begins."""
    if reduction not in ("amax", "amin"):
        number = 1.0 if reduction == "prod" else 0.0
    elif dtype in FLOATING:
        number = -math.inf if reduction == "amax" else math.inf
    else:
        return _INTEGER_LIMITS[dtype][reduction == "amin"]
    compute = compute_type(dtype)
    if compute == LONG:
        return str(int(number))
    return k.store(
        f"({k.constant(number, compute)})" if number < 0 else k.constant(number, compute), compute, dtype
    )


def _mean(k: Kernel, dtype: ScalarType, total: str, count: str) -> str:
    compute = compute_type(dtype)
    if compute == LONG:
        return f"({C_TYPES[dtype]}){k.call('floor_div', k.load(total, dtype, LONG), count)}"
    value = f"{k.load(total, dtype, compute)} / ({c_compute(compute)}){count}"
    return k.store(f"({value})", compute, dtype) if dtype in SIXTEEN else value


def _combined(k: Kernel, dtype: ScalarType, reduction: str, old: str, value: str) -> str:
    if reduction == "assign":
        return value
    if reduction in ("add", "sum", "mean"):
        return add_elements(k, dtype, old, value)
    if reduction in ("multiply", "prod"):
        return add_elements(k, dtype, old, value, "*")
    if reduction not in ("amax", "amin"):
        raise Unsupported(f"the reduction {reduction!r} is not supported")
    compute = FLOAT if dtype in SIXTEEN else dtype
    a, b = k.load(old, dtype, compute), k.load(value, dtype, compute)
    nan = f"{a} != {a} || " if dtype in FLOATING else ""
    return f"{nan}{a} {'>=' if reduction == 'amax' else '<='} {b} ? {old} : {value}"


def _scatter_assign(is_number: bool) -> Generator:
    return lambda k: _scatter(k, "assign", 3, is_number, k.tensor(4))


def _scatter_reduce(is_number: bool) -> Generator:
    def generate(k: Kernel) -> None:
        reduction = k.optional_text(4)
        k.require(reduction in ("add", "multiply"), f"the reduction {reduction!r} is not supported")
        _scatter(k, str(reduction), 3, is_number, k.tensor(5))

    return generate


def _scatter_add(k: Kernel) -> None:
    _scatter(k, "add", 3, False, k.tensor(4))


def _scatter_reduce_two(k: Kernel) -> None:
    _scatter(k, str(k.optional_text(4)), 3, False, k.tensor(6), include_self=k.flag(5))


def _is_injective(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Returns whether a strided window contains no element twice."""
    last = 0
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size > 1:
            if stride <= last:
                return False
            last += (size - 1) * stride
    return True


def _as_strided_scatter(k: Kernel) -> None:
    source, part, out = k.tensor(0), k.tensor(1), k.tensor(5)
    sizes, strides, first = k.ints(2), k.ints(3), k.optional_int(4) or 0
    require_window(k, sizes, strides, first, source.numel)
    k.require(source.dtype == out.dtype == part.dtype, "the dtypes differ")
    k.require_shape(part, sizes)
    k.require_shape(out, source.sizes)
    k.require(source.strides == out.strides, "the input and the result have different dim orders")
    k.require(_is_injective(sizes, strides), "the view contains an element twice")
    target = start_from(k, source, out)
    nest = Nest(2)
    for d, size in enumerate(sizes):
        nest.push(size, part.strides[d], strides[d])
    if part.numel:
        copy_elements(k, part, out, nest.sort_by(1).collapse(), 0, first, (k.read(part, "source"), target))


def _masked_scatter(k: Kernel) -> None:
    source, mask, values, out = (k.tensor(i) for i in range(4))
    k.require(mask.dtype == BOOL, "the mask is not bool")
    k.require(source.dtype == out.dtype == values.dtype, "the dtypes differ")
    k.require_shape(out, broadcast([source, mask]))
    if out.numel == 0:
        return
    if is_same_memory(source, out):
        k.in_place = True
        k.write(out)
    else:
        broadcast_copy(k, source, out)
    k.read(mask, "mask")
    k.read(values, "source")
    k.code.add("ptrdiff_t next = 0;")
    with (
        Nest.over(out.sizes, out, mask).collapse().emit(k.code) as (to, at),
        k.code.block(f"if (mask[{at}] != 0)"),
    ):
        k.fail_if(f"next == {values.numel}")
        if values.numel:
            k.code.add(f"out[{to}] = source[{row_major_place(values, 'next')}];")
        k.code.add("++next;")


GENERATORS: dict[str, Generator] = {
    "aten::scatter.src_out": _scatter_assign(False),
    "aten::scatter.value_out": _scatter_assign(True),
    "aten::scatter.reduce_out": _scatter_reduce(False),
    "aten::scatter.value_reduce_out": _scatter_reduce(True),
    "aten::scatter_add.out": _scatter_add,
    "aten::scatter_reduce.two_out": _scatter_reduce_two,
    "aten::as_strided_scatter.out": _as_strided_scatter,
    "aten::masked_scatter.out": _masked_scatter,
}
