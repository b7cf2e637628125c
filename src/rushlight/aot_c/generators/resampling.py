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

import numpy as np

from rushlight.aot_c.code import double_literal, float_literal, terms
from rushlight.aot_c.dtypes import DOUBLE, FLOAT, FLOATING, c_compute, name_of
from rushlight.aot_c.generators.resampling_bytes import resample_bytes
from rushlight.aot_c.generators.windows import Image
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.taps import COPIES, Real, Taps, antialiased_taps, taps_of
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType

_BLOCK, _MOST_COLUMNS = 64, 512
"""The results that the portable kernel computes at a time, and the most columns which it adds before rows."""


@dataclass
class Resampling:
    """The arguments of an operator that resizes the last dims of an image [n, c, ...].

    Attributes:
        source: the image.
        out: the result.
        kind: `nearest`, `exact`, `linear` or `cubic`.
        dims: the number of resized dims.
        sizes: their sizes in the result.
        align: the argument `align_corners`.
        scales: their scale factors; None means the size in the result divided by that in the source.
        antialias: whether the weights cover all source elements if the result is smaller than the source.
    """

    source: TensorValue
    out: TensorValue
    kind: str
    dims: int
    sizes: Sequence[int]
    align: bool
    scales: Sequence[float | None]
    antialias: bool = False

    @property
    def copies(self) -> bool:
        """Whether each result element is a copy of a source element, and not a weighted sum."""
        return self.kind in COPIES

    @property
    def axes(self) -> str:
        """The C variables of the positions along the resized dims."""
        return "zyx"[3 - self.dims :]

    @property
    def may_add_rows_first(self) -> bool:
        """Whether the portable kernel adds the elements of a column before those of a row."""
        return (
            self.antialias
            and self.source.dtype == FLOAT
            and self.source.strides[-1] == 1
            and self.out.dim_order[-1] == self.out.rank - 1
        )

    @property
    def compute(self) -> ScalarType:
        """The dtype of the weights and sums."""
        return DOUBLE if self.source.dtype == DOUBLE and not self.copies else FLOAT


def _resample(k: Kernel, r: Resampling) -> None:
    """Writes the tables of taps and the loops over the result."""
    k.require(
        r.source.dtype == r.out.dtype and r.source.rank == r.dims + 2,
        "the dtypes differ, or the rank of the input is wrong",
    )
    k.require_shape(r.out, [*r.source.sizes[:2], *r.sizes])
    if r.out.numel == 0:
        return
    is_bytes = r.source.dtype == ScalarType.BYTE
    k.require(
        r.copies or is_bytes or r.source.dtype in FLOATING, f"{name_of(r.source.dtype)} is not supported"
    )
    image = Image.of(r.source, r.dims)
    k.read(r.source, "in")
    k.write(r.out)
    if is_bytes and r.dims == 2 and not r.copies:
        resample_bytes(k, image, r.out, _taps(r, image, np.float64))
        return
    taps = _taps(r, image, np.float64 if r.compute == DOUBLE else np.float32)
    _declare_taps(k, r, taps)
    ranges = _ranges_of_rows_first(r, taps[-1]) if r.may_add_rows_first else [(0, r.sizes[-1], False)]
    with ExitStack() as stack:
        loops = [("n", r.source.sizes[0]), ("c", r.source.sizes[1]), *zip(r.axes, r.sizes, strict=True)]
        for name, size in loops[:-1]:
            stack.enter_context(k.code.block(f"for (ptrdiff_t {name} = 0; {name} < {size}; ++{name})"))
        to = terms(*((name, r.out.strides[d]) for d, (name, _) in enumerate(loops)))
        for first, last, rows_first in ranges:
            with k.code.block(f"for (ptrdiff_t x = {first}; x < {last}; ++x)"):
                if r.copies:
                    value = f"in[{_source_place(r, image, r.axes)}]"
                else:
                    value = _weighted_sum(k, r, image, taps, rows_first)
                k.code.add(f"out[{to}] = {value};")


def _ranges_of_rows_first(r: Resampling, columns: Taps) -> list[tuple[int, int, bool]]:
    """Divides the positions of a line into ranges, by the order in which the portable kernel adds.

    Returns:
        For each range, its first position, the position after it, and whether columns are added before rows.
    """
    ranges: list[tuple[int, int, bool]] = []
    for first in range(0, r.sizes[-1], _BLOCK):
        last = min(first + _BLOCK, r.sizes[-1])
        span = columns.index[last * columns.width - 1] - columns.index[first * columns.width] + 1
        rows_first = span <= _MOST_COLUMNS
        if ranges and ranges[-1][2] == rows_first:
            first = ranges.pop()[0]
        ranges.append((first, last, rows_first))
    return ranges


def _taps(r: Resampling, image: Image, real: Real) -> list[Taps]:
    """Returns the taps along each resized dim, with weights of type `real`.

    As eager PyTorch does, some operators ignore the scale of a dim whose size stays or doubles.
    """
    ignores = r.kind == "nearest" and (
        r.dims == 2 or (r.dims == 3 and r.source.sizes[1] > 3 and r.source.dim_order[1] != 1)
    )
    taps = []
    for source, size, scale in zip(image.size[3 - r.dims :], r.sizes, r.scales, strict=True):
        used = None if ignores and size in (source, 2 * source) else scale
        find = antialiased_taps if r.antialias else taps_of
        taps.append(find(real, r.kind, source, size, r.align, used))
    return taps


def _declare_taps(k: Kernel, r: Resampling, taps: list[Taps]) -> None:
    """Writes the tables `y_at`, `y_weight`, ... of the positions and weights along each resized dim."""
    write = double_literal if r.compute == DOUBLE else float_literal
    for axis, tap in zip(r.axes, taps, strict=True):
        k.table("int32_t", f"{axis}_at", [str(i) for i in tap.index])
        if not r.copies:
            k.table(c_compute(r.compute), f"{axis}_weight", [write(weight) for weight in tap.weight])


def _source_place(r: Resampling, image: Image, taps: Sequence[str]) -> str:
    """Returns the offset of a source element; `taps` are the C variables of the current taps."""
    strides = image.stride[3 - r.dims :]
    at = [(f"{axis}_at[{tap}]", stride) for axis, tap, stride in zip(r.axes, taps, strides, strict=True)]
    return terms(("n", image.batch_stride), ("c", image.channel_stride), *at)


def _weighted_sum(k: Kernel, r: Resampling, image: Image, taps: list[Taps], rows_first: bool) -> str:
    """Writes the loops over the taps of a result element, and returns the C expression of the element.

    With `rows_first`, the innermost loop adds the elements of a column.
    """
    c = c_compute(r.compute)
    code = k.code
    variables = [f"k{axis}" for axis in r.axes]
    starts = [terms((axis, tap.width)) for axis, tap in zip(r.axes, taps, strict=True)]
    loops = [
        f"for (ptrdiff_t {name} = {start}; {name} < {start} + {tap.width}; ++{name})"
        for name, start, tap in zip(variables, starts, taps, strict=True)
    ]
    weights = [f"{axis}_weight[k{axis}]" for axis in r.axes]
    if rows_first:
        loops.reverse()
        weights.reverse()
    code.add(f"{c} sum = 0;")
    with ExitStack() as stack:
        for loop in loops[:-1]:
            stack.enter_context(code.block(loop))
        code.add(f"{c} part = 0;")
        with code.block(loops[-1]):
            element = k.load(f"in[{_source_place(r, image, variables)}]", r.source.dtype, r.compute)
            code.add(f"part += {weights[-1]} * {element};")
        code.add(f"sum += {' * '.join([*weights[:-1], 'part'])};")
    return k.store("sum", r.compute, r.source.dtype)


def _by_sizes(kind: str, dims: int, aligns: bool, antialias: bool = False) -> Generator:
    """For operators with the arguments (in, output_size, [align_corners], scale for each dim, out)."""

    def generate(k: Kernel) -> None:
        first = 3 if aligns else 2
        align = k.flag(2) if aligns else False
        scales = [k.optional_float(first + d) for d in range(dims)]
        out = k.tensor(first + dims)
        _resample(k, Resampling(k.tensor(0), out, kind, dims, k.ints(1), align, scales, antialias))

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
        _resample(k, Resampling(source, k.tensor(first + 1), kind, 2, sizes, align, scales))

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
    "aten::_upsample_bilinear2d_aa.out": _by_sizes("linear", 2, True, antialias=True),
    "aten::_upsample_bicubic2d_aa.out": _by_sizes("cubic", 2, True, antialias=True),
}
