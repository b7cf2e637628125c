"""Upsampling. The positions and weights of the source elements are computed here and written as tables.

Example: `upsample_bilinear2d` of float32[1, 1, 1, 2] to [1, 1, 1, 3].

    static void upsample_bilinear2d_0(const f32 *restrict in, f32 *restrict out) {
      static const int32_t y_at[] = {
        0, 0,
      };
      static const float y_weight[] = {
        1.0f, 0.0f,
      };
      static const int32_t x_at[] = {
        0, 1, 0, 1, 1, 1,
      };
      static const float x_weight[] = {
        1.0f, 0.0f, 0.5f, 0.5f, 0.83333325f, 0.16666675f,
      };
      for (ptrdiff_t n = 0; n < 1; ++n) {
        for (ptrdiff_t c = 0; c < 1; ++c) {
          for (ptrdiff_t y = 0; y < 1; ++y) {
            for (ptrdiff_t x = 0; x < 3; ++x) {
              float sum = 0;
              for (ptrdiff_t ky = 2 * y; ky < 2 * y + 2; ++ky) {
                float part = 0;
                for (ptrdiff_t kx = 2 * x; kx < 2 * x + 2; ++kx) {
                  part += x_weight[kx] * in[2 * n + 2 * c + 2 * (y_at[ky]) + (x_at[kx])];
                }
                sum += y_weight[ky] * part;
              }
              out[3 * n + 3 * c + 3 * y + x] = sum;
            }
          }
        }
      }
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from rushlight.aot_c.code import double_literal, float_literal, terms
from rushlight.aot_c.dtypes import BOOL, DOUBLE, FLOAT, FLOATING, c_compute, name_of
from rushlight.aot_c.generators.windows import Image
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.values import TensorValue

Real: TypeAlias = type[Any]
"""np.float32 or np.float64. The type annotations of numpy do not describe arithmetic between scalars."""


@dataclass
class Taps:
    """The source elements of each result element along a dim.

    Attributes:
        width: the number of source elements for a result element.
        index: the positions in the source, `width` for each result element.
        weight: the weights of these positions.
    """

    width: int
    index: list[int]
    weight: list[float]


def _step(real: Real, source: int, size: int, align: bool, scale: float | None) -> Any:
    if align:
        return real(source - 1) / real(size - 1) if size > 1 else real(0)
    if scale is not None and scale > 0:
        return real(1.0 / scale)
    return real(source) / real(size)


def _cubic(x: Any, a: Any) -> Any:
    """Returns the value of the cubic convolution kernel with the free parameter `a` (Keys, 1981)."""
    one = type(x)
    x = abs(x)
    if x < 1:
        return ((a + one(2)) * x - (a + one(3))) * x * x + one(1)
    if x < 2:
        return ((x - one(5)) * x + one(8)) * x * a - one(4) * a
    return one(0)


def taps_of(real: Real, kind: str, source: int, size: int, align: bool, scale: float | None) -> Taps:
    """Computes the taps of a dim with the same arithmetic as the portable kernel.

    Args:
        real: the type of the weights.
        kind: `nearest`, `exact`, `linear` or `cubic`.
        source: the size of the dim in the source.
        size: the size of the dim in the result.
        align: the argument `align_corners`.
        scale: the scale factor; None means `size / source`.
    """
    step = _step(real, source, size, align, scale)
    taps = Taps({"nearest": 1, "exact": 1, "linear": 2, "cubic": 4}[kind], [], [])

    def add(position: int, weight: Any) -> None:
        taps.index.append(position)
        taps.weight.append(float(weight))

    half, zero, one = real(0.5), real(0), real(1)
    for i in range(size):
        if kind in ("nearest", "exact"):
            place = (real(i) + half) * step if kind == "exact" else real(i) * step
            add(min(int(np.floor(place)), source - 1), one)
            continue
        place = real(i) * step
        if kind == "linear":
            if not align:
                place = max(zero, (real(i) + half) * step - half)
            if size == source:
                place = real(i)
            first = min(int(place), source - 1)
            share = min(max(place - real(first), zero), one)
            add(first, one - share)
            add(first if size == source else min(first + 1, source - 1), share)
        else:
            if not align:
                place = (real(i) + half) * step - half
            first = min(int(np.floor(place)), source - 1)
            share = min(max(place - real(first), zero), one)
            for j in range(-1, 3):
                add(min(max(first + j, 0), source - 1), _cubic(share - real(j), real(-0.75)))
    return taps


def _table(k: Kernel, c_type: str, name: str, items: Sequence[str]) -> None:
    k.code.add(f"static const {c_type} {name}[] = {{")
    for i in range(0, len(items), 12):
        k.code.add(f"  {', '.join(items[i : i + 12])},")
    k.code.add("};")


def _resample(
    k: Kernel,
    source: TensorValue,
    out: TensorValue,
    kind: str,
    dims: int,
    sizes: Sequence[int],
    align: bool,
    scales: Sequence[float | None],
) -> None:
    k.require(
        source.dtype == out.dtype and source.rank == dims + 2,
        "the dtypes differ, or the rank of the input is wrong",
    )
    k.require_shape(out, [*source.sizes[:2], *sizes])
    if out.numel == 0:
        return
    copies = kind in ("nearest", "exact")
    if not copies:
        k.require(
            source.dtype in FLOATING and source.dtype != BOOL, f"{name_of(source.dtype)} is not supported"
        )
    image = Image.of(source, dims)
    compute = DOUBLE if source.dtype == DOUBLE and not copies else FLOAT
    real: Real = np.float64 if compute == DOUBLE else np.float32
    scales = list(scales)
    ignores = kind == "nearest" and (
        dims == 2 or (dims == 3 and source.sizes[1] > 3 and source.dim_order[1] != 1)
    )
    for d in range(dims):
        if ignores and sizes[d] in (image.size[3 - dims + d], 2 * image.size[3 - dims + d]):
            scales[d] = None
    a, b = k.read(source, "in"), k.write(out)
    axes = "zyx"[3 - dims :]
    taps = [taps_of(real, kind, image.size[3 - dims + d], sizes[d], align, scales[d]) for d in range(dims)]
    write = double_literal if compute == DOUBLE else float_literal
    for axis, tap in zip(axes, taps, strict=True):
        _table(k, "int32_t", f"{axis}_at", [str(i) for i in tap.index])
        if not copies:
            _table(k, c_compute(compute), f"{axis}_weight", [write(weight) for weight in tap.weight])
    with ExitStack() as stack:
        loops = [("n", source.sizes[0]), ("c", source.sizes[1]), *zip(axes, sizes, strict=True)]
        for name, size in loops:
            stack.enter_context(k.code.block(f"for (ptrdiff_t {name} = 0; {name} < {size}; ++{name})"))
        to = terms(*((name, out.strides[d]) for d, (name, _) in enumerate(loops)))
        plane = [("n", image.batch_stride), ("c", image.channel_stride)]
        if copies:
            at = [(f"{axis}_at[{axis}]", image.stride[3 - dims + d]) for d, axis in enumerate(axes)]
            k.code.add(f"{b}[{to}] = {a}[{terms(*plane, *at)}];")
            return
        _weighted_sum(k, source, dims, taps, plane, image, f"{b}[{to}]")


def _weighted_sum(
    k: Kernel,
    source: TensorValue,
    dims: int,
    taps: list[Taps],
    plane: list[tuple[str, int]],
    image: Image,
    to: str,
) -> None:
    compute = DOUBLE if source.dtype == DOUBLE else FLOAT
    c = c_compute(compute)
    axes = "zyx"[3 - dims :]
    code = k.code
    code.add(f"{c} sum = 0;")
    with ExitStack() as inner:
        for axis, tap in zip(axes[:-1], taps[:-1], strict=True):
            start = terms((axis, tap.width))
            inner.enter_context(
                code.block(f"for (ptrdiff_t k{axis} = {start}; k{axis} < {start} + {tap.width}; ++k{axis})")
            )
        code.add(f"{c} part = 0;")
        start = terms(("x", taps[-1].width))
        with code.block(f"for (ptrdiff_t kx = {start}; kx < {start} + {taps[-1].width}; ++kx)"):
            at = [(f"{axis}_at[k{axis}]", image.stride[3 - dims + d]) for d, axis in enumerate(axes)]
            loaded = k.load(f"in[{terms(*plane, *at)}]", source.dtype, compute)
            code.add(f"part += x_weight[kx] * {loaded};")
        weights = [f"{axis}_weight[k{axis}]" for axis in axes[:-1]]
        code.add(f"sum += {' * '.join([*weights, 'part'])};")
    code.add(f"{to} = {k.store('sum', compute, source.dtype)};")


def _by_sizes(kind: str, dims: int, aligns: bool) -> Generator:
    """For operators with the arguments (in, output_size, [align_corners], scale for each dim, out)."""

    def generate(k: Kernel) -> None:
        first = 3 if aligns else 2
        align = k.flag(2) if aligns else False
        scales = [k.optional_float(first + d) for d in range(dims)]
        _resample(k, k.tensor(0), k.tensor(first + dims), kind, dims, k.ints(1), align, scales)

    return generate


def _by_factors(kind: str, aligns: bool) -> Generator:
    """For two dims and arguments (in, output_size or None, [align_corners], scale_factors or None, out)."""

    def generate(k: Kernel) -> None:
        first = 3 if aligns else 2
        source, sizes = k.tensor(0), k.optional_ints(1)
        align = k.flag(2) if aligns else False
        factors = k.optional_floats(first)
        scales: list[float | None] = [None, None]
        if sizes is None:
            k.require(
                factors is not None and len(factors) == 2,
                "output_size and scale_factors are both None, or scale_factors does not have two items",
            )
            assert factors is not None
            k.require_rank(4, source)
            scales = list(factors)
            sizes = [int(source.sizes[2 + d] * factors[d]) for d in range(2)]
        _resample(k, source, k.tensor(first + 1), kind, 2, sizes, align, scales)

    return generate


GENERATORS: dict[str, Generator] = {
    **{f"aten::upsample_nearest{n}d.out": _by_sizes("nearest", n, False) for n in (1, 2, 3)},
    **{f"aten::_upsample_nearest_exact{n}d.out": _by_sizes("exact", n, False) for n in (1, 2, 3)},
    "aten::upsample_nearest2d.vec_out": _by_factors("nearest", False),
    "aten::upsample_linear1d.out": _by_sizes("linear", 1, True),
    "aten::upsample_bilinear2d.out": _by_sizes("linear", 2, True),
    "aten::upsample_bilinear2d.vec_out": _by_factors("linear", True),
    "aten::upsample_trilinear3d.out": _by_sizes("linear", 3, True),
    "aten::upsample_bicubic2d.out": _by_sizes("cubic", 2, True),
}
