"""Reductions over dims.

Example: `any` of int64[2, 3] along the last dimension.

    static void any_0(const i64 *restrict in, b8 *restrict out) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        bool result = false;
        {
          for (ptrdiff_t e = 0; e < 3; ++e) result = result || in[3 * i + e] != 0;
        }
        out[i] = result;
      }
    }
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import BOOL, DOUBLE, FLOAT, LONG, c_compute, compute_type, size_of
from rushlight.aot_c.generators.sums import add_up
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType


def axes_of(k: Kernel, dims: Sequence[int] | None, rank: int, empty_is_all: bool = True) -> set[int]:
    """Returns the dims of a list, counted from 0. With `empty_is_all`, an empty list means all dims."""
    if dims is None or (not dims and empty_is_all):
        return set(range(rank))
    k.require(all(-max(rank, 1) <= dim < max(rank, 1) for dim in dims), "a dim is out of range")
    found = {dim % max(rank, 1) for dim in dims}
    k.require(len(found) == len(dims), "a dim appears twice")
    return found if rank > 0 else set()


def reduced_shape(tensor: TensorValue, axes: set[int], keepdim: bool) -> list[int]:
    """Returns the shape of the result."""
    return [1 if d in axes else size for d, size in enumerate(tensor.sizes) if d not in axes or keepdim]


@dataclass
class Block:
    """A block of the elements that are reduced to one result.

    Attributes:
        count: the number of elements, as a number or a C variable.
        at: maps the position of an element to the C expression of the element in the compute type.
    """

    count: str | int
    at: Callable[[str], str]


class Reduction:
    """Loops over results and over the elements of each result, in the order of the runtime's `run_reduce`."""

    def __init__(
        self,
        k: Kernel,
        source: TensorValue,
        axes: set[int],
        keepdim: bool,
        outs: Sequence[TensorValue],
        compute: ScalarType,
        ordered: bool = False,
    ) -> None:
        self.k, self.source, self.compute = k, source, compute
        for out in outs:
            k.require_shape(out, reduced_shape(source, axes, keepdim))
        self.kept, self.reduced = Nest(1 + len(outs)), Nest(1)
        position = 0
        for d, size in enumerate(source.sizes):
            if d in axes:
                self.reduced.push(size, source.strides[d])
            else:
                self.kept.push(size, source.strides[d], *(out.strides[position] for out in outs))
            if d not in axes or keepdim:
                position += 1
        self.kept.sort_by(0).collapse()
        if not ordered:
            self.reduced.sort_by(0)
        self.reduced.collapse()
        self.name = k.read(source, "in")
        self.outs = [k.write(out, f"out{i}" if len(outs) > 1 else "out") for i, out in enumerate(outs)]
        self._outs = outs
        self._at: list[str] = []

    @property
    def is_empty(self) -> bool:
        """Whether there are no results."""
        return self.kept.numel == 0

    @contextmanager
    def results(self) -> Iterator[None]:
        """Writes the loops over the results."""
        with self.kept.emit(self.k.code) as at:
            self._at = at
            yield

    @contextmanager
    def blocks(self) -> Iterator[Block]:
        """Writes the loops over the blocks of elements of a result, which are the blocks of the runtime."""
        code, nest = self.k.code, self.reduced
        count, stride = nest.inner_size, nest.inner_stride(0)
        direct = self.source.dtype == self.compute and stride == 1
        limit = 1024 // size_of(self.compute)
        with nest.outer().emit(code, "r") as at:
            base = plus(self._at[0], at[0])
            if direct or count <= limit:
                with code.block(""):
                    yield Block(count, lambda i: self._element(base, i, stride))
                return
            with code.block(f"for (ptrdiff_t first = 0; first < {count}; first += {limit})"):
                code.add(f"const ptrdiff_t count = {count} - first < {limit} ? {count} - first : {limit};")
                start = plus(base, terms(("first", stride)))
                yield Block("count", lambda i: self._element(start, i, stride))

    def _element(self, base: str, index: str, stride: int) -> str:
        place = plus(base, terms((index, stride)))
        return self.k.load(f"{self.name}[{place}]", self.source.dtype, self.compute)

    def put(self, position: int, value: str, value_type: ScalarType) -> None:
        """Stores a result. `value` is a name or an expression in brackets."""
        out = self._outs[position]
        stored = self.k.store(value, value_type, out.dtype)
        self.k.code.add(f"{self.outs[position]}[{self._at[1 + position]}] = {stored};")


def _wide(compute: ScalarType) -> ScalarType:
    return DOUBLE if compute == FLOAT else compute


def _sum_over(
    k: Kernel,
    axes: set[int],
    keepdim: bool,
    dtype: ScalarType | None,
    out: TensorValue,
    *,
    mean: bool = False,
    skips_nan: bool = False,
) -> None:
    """Writes a sum or a mean. With `skips_nan`, NaN counts as 0."""
    source = k.tensor(0)
    compute = compute_type(dtype if dtype is not None else out.dtype)
    k.require(not (mean and compute == LONG), "the mean of integers is not supported")
    run = Reduction(k, source, axes, keepdim, [out], compute)
    if run.is_empty:
        return
    wide = c_compute(_wide(compute))
    with run.results():
        k.code.add(f"{wide} sum = 0;")
        if run.reduced.numel:
            with run.blocks() as block:
                if compute == LONG:
                    with k.code.block(f"for (ptrdiff_t e = 0; e < {block.count}; ++e)"):
                        k.code.add(f"sum = {k.call('wrap_add', 'sum', block.at('e'))};")
                else:

                    def term(i: str) -> str:
                        x = block.at(i)
                        number = widened(x, wide)
                        return f"({x} != {x} ? 0 : {number})" if skips_nan else number

                    add_up(k.code, "sum", block.count, term, wide)
        if mean:
            count = math.prod(source.sizes[d] for d in axes)
            k.code.add(f"sum = sum / {k.constant(float(count), DOUBLE)};")
        run.put(0, "sum", _wide(compute))


def widened(element: str, wide: str) -> str:
    """Casts a C expression to the type `wide`, unless it already begins with this cast."""
    return element if element.startswith(f"({wide})") else f"({wide}){element}"


def _sum_dims(k: Kernel) -> None:
    source = k.tensor(0)
    axes = axes_of(k, k.optional_ints(1), source.rank)
    _sum_over(k, axes, k.flag(2), k.optional_dtype(3), k.tensor(4))


def _sum_all(k: Kernel) -> None:
    _sum_over(k, set(range(k.tensor(0).rank)), False, k.optional_dtype(1), k.tensor(2))


def _mean_dims(k: Kernel) -> None:
    source = k.tensor(0)
    axes = axes_of(k, k.optional_ints(1), source.rank)
    _sum_over(k, axes, k.flag(2), k.optional_dtype(3), k.tensor(4), mean=True)


def _nan_sum(k: Kernel) -> None:
    source = k.tensor(0)
    axes = axes_of(k, k.optional_ints(1), source.rank)
    _sum_over(k, axes, k.flag(2), k.optional_dtype(3), k.tensor(4), skips_nan=True)


def _mean_all(k: Kernel) -> None:
    _sum_over(k, set(range(k.tensor(0).rank)), False, k.optional_dtype(1), k.tensor(2), mean=True)


def _prod_over(k: Kernel, axes: set[int], keepdim: bool, dtype: ScalarType | None, out: TensorValue) -> None:
    source = k.tensor(0)
    compute = compute_type(dtype if dtype is not None else out.dtype)
    run = Reduction(k, source, axes, keepdim, [out], compute)
    if run.is_empty:
        return
    wide = c_compute(_wide(compute))
    with run.results():
        k.code.add(f"{wide} product = 1;")
        if run.reduced.numel:
            with run.blocks() as block, k.code.block(f"for (ptrdiff_t e = 0; e < {block.count}; ++e)"):
                if compute == LONG:
                    k.code.add(f"product = {k.call('wrap_mul', 'product', block.at('e'))};")
                else:
                    k.code.add(f"product *= {widened(block.at('e'), wide)};")
        run.put(0, "product", _wide(compute))


def _prod_dim(k: Kernel) -> None:
    source = k.tensor(0)
    _prod_over(k, axes_of(k, [k.integer(1)], source.rank), k.flag(2), k.optional_dtype(3), k.tensor(4))


def _prod_all(k: Kernel) -> None:
    _prod_over(k, set(range(k.tensor(0).rank)), False, k.optional_dtype(1), k.tensor(2))


def _extreme_value(k: Kernel, axes: set[int], keepdim: bool, out: TensorValue, sign: str) -> None:
    source = k.tensor(0)
    run = Reduction(k, source, axes, keepdim, [out], compute_type(source.dtype))
    if run.is_empty:
        return
    k.require(run.reduced.numel > 0, "the maximum or minimum of no elements is not defined")
    code, is_float = k.code, run.compute != LONG
    is_one_row = run.reduced.outer().numel == 1
    with run.results():
        code.add(f"{c_compute(run.compute)} best = 0;")
        if not is_one_row:
            code.add("bool any = false;")
        if is_float:
            code.add("bool nan = false;")
        with run.blocks() as block:
            _add_extreme_lanes(run, block, is_one_row, sign)
            if is_float:
                k.headers.add("math.h")
                nan = "NAN" if run.compute == FLOAT else "(double)NAN"
                code.add(f"best = nan ? {nan} : lane0;")
            else:
                code.add("best = lane0;")
            if not is_one_row:
                code.add("any = true;")
        run.put(0, "best", run.compute)


def _add_extreme_lanes(run: Reduction, block: Block, is_one_row: bool, sign: str) -> None:
    """Writes the extreme of the blocks so far to `lane0`, in four independent lanes as the runtime does.

    Args:
        run: the loops.
        block: the elements to add.
        is_one_row: whether all elements of a result are in one row, which may consist of several blocks.
        sign: the operator that is true if the left element replaces the right one, `>` or `<`.
    """
    code, c, is_float = run.k.code, c_compute(run.compute), run.compute != LONG
    start = block.at("0")
    if not is_one_row:
        start = "any ? best : " + start
    elif not isinstance(block.count, int):
        start = "first > 0 ? best : " + start
    code.add(f"const {c} start = {start};")
    code.add(f"{c} lane0 = start, lane1 = start, lane2 = start, lane3 = start;")
    code.add("ptrdiff_t e = 0;")
    with code.block(f"for (; e + 4 <= {block.count}; e += 4)"):
        for lane in range(4):
            code.add(f"const {c} x{lane} = {block.at(f'(e + {lane})' if lane else 'e')};")
        if is_float:
            code.add(f"nan = nan || {' || '.join(f'x{lane} != x{lane}' for lane in range(4))};")
        for lane in range(4):
            code.add(f"lane{lane} = x{lane} {sign} lane{lane} ? x{lane} : lane{lane};")
    # GCC 12 warns of undefined behavior in a loop without iterations.
    if not isinstance(block.count, int) or block.count % 4:
        with code.block(f"for (; e < {block.count}; ++e)"):
            code.add(f"const {c} x = {block.at('e')};")
            if is_float:
                code.add("nan = nan || x != x;")
            code.add(f"lane0 = x {sign} lane0 ? x : lane0;")
    for lane in range(1, 4):
        code.add(f"if (lane{lane} {sign} lane0) lane0 = lane{lane};")


def _amax(sign: str) -> Generator:
    def generate(k: Kernel) -> None:
        source = k.tensor(0)
        _extreme_value(k, axes_of(k, k.ints(1), source.rank), k.flag(2), k.tensor(3), sign)

    return generate


def _max_all(sign: str) -> Generator:
    return lambda k: _extreme_value(k, set(range(k.tensor(0).rank)), False, k.tensor(1), sign)


def _first_extreme(
    k: Kernel,
    axes: set[int],
    keepdim: bool,
    values: TensorValue | None,
    indices: TensorValue | None,
    sign: str,
) -> None:
    """Writes the first maximum or minimum, and its position in row-major order."""
    source = k.tensor(0)
    compute = compute_type(source.dtype)
    outs = [out for out in (values, indices) if out is not None]
    run = Reduction(k, source, axes, keepdim, outs, compute, ordered=True)
    if run.is_empty:
        return
    k.require(run.reduced.numel > 0, "the maximum or minimum of no elements is not defined")
    c, code = c_compute(compute), k.code
    with run.results():
        code.add(f"{c} best = 0;")
        code.add("int64_t index = 0, seen = 0;")
        with run.blocks() as block, code.block(f"for (ptrdiff_t e = 0; e < {block.count}; ++e, ++seen)"):
            code.add(f"const {c} x = {block.at('e')};")
            better = f"x {sign} best" if compute == LONG else f"x {sign} best || (x != x && best == best)"
            with code.block(f"if (seen == 0 || {better})"):
                code.add("best = x;")
                code.add("index = seen;")
        position = 0
        if values is not None:
            run.put(position, "best", compute)
            position += 1
        if indices is not None:
            run.put(position, "index", LONG)


def _arg_extreme(sign: str) -> Generator:
    def generate(k: Kernel) -> None:
        source, dim = k.tensor(0), k.optional_int(1)
        axes = axes_of(k, None if dim is None else [dim], source.rank)
        _first_extreme(k, axes, k.flag(2), None, k.tensor(3), sign)

    return generate


def _max_dim(sign: str) -> Generator:
    def generate(k: Kernel) -> None:
        source = k.tensor(0)
        axes = axes_of(k, [k.integer(1)], source.rank)
        _first_extreme(k, axes, k.flag(2), k.tensor(3), k.tensor(4), sign)

    return generate


def _aminmax(k: Kernel) -> None:
    source, dim = k.tensor(0), k.optional_int(1)
    axes = axes_of(k, None if dim is None else [dim], source.rank)
    compute = compute_type(source.dtype)
    run = Reduction(k, source, axes, k.flag(2), [k.tensor(3), k.tensor(4)], compute)
    if run.is_empty:
        return
    k.require(run.reduced.numel > 0, "the maximum and minimum of no elements are not defined")
    c, code = c_compute(compute), k.code
    with run.results():
        code.add("bool any = false;")
        code.add(f"{c} least = 0, most = 0;")
        with run.blocks() as block, code.block(f"for (ptrdiff_t e = 0; e < {block.count}; ++e)"):
            code.add(f"const {c} x = {block.at('e')};")
            for name, sign in (("least", "<"), ("most", ">")):
                nan = "" if compute == LONG else f" || (x != x && {name} == {name})"
                code.add(f"if (!any || x {sign} {name}{nan}) {name} = x;")
            code.add("any = true;")
        run.put(0, "least", compute)
        run.put(1, "most", compute)


def _truth(k: Kernel, axes: set[int], keepdim: bool, out: TensorValue, is_all: bool) -> None:
    source = k.tensor(0)
    run = Reduction(k, source, axes, keepdim, [out], compute_type(source.dtype))
    if run.is_empty:
        return
    with run.results():
        k.code.add(f"bool result = {'true' if is_all else 'false'};")
        if run.reduced.numel:
            with run.blocks() as block:
                operator = "&&" if is_all else "||"
                k.code.add(
                    f"for (ptrdiff_t e = 0; e < {block.count}; ++e) "
                    f"result = result {operator} {block.at('e')} != 0;"
                )
        run.put(0, "result", BOOL)


def _truth_dim(is_all: bool) -> Generator:
    def generate(k: Kernel) -> None:
        _truth(k, axes_of(k, [k.integer(1)], k.tensor(0).rank), k.flag(2), k.tensor(3), is_all)

    return generate


def _truth_dims(is_all: bool) -> Generator:
    def generate(k: Kernel) -> None:
        axes = axes_of(k, k.optional_ints(1), k.tensor(0).rank, empty_is_all=False)
        _truth(k, axes, k.flag(2), k.tensor(3), is_all)

    return generate


def _truth_all(is_all: bool) -> Generator:
    return lambda k: _truth(k, set(range(k.tensor(0).rank)), False, k.tensor(1), is_all)


def _count(by_list: bool) -> Generator:
    def generate(k: Kernel) -> None:
        source = k.tensor(0)
        dim = None if by_list else k.optional_int(1)
        dims = k.ints(1) if by_list else None if dim is None else [dim]
        run = Reduction(
            k, source, axes_of(k, dims, source.rank), False, [k.tensor(2)], compute_type(source.dtype)
        )
        if run.is_empty:
            return
        with run.results():
            k.code.add("int64_t count_of = 0;")
            if run.reduced.numel:
                with run.blocks() as block:
                    k.code.add(
                        f"for (ptrdiff_t e = 0; e < {block.count}; ++e) count_of += {block.at('e')} != 0;"
                    )
            run.put(0, "count_of", LONG)

    return generate


GENERATORS: dict[str, Generator] = {
    "aten::sum.IntList_out": _sum_dims,
    "aten::sum.out": _sum_all,
    "aten::nansum.out": _nan_sum,
    "aten::mean.out": _mean_dims,
    "aten::mean.dtype_out": _mean_all,
    "aten::prod.int_out": _prod_dim,
    "aten::prod.out": _prod_all,
    "aten::amax.out": _amax(">"),
    "aten::amin.out": _amax("<"),
    "aten::max.unary_out": _max_all(">"),
    "aten::min.unary_out": _max_all("<"),
    "aten::max.dim_max": _max_dim(">"),
    "aten::min.dim_min": _max_dim("<"),
    "aten::argmax.out": _arg_extreme(">"),
    "aten::argmin.out": _arg_extreme("<"),
    "aten::aminmax.out": _aminmax,
    "aten::all.out": _truth_dim(True),
    "aten::all.dims_out": _truth_dims(True),
    "aten::all.all_out": _truth_all(True),
    "aten::any.out": _truth_dim(False),
    "aten::any.dims_out": _truth_dims(False),
    "aten::any.all_out": _truth_all(False),
    "aten::count_nonzero.out": _count(False),
    "aten::count_nonzero.dim_IntList_out": _count(True),
}
