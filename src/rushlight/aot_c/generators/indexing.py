"""Operators that read or write elements selected by index tensors. Each index is checked at run time.

Example: `embedding` of two indices in a table float32[5, 3].

    static int embedding_0(const f32 *restrict weight, const i64 *restrict index, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        const int64_t row_given = index[i];
        if (row_given < 0 || row_given >= 5) return 1;
        const ptrdiff_t row = (ptrdiff_t)(row_given);
        for (ptrdiff_t c = 0; c < 3; ++c) {
          out[3 * i + c] = weight[3 * row + c];
        }
      }
      return 0;
    }
"""

from __future__ import annotations

from collections.abc import Callable

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import BOOL, C_TYPES, FLOAT, FLOATING, LONG, SIXTEEN, compute_type
from rushlight.aot_c.generators.copies import start_from
from rushlight.aot_c.generators.fills import stored_number
from rushlight.aot_c.generators.shapes import normalized
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType

_INDEX = (ScalarType.INT, LONG)


def position(k: Kernel, element: str, size: int, name: str, negative: bool = False) -> str:
    """Reads an element of an index tensor into a C variable, and checks its range. Returns the variable."""
    code = k.code
    code.add(f"const int64_t {name}_given = {element};")
    least = -size if negative else 0
    k.fail_if(f"{name}_given < {least} || {name}_given >= {size}")
    value = f"{name}_given < 0 ? {name}_given + {size} : {name}_given" if negative else f"{name}_given"
    code.add(f"const ptrdiff_t {name} = (ptrdiff_t)({value});")
    return name


def require_index(k: Kernel, index: TensorValue) -> None:
    """Raises Unsupported if a tensor does not have the dtype of an index."""
    k.require(index.dtype in _INDEX, "the dtype of the index is neither int32 nor int64")


def size_at(tensor: TensorValue, axis: int) -> int:
    """Returns the size of a dim, or 1 for a tensor of rank 0."""
    return tensor.sizes[axis] if tensor.rank else 1


def stride_at(tensor: TensorValue, axis: int) -> int:
    """Returns the stride of a dim, or 1 for a tensor of rank 0."""
    return tensor.strides[axis] if tensor.rank else 1


def row_major_place(tensor: TensorValue, position: str) -> str:
    """Writes the index of the element at a position of the row-major order of a tensor."""
    if tensor.is_row_major:
        return position
    parts: list[tuple[str, int]] = []
    inner = tensor.numel
    for size, stride in zip(tensor.sizes, tensor.strides, strict=True):
        inner //= size
        quotient = position if inner == 1 else f"{position} / {inner}"
        parts.append((quotient if inner * size == tensor.numel else f"{quotient} % {size}", stride))
    return terms(*parts)


def _embedding(k: Kernel) -> None:
    weight, index, out = k.tensor(0), k.tensor(1), k.tensor(5)
    require_index(k, index)
    k.require(
        weight.dtype == out.dtype and weight.rank == 2,
        "the weight does not have rank 2 and the dtype of the result",
    )
    k.require_shape(out, [*index.sizes, weight.sizes[1]])
    if out.numel == 0:
        return
    a, b, c = k.read(weight, "weight"), k.read(index, "index"), k.write(out)
    nest = Nest(2)
    for d, size in enumerate(index.sizes):
        nest.push(size, index.strides[d], out.strides[d])
    nest.collapse()
    with nest.emit(k.code) as (at, to):
        row = position(k, f"{b}[{at}]", weight.sizes[0], "row")
        with k.code.block(f"for (ptrdiff_t c = 0; c < {weight.sizes[1]}; ++c)"):
            target = plus(to, terms(("c", out.strides[-1])))
            k.code.add(f"{c}[{target}] = {a}[{terms((row, weight.strides[0]), ('c', weight.strides[1]))}];")


def _index_select(k: Kernel) -> None:
    source, index, out = k.tensor(0), k.tensor(2), k.tensor(3)
    require_index(k, index)
    axis = normalized(k, k.integer(1), source.rank)
    k.require(
        source.dtype == out.dtype and index.rank <= 1,
        "the dtypes of input and result differ, or the rank of the index is above 1",
    )
    k.require_rank(source.rank, out)
    if source.rank:
        k.require_shape(out, [index.numel if d == axis else s for d, s in enumerate(source.sizes)])
    if out.numel == 0:
        return
    a, b, c = k.read(source, "in"), k.read(index, "index"), k.write(out)
    nest = Nest(2)
    for d, size in enumerate(out.sizes):
        if d != axis:
            nest.push(size, source.strides[d], out.strides[d])
    nest.sort_by(1).collapse()
    with k.code.block(f"for (ptrdiff_t p = 0; p < {index.numel}; ++p)"):
        place = position(k, f"{b}[p]", size_at(source, axis), "place")
        with nest.emit(k.code) as (at, to):
            to_text = plus(to, terms(("p", stride_at(out, axis))))
            k.code.add(f"{c}[{to_text}] = {a}[{plus(at, terms((place, stride_at(source, axis))))}];")


def gather_nest(index: TensorValue, along: TensorValue | None, indexed: TensorValue, axis: int) -> Nest:
    """Makes loops over an index tensor.

    The operands are the index, the tensor `along` of the same shape, and the indexed tensor.
    """
    nest = Nest(3)
    for d, size in enumerate(index.sizes):
        own = 0 if along is None else stride_at(along, d)
        nest.push(size, index.strides[d], own, 0 if d == axis else stride_at(indexed, d))
    return nest


def _gather(k: Kernel) -> None:
    source, index, out = k.tensor(0), k.tensor(2), k.tensor(4)
    require_index(k, index)
    axis = normalized(k, k.integer(1), source.rank)
    k.require(source.dtype == out.dtype, "the dtypes differ")
    k.require_shape(out, index.sizes)
    if out.numel == 0:
        return
    k.require(max(index.rank, 1) == max(source.rank, 1), "the ranks of index and input differ")
    k.require(
        all(d == axis or size_at(index, d) <= size_at(source, d) for d in range(max(source.rank, 1))),
        "the index is larger than the input in a dim",
    )
    a, b, c = k.read(source, "in"), k.read(index, "index"), k.write(out)
    nest = gather_nest(index, out, source, axis).sort_by(1).collapse()
    with nest.emit(k.code) as (at, to, base):
        place = position(k, f"{b}[{at}]", size_at(source, axis), "place")
        k.code.add(f"{c}[{to}] = {a}[{plus(base, terms((place, stride_at(source, axis))))}];")


def add_elements(k: Kernel, dtype: ScalarType, a: str, b: str, operator: str = "+") -> str:
    """Writes a + b or a * b for elements: integers wrap around, bool uses `||` and `&&`."""
    compute_type(dtype)
    if dtype == BOOL:
        return f"{a} {'||' if operator == '+' else '&&'} {b}"
    if dtype in SIXTEEN:
        value = f"{k.load(a, dtype, FLOAT)} {operator} {k.load(b, dtype, FLOAT)}"
        return k.store(f"({value})", FLOAT, dtype)
    if dtype in FLOATING:
        return f"{a} {operator} {b}"
    return f"({C_TYPES[dtype]})((uint64_t){a} {operator} (uint64_t){b})"


def _index_slices(
    k: Kernel, part: TensorValue | None, out: TensorValue, value: Callable[[str, str], str]
) -> None:
    """Changes the slices of the result that an index selects.

    `value` returns the new element from the old element and the element of the source.
    """
    source, index = k.tensor(0), k.tensor(2)
    require_index(k, index)
    axis = normalized(k, k.integer(1), source.rank)
    k.require(
        source.dtype == out.dtype and index.rank <= 1,
        "the dtypes of input and result differ, or the rank of the index is above 1",
    )
    k.require_shape(out, source.sizes)
    target = start_from(k, source, out)
    if index.numel * out.numel == 0:
        return
    b = k.read(index, "index")
    if part is not None:
        wanted = [index.numel if d == axis else size for d, size in enumerate(out.sizes)]
        k.require(
            list(part.sizes) == wanted or out.rank == 0, "the shape of the source does not match the index"
        )
        k.read(part, "source")
    nest = Nest(2)
    for d, size in enumerate(out.sizes):
        if d != axis:
            nest.push(size, 0 if part is None else part.strides[d], out.strides[d])
    nest.sort_by(1).collapse()
    with k.code.block(f"for (ptrdiff_t p = 0; p < {index.numel}; ++p)"):
        place = position(k, f"{b}[p]", size_at(out, axis), "place")
        with nest.emit(k.code) as (at, to):
            element = f"{target}[{plus(to, terms((place, stride_at(out, axis))))}]"
            step = 0 if part is None else stride_at(part, axis)
            new = f"source[{plus(at, terms(('p', step)))}]"
            k.code.add(f"{element} = {value(element, new)};")


def _index_copy(k: Kernel) -> None:
    _index_slices(k, k.tensor(3), k.tensor(4), lambda old, new: new)


def _index_add(k: Kernel) -> None:
    out = k.tensor(5)
    dtype = out.dtype
    alpha = k.number_value(k.number(4), "alpha")
    compute = compute_type(dtype)
    if alpha.value is not None and float(alpha.value) == 1:
        _index_slices(k, k.tensor(3), out, lambda old, new: add_elements(k, dtype, old, new))
        return
    scale = f"({alpha.to(compute)})"
    if "NAN" in scale or "INFINITY" in scale:
        k.headers.add("math.h")

    def scaled(old: str, new: str) -> str:
        if dtype == BOOL:
            return f"{old} || ({new} && {scale} != 0)"
        if compute == LONG:
            return f"({C_TYPES[dtype]})((uint64_t){old} + (uint64_t){scale} * (uint64_t){new})"
        value = f"({k.load(old, dtype, compute)} + {scale} * {k.load(new, dtype, compute)})"
        return k.store(value, compute, dtype) if dtype in SIXTEEN else value[1:-1]

    _index_slices(k, k.tensor(3), out, scaled)


def _fill_slices(k: Kernel, out: TensorValue, element: Callable[[], str]) -> None:
    """Writes the C expression that `element` returns to each element of the slices that the index selects."""
    if k.tensor(2).numel * out.numel > 0:
        k.code.add(f"const {C_TYPES[out.dtype]} number = {element()};")
    _index_slices(k, None, out, lambda old, new: "number")


def _index_fill(k: Kernel) -> None:
    out = k.tensor(4)
    number = k.number_value(k.number(3), "value")
    _fill_slices(k, out, lambda: stored_number(k, number, out))


def _index_fill_tensor(k: Kernel) -> None:
    out, value = k.tensor(4), k.tensor(3)
    k.require(value.rank == 0, "the value does not have rank 0")
    _fill_slices(k, out, lambda: k.convert(f"{k.read(value, 'value')}[0]", value.dtype, out.dtype))


def _take(k: Kernel) -> None:
    source, index, out = k.tensor(0), k.tensor(1), k.tensor(2)
    require_index(k, index)
    k.require(source.dtype == out.dtype, "the dtypes differ")
    k.require_shape(out, index.sizes)
    if out.numel == 0:
        return
    a, b, c = k.read(source, "in"), k.read(index, "index"), k.write(out)
    with Nest.over(out.sizes, index, out).sort_by(1).collapse().emit(k.code) as (at, to):
        place = position(k, f"{b}[{at}]", source.numel, "place", negative=True)
        k.code.add(f"{c}[{to}] = {a}[{row_major_place(source, place)}];")


GENERATORS: dict[str, Generator] = {
    "aten::embedding.out": _embedding,
    "aten::index_select.out": _index_select,
    "aten::gather.out": _gather,
    "aten::index_copy.out": _index_copy,
    "aten::index_add.out": _index_add,
    "aten::index_fill.int_Scalar_out": _index_fill,
    "aten::index_fill.int_Tensor_out": _index_fill_tensor,
    "aten::take.out": _take,
}
