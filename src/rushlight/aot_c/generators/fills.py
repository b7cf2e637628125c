"""Operators that fill tensors: constants, ranges, padding, triangular matrices.

Example: `arange` from 0 to 6 in steps of 2, to float32[3].

    static void arange_0(f32 *restrict out) {
      for (ptrdiff_t e = 0; e < 3; ++e) {
        const float r = (float)(0.0 + 2.0 * (double)e);
        out[e] = r;
      }
    }
"""

from __future__ import annotations

from contextlib import ExitStack

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import (
    BOOL,
    C_TYPES,
    DOUBLE,
    FLOAT,
    FLOATING,
    INTEGERS,
    LONG,
    c_compute,
    name_of,
)
from rushlight.aot_c.generators.copies import (
    broadcast_copy,
    copy_elements,
    strided,
)
from rushlight.aot_c.generators.shapes import require_same
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import plus
from rushlight.aot_c.values import Number, TensorValue
from rushlight.format.program import ScalarType


def stored_number(k: Kernel, number: Number, out: TensorValue) -> str:
    """Converts a number to an element of a tensor, as `fill_tensor` of the runtime does."""
    compute = DOUBLE if number.kind == "double" else LONG
    text = k.constant(number, compute)
    return k.store(f"({text})" if text.startswith("-") else text, compute, out.dtype)


def fill(k: Kernel, out: TensorValue, number: Number, name: str | None = None) -> None:
    """Sets all elements of a tensor to a number."""
    if out.numel == 0:
        return
    target = name or k.write(out)
    value = stored_number(k, k.number_value(number, "value"), out)
    k.code.add(f"for (ptrdiff_t e = 0; e < {out.numel}; ++e) {target}[e] = {value};")


def _constant_pad(k: Kernel) -> None:
    source, pad, number, out = k.tensor(0), k.ints(1), k.number(2), k.tensor(3)
    require_same(k, source, out)
    k.require(
        len(pad) % 2 == 0 and len(pad) // 2 <= source.rank,
        "the number of padding widths does not match the rank",
    )
    k.require_rank(source.rank, out)
    shape, copied, start, target = [], [], 0, 0
    for d, size in enumerate(source.sizes):
        pair = source.rank - 1 - d
        before, after = (pad[2 * pair], pad[2 * pair + 1]) if 2 * pair < len(pad) else (0, 0)
        shape.append(size + before + after)
        first = max(0, -before)
        copied.append(max(0, min(size, size + after) - first))
        start += first * source.strides[d]
        target += max(0, before) * out.strides[d]
    k.require_shape(out, shape)
    name = k.write(out)
    if copied != shape:
        fill(k, out, number, name)
    nest = strided(copied, source.strides, out.strides)
    if nest.numel:
        copy_elements(k, source, out, nest, start, target, (k.read(source, "in"), name))


def _padded(reflects: bool, dims: int) -> Generator:
    """Pads with reflected elements, or repeats the elements at the edge."""

    def generate(k: Kernel) -> None:
        source, pad, out = k.tensor(0), k.ints(1), k.tensor(2)
        require_same(k, source, out)
        k.require(
            source.rank in (dims + 1, dims + 2) and len(pad) == 2 * dims,
            "the number of padding widths does not match the rank",
        )
        lead = source.rank - dims
        widths = [(0, 0)] * lead + [(pad[i], pad[i + 1]) for i in range(2 * dims - 2, -1, -2)]
        for size, width in zip(source.sizes[lead:], widths[lead:], strict=True):
            k.require(
                not reflects or max(width) < size, "a padding width is not less than the size of the dim"
            )
        k.require_shape(out, [size + sum(width) for size, width in zip(source.sizes, widths, strict=True)])
        if out.numel == 0:
            return
        name, target = k.read(source, "in"), k.write(out)
        indices = "ijklmn"[: out.rank]
        # Loops are not merged, because the source position of each dim is computed separately.
        with ExitStack() as stack:
            places: list[tuple[str, int] | str] = []
            for d, (index, size) in enumerate(zip(indices, out.sizes, strict=True)):
                stack.enter_context(k.code.block(f"for (ptrdiff_t {index} = 0; {index} < {size}; ++{index})"))
                if d >= lead:
                    _declare_padded_position(k, index, widths[d][0], source.sizes[d], reflects)
                places.append((index if d < lead else f"p{index}", source.strides[d]))
            to = terms(*zip(indices, out.strides, strict=True))
            k.code.add(f"{target}[{to}] = {name}[{terms(*places)}];")

    return generate


def _declare_padded_position(k: Kernel, index: str, before: int, size: int, reflects: bool) -> None:
    """Declares the position in a dim of the input for the position `index` of the result.

    Args:
        k: the kernel.
        index: the C variable of the position in the result; the new variable has the prefix `p`.
        before: the padding in front of the dim.
        size: the size of the dim in the input.
        reflects: whether positions in the padding are reflected.
    """
    position = f"p{index}"
    k.code.add(f"ptrdiff_t {position} = {index} {'-' if before >= 0 else '+'} {abs(before)};")
    first, last = (f"-{position}", f"{2 * size - 2} - {position}") if reflects else ("0", f"{size - 1}")
    k.code.add(f"if ({position} < 0) {position} = {first};")
    k.code.add(f"if ({position} >= {size}) {position} = {last};")


def _triangle(lower: bool) -> Generator:
    def generate(k: Kernel) -> None:
        source, diagonal, out = k.tensor(0), k.integer(1), k.tensor(2)
        require_same(k, source, out)
        k.require(source.rank >= 2, "the rank is below 2")
        k.require_shape(out, source.sizes)
        if out.numel == 0:
            return
        rows, columns = source.sizes[-2:]
        shift = min(max(diagonal, -rows), columns)
        a, b = k.read(source, "in"), k.write(out)
        k.in_place = True
        nest = strided(source.sizes[:-2], source.strides[:-2], out.strides[:-2])
        with nest.emit(k.code, "b") as (at, to):
            with k.code.block(f"for (ptrdiff_t r = 0; r < {rows}; ++r)"):
                with k.code.block(f"for (ptrdiff_t c = 0; c < {columns}; ++c)"):
                    take = (
                        f"c {'<=' if lower else '>='} r + {shift}"
                        if shift >= 0
                        else (f"c {'<=' if lower else '>='} r - {-shift}")
                    )
                    place = plus(to, terms(("r", out.strides[-2]), ("c", out.strides[-1])))
                    own = plus(at, terms(("r", source.strides[-2]), ("c", source.strides[-1])))
                    k.code.add(f"{b}[{place}] = {take} ? {a}[{own}] : 0;")

    return generate


def _full(k: Kernel) -> None:
    k.require_shape(k.tensor(2), k.ints(0))
    fill(k, k.tensor(2), k.number(1))


def _full_like(k: Kernel) -> None:
    k.require_shape(k.tensor(3), k.tensor(0).sizes)
    fill(k, k.tensor(3), k.number(1))


def _filled(value: int) -> Generator:
    def generate(k: Kernel) -> None:
        k.require_shape(k.tensor(1), k.ints(0))
        fill(k, k.tensor(1), Number("int", value))

    return generate


def _scalar_tensor(k: Kernel) -> None:
    k.require_shape(k.tensor(1), [])
    fill(k, k.tensor(1), k.number(0))


def _fill_number(k: Kernel) -> None:
    fill(k, k.tensor(2), k.number(1))


def _fill_tensor(k: Kernel) -> None:
    broadcast_copy(k, k.tensor(1), k.tensor(2))


def _empty(k: Kernel) -> None:
    """Writes no code: the elements of the result are undefined."""


def _arange(k: Kernel, start: Number, step: Number, out: TensorValue) -> None:
    k.require(out.rank == 1 and out.dtype != BOOL, "the result is not a numeric tensor of rank 1")
    if out.numel == 0:
        return
    from rushlight.aot_c.dtypes import FLOAT, FLOATING, c_compute

    target = k.write(out)
    first = k.number_value(start, "start")
    by = k.number_value(step, "step")
    with k.code.block(f"for (ptrdiff_t e = 0; e < {out.numel}; ++e)"):
        if out.dtype in FLOATING:
            compute = DOUBLE if out.dtype == DOUBLE else FLOAT
            a, b = k.constant(first, DOUBLE), k.constant(by, DOUBLE)
            k.code.add(f"const {c_compute(compute)} r = ({c_compute(compute)})({a} + {b} * (double)e);")
            k.code.add(f"{target}[e] = {k.store('r', compute, out.dtype)};")
        else:
            product = k.call("wrap_mul", k.constant(by, LONG), "e")
            value = k.call("wrap_add", k.constant(first, LONG), product)
            k.code.add(f"{target}[e] = {k.store(value, LONG, out.dtype)};")


def _arange_start(k: Kernel) -> None:
    _arange(k, k.number(0), k.number(2), k.tensor(3))


def _arange_end(k: Kernel) -> None:
    _arange(k, Number("int", 0), Number("int", 1), k.tensor(1))


def _eye(k: Kernel) -> None:
    rectangular = len(k.arguments) > 2 and isinstance(k.arguments[1], Number)
    n = k.integer(0)
    m = k.integer(1) if rectangular else n
    out = k.tensor(2 if rectangular else 1)
    k.require_shape(out, [n, m])
    if out.numel == 0:
        return
    name = k.write(out)
    fill(k, out, Number("int", 0), name)
    one = stored_number(k, Number("int", 1), out)
    place = terms(("e", sum(out.strides)))
    k.code.add(f"for (ptrdiff_t e = 0; e < {min(n, m)}; ++e) {name}[{place}] = {one};")


def _linspace(k: Kernel) -> None:
    start, end, steps, out = k.number(0), k.number(1), k.integer(2), k.tensor(3)
    k.require_shape(out, [steps])
    if steps == 0:
        return
    k.require(out.dtype in FLOATING or out.dtype in INTEGERS, f"{name_of(out.dtype)} is not supported")
    is_float = out.dtype in FLOATING
    compute = FLOAT if is_float and out.dtype != DOUBLE else DOUBLE
    c, code = c_compute(compute), k.code

    def converted(number: Number, name: str) -> str:
        value = k.number_value(number, name)
        return k.constant(value, compute) if is_float else f"({c}){value.to(LONG)}"

    k.write(out)
    code.add(f"const {c} first = {converted(start, 'start')};")
    if steps == 1:
        code.add(f"out[0] = {k.store('first', compute, out.dtype)};")
        return
    code.add(f"const {c} last = {converted(end, 'end')};")
    code.add(f"const {c} step = (last - first) / {k.constant(float(steps - 1), compute)};")
    with code.block(f"for (ptrdiff_t e = 0; e < {steps}; ++e)"):
        rest = f"last - step * ({c})({steps - 1} - e)"
        code.add(f"const {c} x = e < {steps // 2} ? first + step * ({c})e : {rest};")
        code.add(f"out[e] = {k.store('x', compute, out.dtype)};")


def _triangle_indices(is_lower: bool) -> Generator:
    """Writes the rows and the columns of the elements on one side of a diagonal."""

    def generate(k: Kernel) -> None:
        rows, columns, offset, out = k.integer(0), k.integer(1), k.integer(2), k.tensor(3)
        k.require(min(rows, columns) >= 0, "the matrix has a negative size")
        k.require(out.dtype in (ScalarType.INT, LONG), "the dtype of the result is neither int32 nor int64")
        k.require_rank(2, out)
        shift = min(max(offset, -rows), columns) + is_lower
        counts = _row_sizes(k, rows, columns, shift)
        total = counts if is_lower else rows * columns - counts
        k.require_shape(out, [2, total])
        if total == 0:
            return
        code, c_type = k.code, C_TYPES[out.dtype]
        k.write(out)
        code.add("ptrdiff_t next = 0;")
        with code.block(f"for ({c_type} row = 0; row < {rows}; ++row)"):
            edge = f"row + {shift}" if shift >= 0 else f"row - {-shift}"
            bound = f"({edge} < 0 ? 0 : {edge} < {columns} ? {edge} : {columns})"
            first, last = ("0", bound) if is_lower else (bound, str(columns))
            head = f"for ({c_type} column = {first}; column < {last}; ++column, ++next)"
            with code.block(head):
                code.add(f"out[{terms(('next', out.strides[1]))}] = row;")
                code.add(f"out[{plus(str(out.strides[0]), terms(('next', out.strides[1])))}] = column;")

    return generate


def _row_sizes(k: Kernel, rows: int, columns: int, shift: int) -> int:
    """Returns the number of elements of a matrix whose column is below row + shift."""
    k.require(rows * columns < 2**40, "the matrix is too large")
    full = min(max(rows + shift - columns, 0), rows)  # rows of which all columns count
    first = max(0, -shift)  # the first row after those without elements
    partial = max(rows - full - first, 0)
    return full * columns + sum(first + row + shift for row in range(partial))


GENERATORS: dict[str, Generator] = {
    "aten::constant_pad_nd.out": _constant_pad,
    **{f"aten::reflection_pad{n}d.out": _padded(True, n) for n in (1, 2, 3)},
    **{f"aten::replication_pad{n}d.out": _padded(False, n) for n in (1, 2, 3)},
    "aten::tril.out": _triangle(True),
    "aten::triu.out": _triangle(False),
    "aten::full.out": _full,
    "aten::full_like.out": _full_like,
    "aten::zeros.out": _filled(0),
    "aten::ones.out": _filled(1),
    "aten::scalar_tensor.out": _scalar_tensor,
    "aten::fill.Scalar_out": _fill_number,
    "aten::fill.Tensor_out": _fill_tensor,
    "aten::empty.out": _empty,
    "aten::empty_strided.out": _empty,
    "dim_order_ops::_empty_dim_order.out": _empty,
    "aten::arange.out": _arange_end,
    "aten::arange.start_out": _arange_start,
    "aten::eye.out": _eye,
    "aten::eye.m_out": _eye,
    "aten::linspace.out": _linspace,
    "aten::tril_indices.out": _triangle_indices(True),
    "aten::triu_indices.out": _triangle_indices(False),
}
