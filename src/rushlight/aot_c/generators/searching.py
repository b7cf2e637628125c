"""Binary search in sorted rows.

Example: `bucketize` of float32[4] with three boundaries.

    static void bucketize_0(const f32 *restrict boundaries, const f32 *restrict in, i64 *restrict out) {
      for (ptrdiff_t i = 0; i < 4; ++i) {
        const float x = in[i];
        int32_t low = 0, high = 3;
        while (low < high) {
          const int32_t middle = low + (high - low) / 2;
          const bool is_below = !(boundaries[middle] >= x);
          low = is_below ? middle + 1 : low;
          high = is_below ? high : middle;
        }
        out[i] = low;
      }
    }
"""

from __future__ import annotations

from dataclasses import dataclass

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import FLOAT, LONG, c_compute, compute_type, narrows, promote
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType


@dataclass
class _Row:
    """A row of sorted elements.

    Attributes:
        length: the number of elements.
        element: the C expression of element `middle`.
        first: declares the variables that `element` uses.
    """

    length: int
    element: str
    first: str = ""


def _search(k: Kernel, x: str, compute: ScalarType, row: _Row, right: bool, target: str) -> None:
    """Stores the number of elements of a row that are below x, or not above x if `right`."""
    code = k.code
    if row.length == 0:
        code.add(f"{target} = 0;")
        return
    code.add(f"const {c_compute(compute)} x = {x};")
    code.add(f"int32_t low = 0, high = {row.length};")
    with code.block("while (low < high)"):
        code.add("const int32_t middle = low + (high - low) / 2;")
        if row.first:
            code.add(row.first)
        code.add(f"const bool is_below = !({row.element} {'>' if right else '>='} x);")
        code.add("low = is_below ? middle + 1 : low;")
        code.add("high = is_below ? high : middle;")
    code.add(f"{target} = low;")


def _require_positions(k: Kernel, out: TensorValue, length: int) -> None:
    k.require(out.dtype in (ScalarType.INT, LONG), "the dtype of the result is neither int32 nor int64")
    k.require(length < 2**31, "the sorted rows have too many elements")


def _boundaries(k: Kernel, boundaries: TensorValue, out: TensorValue, compute: ScalarType) -> _Row:
    k.require_rank(1, boundaries)
    _require_positions(k, out, boundaries.numel)
    if boundaries.numel:
        k.read(boundaries, "boundaries")
    place = terms(("middle", boundaries.strides[0]))
    return _Row(boundaries.numel, k.load(f"boundaries[{place}]", boundaries.dtype, compute))


def _bucketize(k: Kernel) -> None:
    source, boundaries, right, out = k.tensor(0), k.tensor(1), k.flag(3), k.tensor(4)
    common = promote(source.dtype, boundaries.dtype)
    compute = compute_type(common)
    k.require_shape(out, source.sizes)
    row = _boundaries(k, boundaries, out, compute)
    if out.numel == 0:
        return
    k.read(source, "in")
    k.write(out)
    with Nest.over(out.sizes, source, out).sort_by(1).collapse().emit(k.code) as (at, to):
        x = k.load(f"in[{at}]", source.dtype, compute)
        x = k.narrow(x, common) if narrows(source.dtype, common) else x
        _search(k, x, compute, row, right, f"out[{to}]")


def _bucketize_number(k: Kernel) -> None:
    boundaries, right, out = k.tensor(1), k.flag(3), k.tensor(4)
    number = k.number_value(k.number(0), "number")
    common = promote(FLOAT if number.kind == "double" else LONG, boundaries.dtype)
    compute = compute_type(common)
    k.require_shape(out, [])
    row = _boundaries(k, boundaries, out, compute)
    k.write(out)
    _search(k, k.number_in(number, common), compute, row, right, "out[0]")


def _searchsorted(k: Kernel) -> None:
    rows, source, side, sorter, out = (
        k.tensor(0),
        k.tensor(1),
        k.optional_text(4),
        k.optional_tensor(5),
        k.tensor(6),
    )
    k.require(side in (None, "left", "right"), f"side={side!r} is not supported")
    right = k.flag(3) if side is None else side == "right"
    k.require(
        rows.rank >= 1 and (rows.rank == 1 or rows.sizes[:-1] == source.sizes[:-1]),
        "the sorted rows and the values differ in a leading dim",
    )
    k.require(rows.rank in (1, source.rank), "the sorted rows and the values differ in their ranks")
    k.require(
        sorter is None or (sorter.dtype == LONG and sorter.sizes == rows.sizes),
        "the sorter is not an int64 tensor with the shape of the sorted rows",
    )
    _require_positions(k, out, rows.sizes[-1])
    k.require_shape(out, source.sizes)
    compute = compute_type(promote(source.dtype, rows.dtype))
    if out.numel == 0:
        return
    k.read(source, "in")
    if rows.numel:
        k.read(rows, "sorted")
    if sorter is not None and rows.numel:
        k.read(sorter, "sorter")
    k.write(out)
    length = rows.sizes[-1]
    nest = Nest(4)
    for d, size in enumerate(source.sizes):
        is_row = rows.rank > 1 and d + 1 < rows.rank
        nest.push(
            size,
            source.strides[d],
            out.strides[d],
            rows.strides[d] if is_row else 0,
            sorter.strides[d] if is_row and sorter is not None else 0,
        )
    with nest.sort_by(1).collapse().emit(k.code) as (at, to, row, order):
        if sorter is None:
            element, first = f"sorted[{plus(row, terms(('middle', rows.strides[-1])))}]", ""
            value = k.load(element, rows.dtype, compute)
        else:
            first = f"const int64_t e = sorter[{plus(order, terms(('middle', sorter.strides[-1])))}];"
            element = f"sorted[{plus(row, terms(('e', rows.strides[-1])))}]"
            value = f"(e >= 0 && e < {length} ? {k.load(element, rows.dtype, compute)} : 0)"
        x = k.load(f"in[{at}]", source.dtype, compute)
        _search(k, x, compute, _Row(length, value, first), right, f"out[{to}]")


GENERATORS: dict[str, Generator] = {
    "aten::bucketize.Tensor_out": _bucketize,
    "aten::bucketize.Scalar_out": _bucketize_number,
    "aten::searchsorted.Tensor_out": _searchsorted,
}
