"""Operators that sort rows, or select elements by their place in sorted order.

The helpers of `sort_helpers` sort the positions of the elements in scratch memory.

Example: `argsort` of float32[2, 3] along the last dimension.

    static void argsort_0(const f32 *restrict in, i64 *restrict out, i32 *order) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        const row_f32 row = {in + 3 * i, 1, false, true};
        for (int32_t e = 0; e < 3; ++e) order[e] = e;
        select_heap_f32(&row, order, 3, 3);
        sort_heap_f32(&row, order, 3);
        for (ptrdiff_t e = 0; e < 3; ++e) {
          out[3 * i + e] = order[e];
        }
      }
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import ELEMENTS, FLOATING, LONG, compute_type
from rushlight.aot_c.generators.reductions import reduced_shape
from rushlight.aot_c.generators.scans import rows_of
from rushlight.aot_c.generators.shapes import normalized
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType

_MOST = 2**31 - 1
"""The most elements of a row. Positions are int32."""


def _require_results(
    k: Kernel, source: TensorValue, shape: Sequence[int], values: TensorValue | None, indices: TensorValue
) -> None:
    k.require(indices.dtype == LONG, "the dtype of the indices is not int64")
    k.require(values is None or values.dtype == source.dtype, "the dtypes of the input and the values differ")
    for result in (indices,) if values is None else (values, indices):
        k.require_shape(result, shape)


def _order_row(k: Kernel, source: TensorValue, at: str, stride: int, n: int, **flags: bool) -> None:
    """Declares the variable `row`, and fills the scratch memory `order` with the positions 0, ..., n - 1."""
    suffix = ELEMENTS[source.dtype]
    k.needs.add(f"row_{suffix}")
    chosen = ["true" if flags.get(name, False) else "false" for name in ("descending", "stable")]
    k.code.add(f"const row_{suffix} row = {{{plus('in', at)}, {stride}, {', '.join(chosen)}}};")
    k.code.add(f"for (int32_t e = 0; e < {n}; ++e) order[e] = e;")


def _call(k: Kernel, helper: str, source: TensorValue, *arguments: int) -> None:
    """Writes a call of a helper that changes `order`."""
    texts = ("&row", "order", *(str(argument) for argument in arguments))
    k.code.add(k.call(f"{helper}_{ELEMENTS[source.dtype]}", *texts) + ";")


def _sort_stably(k: Kernel, source: TensorValue, n: int) -> None:
    """Sorts the row by the element and, if elements are equal, by the position."""
    _call(k, "select_heap", source, n, n)
    _call(k, "sort_heap", source, n)


class _Rows:
    """The rows of a tensor and of results with as many dims, along a dim."""

    def __init__(
        self, k: Kernel, source: TensorValue, dim: int, values: TensorValue | None, indices: TensorValue
    ) -> None:
        self.k = k
        results = [indices] if values is None else [values, indices]
        self.nest, _, strides = rows_of([source, *results], dim)
        self.stride, self.steps = strides[0], strides[1:]
        self.has_values = values is not None
        k.read(source, "in")
        if values is not None:
            k.write(values, "values")
        k.write(indices, "indices" if self.has_values else "out")

    def copy(self, at: Sequence[str], count: int) -> None:
        """Writes the first `count` elements in the order of `order`, and their positions."""
        code = self.k.code
        with code.block(f"for (ptrdiff_t e = 0; e < {count}; ++e)"):
            to = [plus(place, terms(("e", step))) for place, step in zip(at[1:], self.steps, strict=True)]
            if self.has_values:
                code.add(f"values[{to[0]}] = in[{plus(at[0], terms(('order[e]', self.stride)))}];")
            code.add(f"{'indices' if self.has_values else 'out'}[{to[-1]}] = order[e];")


def _sort(
    k: Kernel, dim: int, descending: bool, stable: bool, values: TensorValue | None, indices: TensorValue
) -> None:
    source = k.tensor(0)
    axis = normalized(k, dim, source.rank)
    _require_results(k, source, source.sizes, values, indices)
    compute_type(source.dtype)
    if source.numel == 0:
        return
    n = source.sizes[axis] if source.rank else 1
    k.require(n <= _MOST, "the rows have too many elements")
    rows = _Rows(k, source, axis, values, indices)
    k.scratch("order", ScalarType.INT, n)
    with rows.nest.emit(k.code) as at:
        _order_row(k, source, at[0], rows.stride, n, descending=descending, stable=stable)
        if stable:
            _sort_stably(k, source, n)
        else:
            _call(k, "sort", source, n)
        rows.copy(at, n)


def _sort_values(k: Kernel) -> None:
    _sort(k, k.integer(1), k.flag(2), False, k.tensor(3), k.tensor(4))


def _sort_values_stable(k: Kernel) -> None:
    stable = k.optional_number(1) is not None and k.flag(1)
    _sort(k, k.integer(2), k.flag(3), stable, k.tensor(4), k.tensor(5))


def _argsort(k: Kernel) -> None:
    _sort(k, k.integer(2), k.flag(3), True, None, k.tensor(4))


def _topk(k: Kernel) -> None:
    source, count, values, indices = k.tensor(0), k.integer(1), k.tensor(5), k.tensor(6)
    largest, in_order = k.flag(3), k.flag(4)
    axis = normalized(k, k.integer(2), source.rank)
    n = source.sizes[axis] if source.rank else 1
    k.require(0 <= count <= n <= _MOST, f"k is {count}, but rows have {n} elements")
    count = count if source.rank else 1
    shape = [count if d == axis else size for d, size in enumerate(source.sizes)]
    _require_results(k, source, shape, values, indices)
    compute_type(source.dtype)
    if values.numel == 0:
        return
    rows = _Rows(k, source, axis, values, indices)
    k.scratch("order", ScalarType.INT, n)
    with rows.nest.emit(k.code) as at:
        _order_row(k, source, at[0], rows.stride, n, descending=largest)
        if count * 64 <= n:  # the limit of the portable kernel
            _call(k, "select_heap", source, count, n)
            _call(k, "sort_heap", source, count)
        else:
            _call(k, "select", source, count - 1, n)
            if in_order:
                _call(k, "sort", source, count - 1)
        rows.copy(at, count)


class _Selection:
    """Loops over rows of which one element is selected.

    The results have one element for each row. `values` and `indices` are written.
    """

    def __init__(self, k: Kernel, dim: int, keepdim: bool, values: TensorValue, indices: TensorValue) -> None:
        source = k.tensor(0)
        axis = normalized(k, dim, source.rank)
        reduced = {axis} if source.rank else set()
        _require_results(k, source, reduced_shape(source, reduced, keepdim), values, indices)
        compute_type(source.dtype)
        self.k, self.source = k, source
        self.n = source.sizes[axis] if source.rank else 1
        self.stride = source.strides[axis] if source.rank else 1
        self.nest = Nest(3)
        kept = 0
        for d, size in enumerate(source.sizes):
            if d != axis:
                self.nest.push(size, source.strides[d], values.strides[kept], indices.strides[kept])
            kept += d != axis or keepdim
        self.nest.sort_by(0).collapse()
        k.require(self.n > 0, "a selection from no elements is not defined")
        k.require(self.n <= _MOST, "the rows have too many elements")
        if self.nest.numel:
            k.read(source, "in")
            k.write(values, "values")
            k.write(indices, "indices")
            k.scratch("order", ScalarType.INT, self.n)

    @property
    def is_empty(self) -> bool:
        """Whether there are no results."""
        return self.nest.numel == 0

    def element(self, at: str, position: str) -> str:
        """Writes an element of a row."""
        return f"in[{plus(at, terms((position, self.stride)))}]"

    def put(self, at: Sequence[str], position: str) -> None:
        """Writes the element at a position of the row, and the position."""
        self.k.code.add(f"values[{at[1]}] = {self.element(at[0], position)};")
        self.k.code.add(f"indices[{at[2]}] = {position};")


def _kth_value(k: Kernel) -> None:
    place = k.integer(1)
    run = _Selection(k, k.integer(2), k.flag(3), k.tensor(4), k.tensor(5))
    k.require(1 <= place <= run.n, f"k is {place}, but rows have {run.n} elements")
    if run.is_empty:
        return
    with run.nest.emit(k.code) as at:
        _order_row(k, run.source, at[0], run.stride, run.n, stable=True)
        _call(k, "select_heap", run.source, place, run.n)
        run.put(at, "order[0]")


def _find_median(k: Kernel, source: TensorValue, at: str, stride: int, n: int) -> None:
    """Sets order[0] to the position of the lower median, or of the first NaN."""
    _order_row(k, source, at, stride, n, stable=True)
    if source.dtype not in FLOATING:
        _call(k, "select_heap", source, (n + 1) // 2, n)
        return
    compute = compute_type(source.dtype)
    k.code.add("int32_t nan = 0;")
    element = k.load(f"in[{plus(at, terms(('nan', stride)))}]", source.dtype, compute)
    k.code.add(f"while (nan < {n} && {element} == {element}) ++nan;")
    k.code.add("order[0] = nan;")
    with k.code.block(f"if (nan == {n})"):
        k.code.add("order[0] = 0;")
        _call(k, "select_heap", source, (n + 1) // 2, n)


def _median_dim(k: Kernel) -> None:
    run = _Selection(k, k.integer(1), k.flag(2), k.tensor(3), k.tensor(4))
    if run.is_empty:
        return
    with run.nest.emit(k.code) as at:
        _find_median(k, run.source, at[0], run.stride, run.n)
        run.put(at, "order[0]")


def _median(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(1)
    k.require_shape(out, [])
    k.require(source.dtype == out.dtype, "the dtypes differ")
    compute = compute_type(source.dtype)
    target = k.write(out)
    if source.numel == 0:
        least = {LONG: "INT64_MIN", ScalarType.INT: "INT32_MIN"}.get(source.dtype, "0")
        if source.dtype in FLOATING:
            least = k.store(k.constant(float("nan"), compute), compute, source.dtype)
        k.code.add(f"{target}[0] = {least};")
        return
    k.require(source.numel <= _MOST, "the input has too many elements")
    k.read(source, "in")
    k.scratch("order", ScalarType.INT, source.numel)
    _find_median(k, source, "0", 1, source.numel)
    k.code.add(f"{target}[0] = in[order[0]];")


def _mode(k: Kernel) -> None:
    run = _Selection(k, k.integer(1), k.flag(2), k.tensor(3), k.tensor(4))
    if run.is_empty:
        return
    source, code = run.source, k.code
    with run.nest.emit(code) as at:
        _order_row(k, source, at[0], run.stride, run.n, stable=True)
        _sort_stably(k, source, run.n)
        first, other = (
            k.load(run.element(at[0], f"order[{name}]"), source.dtype, compute_type(source.dtype))
            for name in ("first", "end")
        )
        code.add("ptrdiff_t best = 0, most = 0;")
        with code.block(f"for (ptrdiff_t first = 0, end; first < {run.n}; first = end)"):
            code.add("end = first + 1;")
            code.add(f"while (end < {run.n} && {first} == {other}) ++end;")
            with code.block("if (end - first > most)"):
                code.add("most = end - first;")
                code.add("best = end - 1;")
        run.put(at, "order[best]")


GENERATORS: dict[str, Generator] = {
    "aten::sort.values": _sort_values,
    "aten::sort.values_stable": _sort_values_stable,
    "aten::argsort.stable_out": _argsort,
    "aten::topk.values": _topk,
    "aten::kthvalue.values": _kth_value,
    "aten::median.dim_values": _median_dim,
    "aten::median.out": _median,
    "aten::mode.values": _mode,
}
