"""Scans: the result for an element depends on the elements before it along a dim.

Example: `cumsum` of float32[2, 3] along the last dimension.

    static void cumsum_0(const f32 *restrict in, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        double state = 0;
        for (ptrdiff_t e = 0; e < 3; ++e) {
          state = state + (double)in[3 * i + e];
          const float r = (float)state;
          out[3 * i + e] = r;
        }
      }
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import DOUBLE, FLOAT, FLOATING, LONG, c_compute, compute_type
from rushlight.aot_c.generators.reductions import widened
from rushlight.aot_c.generators.shapes import normalized
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue


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
        wide = c_compute(DOUBLE if compute == FLOAT else compute)
        k.in_place = True
        with rows.emit(k.code) as (at, to):
            k.code.add(f"{wide} state = {0 if is_sum else 1};")
            with k.code.block(f"for (ptrdiff_t e = 0; e < {length}; ++e)"):
                place = plus(at, terms(("e", step_in)))
                x = k.load(f"{name}[{place}]", source.dtype, compute)
                if compute == LONG:
                    k.code.add(f"state = {k.call('wrap_add' if is_sum else 'wrap_mul', 'state', x)};")
                else:
                    k.code.add(f"state = state {'+' if is_sum else '*'} {widened(x, wide)};")
                k.code.add(f"const {c_compute(compute)} r = ({c_compute(compute)})state;")
                place = plus(to, terms(("e", step_out)))
                k.code.add(f"{target}[{place}] = {k.store('r', compute, out.dtype)};")

    return generate


def rows_of(tensors: Sequence[TensorValue], dim: int) -> tuple[Nest, int, list[int]]:
    """Returns loops over the rows of tensors along a dim, the length of a row, and the strides of the dim."""
    first = tensors[0]
    axis = dim % max(first.rank, 1)
    nest = Nest(len(tensors))
    for d, size in enumerate(first.sizes):
        if d != axis:
            nest.push(size, *(tensor.strides[d] for tensor in tensors))
    nest.sort_by(0).collapse()
    length = first.sizes[axis] if first.rank else 1
    return nest, length, [tensor.strides[axis] if tensor.rank else 1 for tensor in tensors]


def _scan_extreme(sign: str) -> Generator:
    """The best element so far, and its last position. After a NaN, the result stays NaN."""

    def generate(k: Kernel) -> None:
        source, values, indices = k.tensor(0), k.tensor(2), k.tensor(3)
        axis = normalized(k, k.integer(1), source.rank)
        k.require(indices.dtype == LONG, "the dtype of the indices is not int64")
        for result in (values, indices):
            k.require_shape(result, source.sizes)
        compute = compute_type(source.dtype)
        rows, length, steps = rows_of([source, values, indices], axis)
        if source.numel == 0:
            return
        k.read(source, "in")
        k.write(values, "values")
        k.write(indices, "indices")
        c, code = c_compute(compute), k.code
        with rows.emit(code) as at:
            code.add(f"{c} best = 0;")
            code.add("ptrdiff_t best_at = 0;")
            with code.block(f"for (ptrdiff_t e = 0; e < {length}; ++e)"):
                x, value, index = (
                    plus(place, terms(("e", step))) for place, step in zip(at, steps, strict=True)
                )
                code.add(f"const {c} x = {k.load(f'in[{x}]', source.dtype, compute)};")
                nan = "x != x || " if source.dtype in FLOATING else ""
                with code.block(f"if (e == 0 || {nan}x {sign}= best)"):
                    code.add("best = x;")
                    code.add("best_at = e;")
                code.add(f"values[{value}] = {k.store('best', compute, values.dtype)};")
                code.add(f"indices[{index}] = best_at;")

    return generate


def _log_sum_exp(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(2)
    axis = normalized(k, k.integer(1), source.rank)
    k.require_shape(out, source.sizes)
    k.require(source.dtype in FLOATING, "logcumsumexp of integers is not supported")
    rows, length, (step_in, step_out) = rows_of([source, out], axis)
    if source.numel == 0:
        return
    name, target = k.read(source, "in"), k.write(out)
    k.in_place = True
    k.headers.add("math.h")
    compute, code = compute_type(source.dtype), k.code
    with rows.emit(code) as (at, to):
        code.add("double state = -(double)INFINITY;")
        with code.block(f"for (ptrdiff_t e = 0; e < {length}; ++e)"):
            element = f"{name}[{plus(at, terms(('e', step_in)))}]"
            code.add(f"const double x = {widened(k.load(element, source.dtype, compute), 'double')};")
            code.add("const double most = x > state || x != x ? x : state;")
            code.add("const double least = x > state || x != x ? state : x;")
            with code.block("if (isfinite(most) || most != most)"):
                code.add("state = most + log1p(exp(least - most));")
            with code.block("else"):
                code.add("state = least != least ? least : most;")
            c = c_compute(compute)
            code.add(f"const {c} r = {'' if compute == DOUBLE else '(float)'}state;")
            code.add(f"{target}[{plus(to, terms(('e', step_out)))}] = {k.store('r', compute, out.dtype)};")


GENERATORS: dict[str, Generator] = {
    "aten::cumsum.out": _scan(True),
    "aten::cumprod.out": _scan(False),
    "aten::cummax.out": _scan_extreme(">"),
    "aten::cummin.out": _scan_extreme("<"),
    "aten::logcumsumexp.out": _log_sum_exp,
}
