"""Indexing with several index tensors, as in `x[i, :, j]`, and assignments to such elements or by a mask.

Example: `index_put` of one value to the elements of float32[4] that a mask selects.

    static void index_put_0(f32 *restrict out, const f32 *restrict in, const b8 *restrict mask,
                            const f32 *restrict values) {
      for (ptrdiff_t i = 0; i < 4; ++i) {
        out[i] = in[i];
      }
      for (ptrdiff_t xi = 0; xi < 4; ++xi) {
        if (mask[xi] != 0) {
          out[xi] = values[0];
        }
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import BOOL
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.generators.copies import start_from
from rushlight.aot_c.generators.indexing import add_elements, position, require_index
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType


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
            require_index(k, index)
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


def _put_masked(
    k: Kernel,
    mask: TensorValue,
    axis: int,
    values: TensorValue,
    out: TensorValue,
    assigned: Callable[[str, str], str],
) -> None:
    """Writes values to the elements that a mask selects. The mask replaces the dims from `axis` on.

    Along the dim of the selected elements, there is one value, or one for each of them.
    """
    k.require(
        mask.rank > 0 and out.sizes[axis : axis + mask.rank] == mask.sizes,
        "the shape of the mask differs from the sizes of the indexed dims",
    )
    before, after = out.sizes[:axis], out.sizes[axis + mask.rank :]
    lead = len(before) + 1 + len(after) - values.rank
    k.require(lead >= 0, "the values do not broadcast to the indexed shape")
    sizes = [1] * lead + list(values.sizes)
    fits = all(a in (1, b) for a, b in zip(sizes, [*before, sizes[axis], *after], strict=True))
    k.require(fits, "the values do not broadcast to the indexed shape")
    strides = [0] * lead + [
        0 if size == 1 else step for size, step in zip(values.sizes, values.strides, strict=True)
    ]
    if out.numel == 0:
        k.require(sizes[axis] in (0, 1), "there are more values than elements")
        return
    k.read(mask, "mask")
    k.read(values, "values")
    outer, inner = Nest(2), Nest(2)
    for d in range(mask.rank):
        outer.push(mask.sizes[d], mask.strides[d], out.strides[axis + d])
    for d in range(len(before)):
        inner.push(before[d], out.strides[d], strides[d])
    for d in range(len(after)):
        inner.push(after[d], out.strides[axis + mask.rank + d], strides[axis + 1 + d])
    inner.collapse()
    count = sizes[axis]
    if count != 1:
        k.code.add("ptrdiff_t selected = 0;")
    with outer.collapse().emit(k.code, "x") as (at, to), k.code.block(f"if (mask[{at}] != 0)"):
        if count != 1:
            k.fail_if(f"selected == {count}")
        if count != 0:
            with inner.emit(k.code) as (within, other):
                element = f"out[{plus(to, within)}]"
                place = plus(other, terms(("selected", strides[axis])))
                k.code.add(f"{element} = {assigned(element, f'values[{place}]')};")
        if count != 1:
            k.code.add("++selected;")
    if count not in (0, 1):
        k.fail_if(f"selected != {count}")


def _index_put(
    k: Kernel, source: TensorValue, values: TensorValue, accumulate: bool, out: TensorValue
) -> None:
    k.require(source.dtype == out.dtype == values.dtype, "the dtypes differ")
    k.require_shape(out, source.sizes)
    target = start_from(k, source, out)

    def assigned(old: str, new: str) -> str:
        return add_elements(k, out.dtype, old, new) if accumulate else new

    indices = k.optional_tensors(1)
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if len(given) == 1 and given[0][1].dtype in (BOOL, ScalarType.BYTE):
        _put_masked(k, given[0][1], given[0][0], values, out, assigned)
        return
    advanced = Advanced(k, out, indices)
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
        k.code.add(f"{old} = {assigned(old, new)};")

    advanced.emit(strides, body)


def _index_put_out(k: Kernel) -> None:
    _index_put(k, k.tensor(0), k.tensor(2), k.flag(3), k.tensor(4))


def _index_put_in_place(k: Kernel) -> None:
    _index_put(k, k.tensor(0), k.tensor(2), k.flag(3), k.tensor(0))


GENERATORS: dict[str, Generator] = {
    "aten::index.Tensor_out": _index,
    "aten::index_put.out": _index_put_out,
    "aten::index_put_": _index_put_in_place,
}
