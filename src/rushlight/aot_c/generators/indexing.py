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

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import BOOL, C_TYPES, FLOAT, FLOATING, LONG, SIXTEEN, compute_type
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.generators.copies import copy_elements, is_same_memory
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


def _require_index(k: Kernel, index: TensorValue) -> None:
    k.require(index.dtype in _INDEX, "the dtype of the index is neither int32 nor int64")


def _size_at(tensor: TensorValue, axis: int) -> int:
    return tensor.sizes[axis] if tensor.rank else 1


def _stride_at(tensor: TensorValue, axis: int) -> int:
    return tensor.strides[axis] if tensor.rank else 1


def _embedding(k: Kernel) -> None:
    weight, index, out = k.tensor(0), k.tensor(1), k.tensor(5)
    _require_index(k, index)
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
    _require_index(k, index)
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
        place = position(k, f"{b}[p]", _size_at(source, axis), "place")
        with nest.emit(k.code) as (at, to):
            to_text = plus(to, terms(("p", _stride_at(out, axis))))
            k.code.add(f"{c}[{to_text}] = {a}[{plus(at, terms((place, _stride_at(source, axis))))}];")


def _gather_nest(index: TensorValue, along: TensorValue | None, indexed: TensorValue, axis: int) -> Nest:
    """Makes loops over an index tensor.

    The operands are the index, the tensor `along` of the same shape, and the indexed tensor.
    """
    nest = Nest(3)
    for d, size in enumerate(index.sizes):
        own = 0 if along is None else _stride_at(along, d)
        nest.push(size, index.strides[d], own, 0 if d == axis else _stride_at(indexed, d))
    return nest


def _gather(k: Kernel) -> None:
    source, index, out = k.tensor(0), k.tensor(2), k.tensor(4)
    _require_index(k, index)
    axis = normalized(k, k.integer(1), source.rank)
    k.require(source.dtype == out.dtype, "the dtypes differ")
    k.require_shape(out, index.sizes)
    if out.numel == 0:
        return
    k.require(max(index.rank, 1) == max(source.rank, 1), "the ranks of index and input differ")
    k.require(
        all(d == axis or _size_at(index, d) <= _size_at(source, d) for d in range(max(source.rank, 1))),
        "the index is larger than the input in a dim",
    )
    a, b, c = k.read(source, "in"), k.read(index, "index"), k.write(out)
    nest = _gather_nest(index, out, source, axis).sort_by(1).collapse()
    with nest.emit(k.code) as (at, to, base):
        place = position(k, f"{b}[{at}]", _size_at(source, axis), "place")
        k.code.add(f"{c}[{to}] = {a}[{plus(base, terms((place, _stride_at(source, axis))))}];")


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


def _scatter(k: Kernel, reduction: str, value_position: int, is_number: bool, out: TensorValue) -> None:
    source, index = k.tensor(0), k.tensor(2)
    _require_index(k, index)
    axis = normalized(k, k.integer(1), source.rank)
    k.require(source.dtype == out.dtype, "the dtypes differ")
    k.require_shape(out, source.sizes)
    part = None if is_number else k.tensor(value_position)
    k.require(part is None or part.dtype == out.dtype, "the dtypes differ")
    k.in_place = True
    target = k.write(out)
    if not is_same_memory(source, out):
        names = (k.read(source, "in"), target)
        copy_elements(k, source, out, Nest.over(out.sizes, source, out), 0, 0, names)
    if index.numel == 0:
        return
    ranks = {max(tensor.rank, 1) for tensor in (index, source, part) if tensor is not None}
    k.require(len(ranks) == 1, "the ranks of index, input and source differ")
    for d in range(max(index.rank, 1)):
        fits = (d == axis or _size_at(index, d) <= _size_at(out, d)) and (
            part is None or _size_at(index, d) <= _size_at(part, d)
        )
        k.require(fits, "the index is larger than the input or the source in a dim")
    b = k.read(index, "index")
    if part is None:
        number = k.number_value(k.number(value_position), "value")
        k.code.add(f"const {C_TYPES[out.dtype]} number = {stored_number(k, number, out)};")
    else:
        k.read(part, "source")
    with _gather_nest(index, part, out, axis).emit(k.code) as (at, along, base):
        place = position(k, f"{b}[{at}]", _size_at(out, axis), "place")
        element = f"{target}[{plus(base, terms((place, _stride_at(out, axis))))}]"
        value = "number" if part is None else f"source[{along}]"
        k.code.add(f"{element} = {_combined(k, out.dtype, reduction, element, value)};")


def _combined(k: Kernel, dtype: ScalarType, reduction: str, old: str, value: str) -> str:
    if reduction == "assign":
        return value
    if reduction in ("add", "sum"):
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
    if not k.flag(5):
        raise Unsupported("include_self=False is not supported")
    _scatter(k, str(k.optional_text(4)), 3, False, k.tensor(6))


def _index_slices(
    k: Kernel, part: TensorValue | None, out: TensorValue, value: Callable[[str, str], str]
) -> None:
    """Changes the slices of the result that an index selects.

    `value` returns the new element from the old element and the element of the source.
    """
    source, index = k.tensor(0), k.tensor(2)
    _require_index(k, index)
    axis = normalized(k, k.integer(1), source.rank)
    k.require(
        source.dtype == out.dtype and index.rank <= 1,
        "the dtypes of input and result differ, or the rank of the index is above 1",
    )
    k.require_shape(out, source.sizes)
    k.in_place = True
    target = k.write(out)
    if not is_same_memory(source, out):
        names = (k.read(source, "in"), target)
        copy_elements(k, source, out, Nest.over(out.sizes, source, out), 0, 0, names)
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
        place = position(k, f"{b}[p]", _size_at(out, axis), "place")
        with nest.emit(k.code) as (at, to):
            element = f"{target}[{plus(to, terms((place, _stride_at(out, axis))))}]"
            step = 0 if part is None else _stride_at(part, axis)
            new = f"source[{plus(at, terms(('p', step)))}]"
            k.code.add(f"{element} = {value(element, new)};")


def _index_copy(k: Kernel) -> None:
    _index_slices(k, k.tensor(3), k.tensor(4), lambda old, new: new)


def _index_add(k: Kernel) -> None:
    out = k.tensor(5)
    alpha = k.number(4)
    k.require(alpha.value is not None and float(alpha.value) == 1, "an alpha other than 1 is not supported")
    _index_slices(k, k.tensor(3), out, lambda old, new: add_elements(k, out.dtype, old, new))


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
    _require_index(k, index)
    k.require(
        source.dtype == out.dtype and source.is_row_major,
        "the dtypes differ, or the input is not in row-major order",
    )
    k.require_shape(out, index.sizes)
    if out.numel == 0:
        return
    a, b, c = k.read(source, "in"), k.read(index, "index"), k.write(out)
    with Nest.over(out.sizes, index, out).sort_by(1).collapse().emit(k.code) as (at, to):
        place = position(k, f"{b}[{at}]", source.numel, "place", negative=True)
        k.code.add(f"{c}[{to}] = {a}[{place}];")


class Advanced:
    """The elements that x[i, :, j] selects. The dims of the index replace the indexed dims, or come first."""

    def __init__(self, k: Kernel, indexed: TensorValue, indices: Sequence[TensorValue | None]) -> None:
        self.k, self.indexed = k, indexed
        self.axes: list[tuple[int, TensorValue]] = []
        shape: list[int] = []
        begun = ended = split = False
        self.place = 0
        for axis, index in enumerate(indices):
            if index is None:
                ended = begun
                continue
            if index.dtype in (BOOL, ScalarType.BYTE):
                raise Unsupported("the number of elements that a mask selects is known only at run time")
            _require_index(k, index)
            k.require(axis < indexed.rank, "there are more indices than dims")
            split = split or ended
            if not begun:
                self.place = axis
            begun = True
            shape = _broadcast(shape, list(index.sizes))
            self.axes.append((axis, index))
        if split:
            self.place = 0
        self.index_shape = shape
        taken = {axis for axis, _ in self.axes}
        self.rest = [d for d in range(indexed.rank) if d not in taken]
        before = [d for d in self.rest if d < self.place] if not split else []
        self.before, self.after = before, [d for d in self.rest if d not in before]
        self.shape = [
            *(indexed.sizes[d] for d in before),
            *shape,
            *(indexed.sizes[d] for d in self.after),
        ]

    def emit(self, strides: Sequence[int], body: Callable[[str, str], None]) -> None:
        """Writes loops over the selected elements.

        `body` receives the index of an element in the indexed tensor and in a tensor with `strides`.
        """
        k, indexed = self.k, self.indexed
        names = [k.read(index, f"index{axis}") for axis, index in self.axes]
        first = len(self.before)
        outer = Nest(1 + len(self.axes))
        for d, size in enumerate(self.index_shape):
            steps = []
            for _, index in self.axes:
                own = d - (len(self.index_shape) - index.rank)
                steps.append(0 if own < 0 or index.sizes[own] == 1 else index.strides[own])
            outer.push(size, strides[first + d], *steps)
        inner = Nest(2)
        for i, d in enumerate(self.before):
            inner.push(indexed.sizes[d], indexed.strides[d], strides[i])
        for i, d in enumerate(self.after):
            inner.push(indexed.sizes[d], indexed.strides[d], strides[first + len(self.index_shape) + i])
        inner.collapse()
        with ExitStack() as stack:
            to, *places = stack.enter_context(outer.emit(k.code, "x"))
            parts: list[tuple[str, int] | str] = []
            for (axis, _), name, place_at in zip(self.axes, names, places, strict=True):
                element = f"{name}[{place_at}]"
                place = position(k, element, indexed.sizes[axis], f"place{axis}", negative=True)
                parts.append((place, indexed.strides[axis]))
            base = terms(*parts)
            within, other = stack.enter_context(inner.emit(k.code))
            body(plus(base, within), plus(to, other))


def _broadcast(a: list[int], b: list[int]) -> list[int]:
    rank = max(len(a), len(b))
    a, b = [1] * (rank - len(a)) + a, [1] * (rank - len(b)) + b
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        raise Unsupported("the indices do not broadcast")
    return [y if x == 1 else x for x, y in zip(a, b, strict=True)]


def _index(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(2)
    k.require(source.dtype == out.dtype, "the dtypes differ")
    advanced = Advanced(k, source, k.optional_tensors(1))
    k.require_shape(out, advanced.shape)
    if out.numel == 0:
        return
    a, b = k.read(source, "in"), k.write(out)
    advanced.emit(out.strides, lambda at, to: k.code.add(f"{b}[{to}] = {a}[{at}];"))


def _index_put(
    k: Kernel, source: TensorValue, values: TensorValue, accumulate: bool, out: TensorValue
) -> None:
    k.require(source.dtype == out.dtype == values.dtype, "the dtypes differ")
    k.require_shape(out, source.sizes)
    k.in_place = True
    target = k.write(out)
    if not is_same_memory(source, out):
        names = (k.read(source, "in"), target)
        copy_elements(k, source, out, Nest.over(out.sizes, source, out), 0, 0, names)
    advanced = Advanced(k, out, k.optional_tensors(1))
    lead = len(advanced.shape) - values.rank
    fits = lead >= 0 and all(size in (1, advanced.shape[lead + d]) for d, size in enumerate(values.sizes))
    k.require(fits, "the values do not broadcast to the indexed shape")
    if 0 in advanced.shape:
        return
    strides = [0] * lead + [
        0 if size == 1 else stride for size, stride in zip(values.sizes, values.strides, strict=True)
    ]
    k.read(values, "values")

    def body(at: str, other: str) -> None:
        old, new = f"{target}[{at}]", f"values[{other}]"
        k.code.add(f"{old} = {add_elements(k, out.dtype, old, new) if accumulate else new};")

    advanced.emit(strides, body)


def _index_put_out(k: Kernel) -> None:
    _index_put(k, k.tensor(0), k.tensor(2), k.flag(3), k.tensor(4))


def _index_put_in_place(k: Kernel) -> None:
    _index_put(k, k.tensor(0), k.tensor(2), k.flag(3), k.tensor(0))


GENERATORS: dict[str, Generator] = {
    "aten::embedding.out": _embedding,
    "aten::index_select.out": _index_select,
    "aten::gather.out": _gather,
    "aten::scatter.src_out": _scatter_assign(False),
    "aten::scatter.value_out": _scatter_assign(True),
    "aten::scatter.reduce_out": _scatter_reduce(False),
    "aten::scatter.value_reduce_out": _scatter_reduce(True),
    "aten::scatter_add.out": _scatter_add,
    "aten::scatter_reduce.two_out": _scatter_reduce_two,
    "aten::index_copy.out": _index_copy,
    "aten::index_add.out": _index_add,
    "aten::index_fill.int_Scalar_out": _index_fill,
    "aten::index_fill.int_Tensor_out": _index_fill_tensor,
    "aten::take.out": _take,
    "aten::index.Tensor_out": _index,
    "aten::index_put.out": _index_put_out,
    "aten::index_put_": _index_put_in_place,
}
