"""Reductions, scans, softmax and norms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import BOOL, DOUBLE, FLOAT, LONG, c_compute, compute_type, float_result, size_of
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.generators.sums import add_up
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType


def axes_of(k: Kernel, dims: Sequence[int] | None, rank: int, empty_is_all: bool = True) -> set[int]:
    """The dims that a list names; all if there is none."""
    if dims is None or (not dims and empty_is_all):
        return set(range(rank))
    k.require(all(-max(rank, 1) <= dim < max(rank, 1) for dim in dims), "a dim is out of range")
    found = {dim % max(rank, 1) for dim in dims}
    k.require(len(found) == len(dims), "a dim appears twice")
    return found if rank > 0 else set()


def reduced_shape(tensor: TensorValue, axes: set[int], keepdim: bool) -> list[int]:
    """The shape of the result."""
    return [1 if d in axes else size for d, size in enumerate(tensor.sizes) if d not in axes or keepdim]


@dataclass
class Block:
    """Elements of one result in the body of a reduction.

    Attributes:
        count: how many there are.
        at: the expression of an element, converted to the compute type, from that of its position.
    """

    count: str | int
    at: Callable[[str], str]


class Reduction:
    """Loops over the results and over the elements of each, as `run_reduce` of the runtime has them."""

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
        """Visits the results."""
        with self.kept.emit(self.k.code) as at:
            self._at = at
            yield

    @contextmanager
    def blocks(self) -> Iterator[Block]:
        """Visits the blocks of elements of a result, in the places where the runtime divides them."""
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
        """Stores a result. `value` is a name or in brackets."""
        out = self._outs[position]
        stored = self.k.store(value, value_type, out.dtype)
        self.k.code.add(f"{self.outs[position]}[{self._at[1 + position]}] = {stored};")


def _wide(compute: ScalarType) -> ScalarType:
    return DOUBLE if compute == FLOAT else compute


# ---- Sums ----


def _sum_over(
    k: Kernel,
    axes: set[int],
    keepdim: bool,
    dtype: ScalarType | None,
    out: TensorValue,
    *,
    mean: bool = False,
) -> None:
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
                    add_up(k.code, "sum", block.count, lambda i: _widened(block.at(i), wide), wide)
        if mean:
            count = math.prod(source.sizes[d] for d in axes)
            k.code.add(f"sum = sum / {k.constant(float(count), DOUBLE)};")
        run.put(0, "sum", _wide(compute))


def _widened(element: str, wide: str) -> str:
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
                    k.code.add(f"product *= {_widened(block.at('e'), wide)};")
        run.put(0, "product", _wide(compute))


def _prod_dim(k: Kernel) -> None:
    source = k.tensor(0)
    _prod_over(k, axes_of(k, [k.integer(1)], source.rank), k.flag(2), k.optional_dtype(3), k.tensor(4))


def _prod_all(k: Kernel) -> None:
    _prod_over(k, set(range(k.tensor(0).rank)), False, k.optional_dtype(1), k.tensor(2))


# ---- Extremes ----


def _extreme_value(k: Kernel, axes: set[int], keepdim: bool, out: TensorValue, sign: str) -> None:
    source = k.tensor(0)
    compute = compute_type(source.dtype)
    run = Reduction(k, source, axes, keepdim, [out], compute)
    if run.is_empty:
        return
    k.require(run.reduced.numel > 0, "the extreme of no elements is not defined")
    c, code = c_compute(compute), k.code
    single = run.reduced.outer().numel == 1
    with run.results():
        code.add(f"{c} best = 0;")
        if not single:
            code.add("bool any = false;")
        if compute != LONG:
            code.add("bool nan = false;")
        with run.blocks() as block:
            starts = single and isinstance(block.count, int)
            if not starts and single:
                # One row in several blocks.
                start = "first > 0 ? best : " + block.at("0")
            elif starts:
                start = block.at("0")
            else:
                start = "any ? best : " + block.at("0")
            code.add(f"const {c} start = {start};")
            code.add(f"{c} lane0 = start, lane1 = start, lane2 = start, lane3 = start;")
            code.add("ptrdiff_t e = 0;")
            with code.block(f"for (; e + 4 <= {block.count}; e += 4)"):
                for lane in range(4):
                    self_test = f"const {c} x{lane} = {block.at(f'(e + {lane})' if lane else 'e')};"
                    code.add(self_test)
                if compute != LONG:
                    tests = " || ".join(f"x{lane} != x{lane}" for lane in range(4))
                    code.add(f"nan = nan || {tests};")
                for lane in range(4):
                    code.add(f"lane{lane} = x{lane} {sign} lane{lane} ? x{lane} : lane{lane};")
            with code.block(f"for (; e < {block.count}; ++e)"):
                code.add(f"const {c} x = {block.at('e')};")
                if compute != LONG:
                    code.add("nan = nan || x != x;")
                code.add(f"lane0 = x {sign} lane0 ? x : lane0;")
            for lane in range(1, 4):
                code.add(f"if (lane{lane} {sign} lane0) lane0 = lane{lane};")
            if compute != LONG:
                k.headers.add("math.h")
                code.add(
                    "best = nan ? NAN : lane0;" if compute == FLOAT else "best = nan ? (double)NAN : lane0;"
                )
            else:
                code.add("best = lane0;")
            if not single:
                code.add("any = true;")
        run.put(0, "best", compute)


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
    """The first best element and its position in row-major order."""
    source = k.tensor(0)
    compute = compute_type(source.dtype)
    outs = [out for out in (values, indices) if out is not None]
    run = Reduction(k, source, axes, keepdim, outs, compute, ordered=True)
    if run.is_empty:
        return
    k.require(run.reduced.numel > 0, "the extreme of no elements is not defined")
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
    k.require(run.reduced.numel > 0, "the extremes of no elements are not defined")
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


# ---- Truth and counts ----


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


# ---- Norms of vectors, logsumexp, variance ----


def _norm(
    k: Kernel, axes: set[int], keepdim: bool, p: float, dtype: ScalarType | None, out: TensorValue
) -> None:
    source = k.tensor(0)
    compute = compute_type(dtype if dtype is not None else source.dtype)
    k.require(compute != LONG, "the norm of integers is not supported")
    run = Reduction(k, source, axes, keepdim, [out], compute)
    if run.is_empty:
        return
    k.require(p >= 0 or run.reduced.numel > 0, "a norm of negative order of no elements is not defined")
    k.headers.add("math.h")
    code = k.code

    def size(block: Block, i: str) -> str:
        return f"fabs({_widened(block.at(i), 'double')})"

    with run.results():
        code.add(f"double state = {'(double)INFINITY' if math.isinf(p) and p < 0 else '0'};")
        if run.reduced.numel:
            with run.blocks() as block:
                if math.isinf(p):
                    with code.block(f"for (ptrdiff_t e = 0; e < {block.count}; ++e)"):
                        code.add(f"const double x = {size(block, 'e')};")
                        code.add(f"if (x != x || x {'>' if p > 0 else '<'} state) state = x;")
                elif p == 2:
                    add_up(
                        code, "state", block.count, lambda i: f"{size(block, i)} * {size(block, i)}", "double"
                    )
                elif p == 1:
                    add_up(code, "state", block.count, lambda i: size(block, i), "double")
                elif p == 0:
                    add_up(
                        code, "state", block.count, lambda i: f"({size(block, i)} != 0 ? 1.0 : 0.0)", "double"
                    )
                else:
                    power = k.constant(p, DOUBLE)
                    add_up(code, "state", block.count, lambda i: f"pow({size(block, i)}, {power})", "double")
        if p == 2:
            code.add("state = sqrt(state);")
        elif p not in (0, 1) and not math.isinf(p):
            code.add(f"state = pow(state, {k.constant(1 / p, DOUBLE)});")
        run.put(0, "state", DOUBLE)


def _vector_norm(k: Kernel) -> None:
    source = k.tensor(0)
    axes = axes_of(k, k.optional_ints(2), source.rank)
    _norm(k, axes, k.flag(3), k.real(1), k.optional_dtype(4), k.tensor(5))


def _norm_dims(k: Kernel) -> None:
    source, p = k.tensor(0), k.optional_float(1)
    _norm(k, axes_of(k, k.ints(2), source.rank), k.flag(3), 2.0 if p is None else p, None, k.tensor(4))


def _norm_all(k: Kernel) -> None:
    _norm(k, set(range(k.tensor(0).rank)), False, k.real(1), None, k.tensor(2))


def _logsumexp(k: Kernel) -> None:
    source = k.tensor(0)
    compute = compute_type(float_result(source.dtype))
    run = Reduction(k, source, axes_of(k, k.ints(1), source.rank), k.flag(2), [k.tensor(3)], compute)
    if run.is_empty:
        return
    k.headers.add("math.h")
    code = k.code
    with run.results():
        code.add("double most = -(double)INFINITY, sum = 0;")
        if run.reduced.numel:
            with run.blocks() as block:
                code.add("const double before = most;")
                with code.block(f"for (ptrdiff_t e = 0; e < {block.count}; ++e)"):
                    code.add(f"const double x = {_widened(block.at('e'), 'double')};")
                    code.add("if (x > most || (x != x && most == most)) most = x;")
                with code.block("if (isfinite(most))"):
                    code.add("sum *= exp(before - most);")
                    add_up(
                        code,
                        "sum",
                        block.count,
                        lambda i: f"exp({_widened(block.at(i), 'double')} - most)",
                        "double",
                    )
        code.add("if (isfinite(most)) most = most + log(sum);")
        run.put(0, "most", DOUBLE)


def add_moments(k: Kernel, count: str | int, at: Callable[[str], str]) -> None:
    """Adds a block to the variables `total`, `mean` and `squares`.

    Args:
        k: the kernel.
        count: the number of elements.
        at: an element as double.
    """
    code = k.code
    n = k.constant(float(count), DOUBLE) if isinstance(count, int) else f"(double){count}"
    with code.block(""):
        add_up(code, "const double part_sum", count, at, "double", "a")
        code.add(f"const double part_mean = part_sum / {n};")

        def squared(i: str) -> str:
            return f"({at(i)} - part_mean) * ({at(i)} - part_mean)"

        add_up(code, "const double part_squares", count, squared, "double", "b")
        code.add(f"const double both = total + {n};")
        code.add("const double shift = part_mean - mean;")
        code.add(f"squares += part_squares + shift * shift * (total * {n} / both);")
        code.add(f"mean += shift * ({n} / both);")
        code.add("total = both;")


def _deviation(
    k: Kernel,
    axes: set[int],
    keepdim: bool,
    correction: float,
    out: TensorValue,
    mean: TensorValue | None,
    root: bool,
) -> None:
    source = k.tensor(0)
    compute = compute_type(source.dtype)
    k.require(compute != LONG, "the variance of integers is not supported")
    outs = [out] if mean is None else [out, mean]
    run = Reduction(k, source, axes, keepdim, outs, compute)
    if run.is_empty:
        return
    k.headers.add("math.h")
    code = k.code
    with run.results():
        code.add("double total = 0, mean = 0, squares = 0;")
        if not run.reduced.numel and mean is None:
            code.add("(void)mean;")
        if run.reduced.numel:
            with run.blocks() as block:
                add_moments(k, block.count, lambda i: _widened(block.at(i), "double"))
        code.add(f"const double divisor = total - {k.constant(correction, DOUBLE)};")
        code.add("double result = squares / (divisor > 0 ? divisor : 0.0);")
        if root:
            code.add("result = sqrt(result);")
        run.put(0, "result", DOUBLE)
        if mean is not None:
            code.add("if (total <= 0) mean = (double)NAN;")
            run.put(1, "mean", DOUBLE)


def _correction(k: Kernel, position: int) -> float:
    number = k.optional_float(position)
    return 1.0 if number is None else number


def _deviation_of(root: bool, form: str) -> Generator:
    def generate(k: Kernel) -> None:
        source = k.tensor(0)
        axes = axes_of(k, k.optional_ints(1), source.rank)
        if form == "unbiased":
            _deviation(k, axes, k.flag(3), 1.0 if k.flag(2) else 0.0, k.tensor(4), None, root)
        elif form == "correction":
            _deviation(k, axes, k.flag(3), _correction(k, 2), k.tensor(4), None, root)
        else:
            _deviation(k, axes, k.flag(3), _correction(k, 2), k.tensor(4), k.tensor(5), root)

    return generate


# ---- Scans ----


def _scan(is_sum: bool) -> Generator:
    def generate(k: Kernel) -> None:
        source, out = k.tensor(0), k.tensor(3)
        dtype = k.optional_dtype(2)
        compute = compute_type(dtype if dtype is not None else out.dtype)
        k.require_shape(out, source.sizes)
        rows, length, (step_in, step_out) = rows_of([source, out], k.integer(1))
        if rows.numel * length == 0:
            return
        name, target = k.read(source, "in"), k.write(out)
        wide = c_compute(_wide(compute))
        k.in_place = True
        with rows.emit(k.code) as (at, to):
            k.code.add(f"{wide} state = {0 if is_sum else 1};")
            with k.code.block(f"for (ptrdiff_t e = 0; e < {length}; ++e)"):
                place = plus(at, terms(("e", step_in)))
                x = k.load(f"{name}[{place}]", source.dtype, compute)
                if compute == LONG:
                    k.code.add(f"state = {k.call('wrap_add' if is_sum else 'wrap_mul', 'state', x)};")
                else:
                    k.code.add(f"state = state {'+' if is_sum else '*'} {_widened(x, wide)};")
                k.code.add(f"const {c_compute(compute)} r = ({c_compute(compute)})state;")
                place = plus(to, terms(("e", step_out)))
                k.code.add(f"{target}[{place}] = {k.store('r', compute, out.dtype)};")

    return generate


def rows_of(tensors: Sequence[TensorValue], dim: int) -> tuple[Nest, int, list[int]]:
    """Loops over the rows of tensors along a dim, the length of a row, and the strides along it."""
    first = tensors[0]
    axis = dim % max(first.rank, 1)
    nest = Nest(len(tensors))
    for d, size in enumerate(first.sizes):
        if d != axis:
            nest.push(size, *(tensor.strides[d] for tensor in tensors))
    nest.sort_by(0).collapse()
    length = first.sizes[axis] if first.rank else 1
    return nest, length, [tensor.strides[axis] if tensor.rank else 1 for tensor in tensors]


# ---- Softmax ----


def _softmax(logarithm: bool) -> Generator:
    def generate(k: Kernel) -> None:
        source, out = k.tensor(0), k.tensor(3)
        compute = compute_type(source.dtype)
        k.require(compute != LONG, "the softmax of integers is not supported")
        k.require_shape(out, source.sizes)
        rows, length, (step_in, step_out) = rows_of([source, out], k.integer(1))
        if rows.numel * length == 0:
            return
        name, target = k.read(source, "in"), k.write(out)
        k.in_place = True
        c, code = c_compute(compute), k.code
        k.headers.add("math.h")
        limit = 1024

        def at(base: str, index: str) -> str:
            return k.load(f"{name}[{plus(base, terms((index, step_in)))}]", source.dtype, compute)

        with rows.emit(code) as (row, to):

            def power(index: str) -> str:
                return k.math("exp", compute, f"{at(row, index)} - most")

            # A result of the compute type holds the powers between the two passes.
            holds = not logarithm and out.dtype == compute

            def term(index: str) -> str:
                place = f"{target}[{plus(to, terms((index, step_out)))}]"
                return f"(double)({place} = {power(index)})" if holds else f"(double){power(index)}"

            code.add(f"{c} most = {'-INFINITY' if compute == FLOAT else '-(double)INFINITY'};")
            code.add("double sum = 0;")
            with code.block(f"for (ptrdiff_t e = 0; e < {length}; ++e)"):
                code.add(f"const {c} x = {at(row, 'e')};")
                code.add("most = x > most ? x : most;")
            if length <= limit:
                with code.block(""):
                    add_up(code, "sum", length, term, "double")
            else:
                with code.block(f"for (ptrdiff_t first = 0; first < {length}; first += {limit})"):
                    code.add(
                        f"const ptrdiff_t count = {length} - first < {limit} ? {length} - first : {limit};"
                    )
                    add_up(code, "sum", "count", lambda i: term(f"first + {i}"), "double")
            if logarithm:
                code.add(f"const {c} shift = ({c})log(sum);")
            else:
                code.add(f"const {c} scale = ({c})(1 / sum);")
            with code.block(f"for (ptrdiff_t e = 0; e < {length}; ++e)"):
                if logarithm:
                    value = f"{at(row, 'e')} - most - shift"
                elif holds:
                    value = f"{target}[{plus(to, terms(('e', step_out)))}] * scale"
                else:
                    value = f"{power('e')} * scale"
                code.add(f"const {c} r = {value};")
                code.add(
                    f"{target}[{plus(to, terms(('e', step_out)))}] = {k.store('r', compute, out.dtype)};"
                )

    return generate


# ---- Norms ----


class Normalization:
    """out = (in - mean) * rstd * weight + bias over groups of elements."""

    def __init__(
        self,
        k: Kernel,
        source: TensorValue,
        out: TensorValue,
        weight: TensorValue | None,
        bias: TensorValue | None,
    ) -> None:
        self.k, self.source, self.out, self.weight, self.bias = k, source, out, weight, bias
        self.groups, self.members = Nest(6), Nest(4)
        self.compute = compute_type(source.dtype)
        k.require(self.compute != LONG, "the norm of integers is not supported")
        k.require_shape(out, source.sizes)

    def moments(self, base: str) -> None:
        """Computes `mean` and `variance` of a group."""
        k, code, nest = self.k, self.k.code, self.members
        count, stride, limit = nest.inner_size, nest.inner_stride(0), 128
        code.add("double total = 0, mean = 0, squares = 0;")

        def element(start: str, i: str) -> str:
            text = k.load(f"in[{plus(start, terms((i, stride)))}]", self.source.dtype, self.compute)
            return _widened(text, "double")

        with nest.outer().emit(code, "m") as at:
            start = plus(base, at[0])
            if count <= limit:
                add_moments(k, count, lambda i: element(start, i))
            else:
                with code.block(f"for (ptrdiff_t first = 0; first < {count}; first += {limit})"):
                    code.add(
                        f"const ptrdiff_t count = {count} - first < {limit} ? {count} - first : {limit};"
                    )
                    begin = plus(start, terms(("first", stride)))
                    add_moments(k, "count", lambda i: element(begin, i))

    def run(self, statistics: Callable[[list[str]], tuple[str, str]]) -> None:
        """Writes the loops. `statistics` gets the places of a group in in, out, weight, bias, mean and rstd.

        It adds the lines that compute the group's mean and rstd, and returns their names.
        """
        k, code = self.k, self.k.code
        self.members.collapse()
        if self.groups.numel * self.members.numel == 0:
            return
        k.read(self.source, "in")
        if self.weight is not None:
            k.read(self.weight, "weight")
        if self.bias is not None:
            k.read(self.bias, "bias")
        k.write(self.out)
        k.headers.add("math.h")
        c = c_compute(self.compute)
        with self.groups.emit(code) as group:
            mean, rstd = statistics(group)
            code.add(f"const {c} center = ({c}){mean};")
            code.add(f"const {c} scale = ({c}){rstd};")
            with self.members.emit(code, "m") as at:
                place = [plus(g, a) for g, a in zip(group, at, strict=False)]
                value = f"({k.load(f'in[{place[0]}]', self.source.dtype, self.compute)} - center) * scale"
                for tensor, name, where, operator in (
                    (self.weight, "weight", place[2], "*"),
                    (self.bias, "bias", place[3], "+"),
                ):
                    if tensor is not None:
                        value += f" {operator} {k.load(f'{name}[{where}]', tensor.dtype, self.compute)}"
                if k.store("r", self.compute, self.out.dtype) != "r":
                    code.add(f"const {c} r = {value};")
                    value = "r"
                code.add(f"out[{place[1]}] = {k.store(value, self.compute, self.out.dtype)};")

    def by_moments(self, eps: float, mean: TensorValue, rstd: TensorValue) -> None:
        """Normalizes each group with its own mean and biased variance."""
        k, code = self.k, self.k.code
        used = [(tensor, name) for tensor, name in ((mean, "means"), (rstd, "rstds")) if k.is_used(tensor)]
        for tensor, name in used:
            k.write(tensor, name)

        def statistics(group: list[str]) -> tuple[str, str]:
            self.moments(group[0])
            code.add(f"const double rstd = 1 / sqrt(squares / total + {k.constant(eps, DOUBLE)});")
            for tensor, name in used:
                where, value = (group[4], "mean") if name == "means" else (group[5], "rstd")
                code.add(f"{name}[{where}] = {k.store(value, DOUBLE, tensor.dtype)};")
            return "mean", "rstd"

        self.run(statistics)


def _strides(tensor: TensorValue | None, axis: int) -> int:
    return 0 if tensor is None else tensor.strides[axis]


def _layer_norm(k: Kernel) -> None:
    source, normalized = k.tensor(0), len(k.ints(1))
    weight, bias = k.optional_tensor(2), k.optional_tensor(3)
    out, mean, rstd = k.tensor(5), k.tensor(6), k.tensor(7)
    lead = source.rank - normalized
    k.require(lead >= 0 and list(source.sizes[lead:]) == k.ints(1), "normalized_shape does not fit the input")
    norm = Normalization(k, source, out, weight, bias)
    for d, size in enumerate(source.sizes):
        if d < lead:
            norm.groups.push(size, source.strides[d], out.strides[d], 0, 0, mean.strides[d], rstd.strides[d])
        else:
            norm.members.push(
                size, source.strides[d], out.strides[d], _strides(weight, d - lead), _strides(bias, d - lead)
            )
    norm.by_moments(k.real(4), mean, rstd)


def _group_norm(k: Kernel) -> None:
    source, weight, bias = k.tensor(0), k.optional_tensor(1), k.optional_tensor(2)
    n, c, group, eps = k.integer(3), k.integer(4), k.integer(6), k.real(7)
    out, mean, rstd = k.tensor(8), k.tensor(9), k.tensor(10)
    k.require(
        source.rank >= 2 and source.sizes[0] == n and source.sizes[1] == c, "N and C are not the input's"
    )
    each = c // group
    norm = Normalization(k, source, out, weight, bias)
    norm.groups.push(n, source.strides[0], out.strides[0], 0, 0, mean.strides[0], rstd.strides[0])
    norm.groups.push(
        group,
        each * source.strides[1],
        each * out.strides[1],
        each,
        each,
        mean.strides[1],
        rstd.strides[1],
    )
    norm.members.push(each, source.strides[1], out.strides[1], 1, 1)
    for d in range(2, source.rank):
        norm.members.push(source.sizes[d], source.strides[d], out.strides[d], 0, 0)
    norm.by_moments(eps, mean, rstd)


def _batch_norm(k: Kernel, out: TensorValue) -> Normalization:
    source = k.tensor(0)
    k.require(source.rank >= 2, "the input has fewer than 2 dims")
    norm = Normalization(k, source, out, k.optional_tensor(1), k.optional_tensor(2))
    norm.groups.push(source.sizes[1], source.strides[1], out.strides[1], 1, 1, 1, 1)
    norm.members.push(source.sizes[0], source.strides[0], out.strides[0], 0, 0)
    for d in range(2, source.rank):
        norm.members.push(source.sizes[d], source.strides[d], out.strides[d], 0, 0)
    return norm


def _batch_norm_by_running(k: Kernel, eps: float, out: TensorValue) -> None:
    norm = _batch_norm(k, out)
    mean, variance = k.tensor(3), k.tensor(4)
    k.in_place = True
    k.read(mean, "means")
    k.read(variance, "variances")

    def statistics(group: list[str]) -> tuple[str, str]:
        k.code.add(f"const double mean = {k.load(f'means[{group[4]}]', mean.dtype, DOUBLE)};")
        loaded = k.load(f"variances[{group[5]}]", variance.dtype, DOUBLE)
        k.code.add(f"const double rstd = 1 / sqrt({loaded} + {k.constant(eps, DOUBLE)});")
        return "mean", "rstd"

    norm.run(statistics)


def _batch_norm_no_training(k: Kernel) -> None:
    _batch_norm_by_running(k, k.real(6), k.tensor(7))


def _batch_norm_no_stats(k: Kernel) -> None:
    _batch_norm(k, k.tensor(6)).by_moments(k.real(5), k.tensor(7), k.tensor(8))


def _batch_norm_legit(k: Kernel) -> None:
    if k.flag(5):
        raise Unsupported("batch norm in training mode is not supported")
    _batch_norm_by_running(k, k.real(7), k.tensor(8))


GENERATORS: dict[str, Generator] = {
    "aten::sum.IntList_out": _sum_dims,
    "aten::sum.out": _sum_all,
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
    "aten::linalg_vector_norm.out": _vector_norm,
    "aten::norm.out": _norm_dims,
    "aten::norm.Scalar_out": _norm_all,
    "aten::logsumexp.out": _logsumexp,
    "aten::var.out": _deviation_of(False, "unbiased"),
    "aten::var.correction_out": _deviation_of(False, "correction"),
    "aten::var_mean.correction_out": _deviation_of(False, "both"),
    "aten::std.out": _deviation_of(True, "unbiased"),
    "aten::std.correction_out": _deviation_of(True, "correction"),
    "aten::std_mean.correction_out": _deviation_of(True, "both"),
    "aten::cumsum.out": _scan(True),
    "aten::cumprod.out": _scan(False),
    "aten::_softmax.out": _softmax(False),
    "aten::_log_softmax.out": _softmax(True),
    "aten::native_layer_norm.out": _layer_norm,
    "aten::native_group_norm.out": _group_norm,
    "aten::_native_batch_norm_legit_no_training.out": _batch_norm_no_training,
    "aten::_native_batch_norm_legit.no_stats_out": _batch_norm_no_stats,
    "aten::_native_batch_norm_legit.out": _batch_norm_legit,
}
