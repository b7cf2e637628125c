"""Norms of vectors, and distances of points.

Example: `_pdist_forward` of three points, with p = 2.

    static void pdist_forward_0(f32 *restrict out, const f32 *restrict in) {
      ptrdiff_t pair = 0;
      for (ptrdiff_t i = 0; i < 3; ++i) {
        for (ptrdiff_t j = i + 1; j < 3; ++j) {
          double state = 0;
          {
            double s0 = 0;
            ptrdiff_t e = 0;
            for (; e < 2; ++e) s0 += square((double)in[2 * i + e] - (double)in[2 * j + e]);
            state += s0;
          }
          state = sqrt(state);
          out[pair++] = (float)state;
        }
      }
    }
"""

from __future__ import annotations

import math
from collections.abc import Callable

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import DOUBLE, FLOATING, LONG, compute_type
from rushlight.aot_c.generators.elementwise import common_type
from rushlight.aot_c.generators.reductions import Reduction, axes_of, widened
from rushlight.aot_c.generators.sums import add_up
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType

_BLOCK = 128
"""The coordinates of which the portable kernel of cdist computes a sum at a time."""


class _PowerSum:
    """Writes the computation of `state`, which becomes (the sum of |x| ** p) ** (1 / p)."""

    def __init__(self, k: Kernel, p: float) -> None:
        self.k, self.p = k, p
        k.headers.add("math.h")
        k.code.add(f"double state = {'(double)INFINITY' if math.isinf(p) and p < 0 else '0'};")

    def add(self, count: str | int, at: Callable[[str], str]) -> None:
        """Adds numbers. `at` maps a position to the C expression of a number of type double."""
        code = self.k.code
        if not math.isinf(self.p):
            add_up(code, "state", count, self._term(at), "double")
            return
        with code.block(f"for (ptrdiff_t e = 0; e < {count}; ++e)"):
            code.add(f"const double x = fabs({at('e')});")
            code.add(f"if (x != x || x {'>' if self.p > 0 else '<'} state) state = x;")

    def _term(self, at: Callable[[str], str]) -> Callable[[str], str]:
        """Returns a function that maps a position to the C expression |x| ** p; `at` maps it to x."""
        if self.p == 2:
            return lambda i: self.k.call("square", at(i))
        if self.p == 1:
            return lambda i: f"fabs({at(i)})"
        if self.p == 0:
            return lambda i: f"({at(i)} != 0 ? 1.0 : 0.0)"
        order = self.k.constant(self.p, DOUBLE)
        return lambda i: f"pow(fabs({at(i)}), {order})"

    def finish(self) -> None:
        """Computes the root."""
        if self.p == 2:
            self.k.code.add("state = sqrt(state);")
        elif self.p not in (0, 1) and not math.isinf(self.p):
            self.k.code.add(f"state = pow(state, {self.k.constant(1 / self.p, DOUBLE)});")


def _norm(
    k: Kernel, axes: set[int], keepdim: bool, p: float, dtype: ScalarType | None, out: TensorValue
) -> None:
    source = k.tensor(0)
    compute = compute_type(dtype if dtype is not None else source.dtype)
    k.require(compute != LONG, "a norm of integers is not supported")
    run = Reduction(k, source, axes, keepdim, [out], compute)
    if run.is_empty:
        return
    k.require(p >= 0 or run.reduced.numel > 0, "a norm with a negative order is not defined for no elements")
    with run.results():
        total = _PowerSum(k, p)
        if run.reduced.numel:
            with run.blocks() as block:
                total.add(block.count, lambda i: widened(block.at(i), "double"))
        total.finish()
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


class _Points:
    """Two points whose coordinates are read from tensors, and their distance.

    Attributes:
        tensors: the tensor of each point. The last dim contains the coordinates.
        names: the pointers to these tensors.
        starts: the places of the first coordinates.
    """

    def __init__(self, k: Kernel, tensors: list[TensorValue], names: list[str], starts: list[str]) -> None:
        self.k, self.tensors, self.names, self.starts = k, tensors, names, starts

    def difference(self, first: str, i: str) -> str:
        """Writes the difference of coordinate first + i, as a number of type double."""
        compute = compute_type(common_type(*self.tensors))
        texts = []
        for tensor, name, start in zip(self.tensors, self.names, self.starts, strict=True):
            step = tensor.strides[-1]
            element = f"{name}[{plus(start, terms((first, step)), terms((i, step)))}]"
            texts.append(widened(self.k.load(element, tensor.dtype, compute), "double"))
        return " - ".join(texts)

    def put_distance(self, p: float, block: int, out: TensorValue, to: str) -> None:
        """Writes the distance to the place `to` of the result. `block` coordinates are added at a time."""
        code, length = self.k.code, self.tensors[0].sizes[-1]
        if length == 0:
            code.add(f"out[{to}] = 0;")
            return
        total = _PowerSum(self.k, p)
        if length <= block:
            with code.block(""):
                total.add(length, lambda i: self.difference("0", i))
        else:
            with code.block(f"for (ptrdiff_t first = 0; first < {length}; first += {block})"):
                code.add(f"const ptrdiff_t count = {length} - first < {block} ? {length} - first : {block};")
                total.add("count", lambda i: self.difference("first", i))
        total.finish()
        code.add(f"out[{to}] = {self.k.store('state', DOUBLE, out.dtype)};")


def _batch_stride(points: TensorValue, axis: int) -> int:
    """Returns the stride of a batch dim, counted from the end; 0 if it is missing or has the size 1."""
    return 0 if -axis > points.rank or points.sizes[axis] == 1 else points.strides[axis]


def _cdist(k: Kernel) -> None:
    a, b, p, out = k.tensor(0), k.tensor(1), k.real(2), k.tensor(4)
    k.require(min(a.rank, b.rank) >= 2 and a.sizes[-1] == b.sizes[-1], "the points do not match")
    k.require(p >= 0, "p is negative")
    for tensor in (a, b, out):
        k.require(tensor.dtype in FLOATING, "the points or the result are not floating-point")
    k.require(out.rank == max(a.rank, b.rank), "the result has another rank")
    nest = Nest(3)
    for axis in range(-out.rank, -2):
        sizes = {points.sizes[axis] for points in (a, b) if -axis <= points.rank}
        k.require(len(sizes - {1}) <= 1, "the batches of points do not broadcast")
        size = max(sizes, key=lambda n: n != 1)
        k.require(out.sizes[axis] == size, "the result has another shape")
        nest.push(size, out.strides[axis], _batch_stride(a, axis), _batch_stride(b, axis))
    k.require(list(out.sizes[-2:]) == [a.sizes[-2], b.sizes[-2]], "the result has another shape")
    nest.push(a.sizes[-2], out.strides[-2], a.strides[-2], 0)
    nest.push(b.sizes[-2], out.strides[-1], 0, b.strides[-2])
    if out.numel == 0:
        return
    k.write(out)
    if a.sizes[-1]:
        k.read(a, "a")
        k.read(b, "b")
    with nest.collapse().emit(k.code) as (to, *starts):
        _Points(k, [a, b], ["a", "b"], starts).put_distance(p, _BLOCK, out, to)


def _pdist(k: Kernel) -> None:
    source, p, out = k.tensor(0), k.real(1), k.tensor(2)
    k.require_rank(2, source)
    k.require(p >= 0, "p is negative")
    k.require(source.dtype in FLOATING and out.dtype in FLOATING, "the points are not floating-point")
    count, length = source.sizes
    k.require_shape(out, [count * (count - 1) // 2])
    if out.numel == 0:
        return
    k.write(out)
    if length:
        k.read(source, "in")
    step = source.strides[0]
    k.code.add("ptrdiff_t pair = 0;")
    with (
        k.code.block(f"for (ptrdiff_t i = 0; i < {count}; ++i)"),
        k.code.block(f"for (ptrdiff_t j = i + 1; j < {count}; ++j)"),
    ):
        starts = [terms((name, step)) for name in "ij"]
        _Points(k, [source, source], ["in", "in"], starts).put_distance(p, length, out, "pair++")


GENERATORS: dict[str, Generator] = {
    "aten::linalg_vector_norm.out": _vector_norm,
    "aten::norm.out": _norm_dims,
    "aten::norm.Scalar_out": _norm_all,
    "aten::_cdist_forward.out": _cdist,
    "aten::_pdist_forward.out": _pdist,
}
