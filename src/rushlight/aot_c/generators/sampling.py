"""Sampling of an image at the points of a grid.

Example: linear `grid_sampler_2d` of float32[1, 1, 4, 4] at three points, with zeros outside.

    static void grid_sampler_2d_0(const f32 *restrict in, const f32 *restrict grid, f32 *restrict out) {
      for (ptrdiff_t n = 0; n < 1; ++n) {
        for (ptrdiff_t y = 0; y < 1; ++y) {
          for (ptrdiff_t x = 0; x < 3; ++x) {
            const float x_given = grid[6 * n + 6 * y + 2 * x];
            const float x_place = finite_position_float(((x_given + 1) * 4.0f - 1) / 2);
            const float x_floor = floorf(x_place);
            const float x_part = x_place - x_floor;
            const int32_t x_at[2] = {(int32_t)x_floor, (int32_t)x_floor + 1};
            const float x_weight[2] = {1 - x_part, x_part};
            const float y_given = grid[6 * n + 6 * y + 2 * x + 1];
            const float y_place = finite_position_float(((y_given + 1) * 4.0f - 1) / 2);
            const float y_floor = floorf(y_place);
            const float y_part = y_place - y_floor;
            const int32_t y_at[2] = {(int32_t)y_floor, (int32_t)y_floor + 1};
            const float y_weight[2] = {1 - y_part, y_part};
            for (ptrdiff_t c = 0; c < 1; ++c) {
              float sum = 0;
              for (ptrdiff_t ky = 0; ky < 2; ++ky) {
                if (y_at[ky] < 0 || y_at[ky] >= 4) continue;
                for (ptrdiff_t kx = 0; kx < 2; ++kx) {
                  if (x_at[kx] < 0 || x_at[kx] >= 4) continue;
                  sum += x_weight[kx] * y_weight[ky] * in[16 * n + 16 * c + 4 * (y_at[ky]) + (x_at[kx])];
                }
              }
              out[3 * n + 3 * c + 3 * y + x] = sum;
            }
          }
        }
      }
    }
"""

from __future__ import annotations

from contextlib import ExitStack

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import DOUBLE, FLOAT, FLOATING, c_compute
from rushlight.aot_c.generators.windows import Image
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import plus
from rushlight.format.program import ScalarType

_LINEAR, _NEAREST, _CUBIC = 0, 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2


class _Sampler:
    """Writes the code that finds the elements of the image for a point."""

    def __init__(self, k: Kernel, image: Image, mode: int, padding: int, align: bool) -> None:
        self.k, self.image, self.mode, self.padding, self.align = k, image, mode, padding, align
        self.compute = DOUBLE if k.tensor(0).dtype == DOUBLE else FLOAT
        self.c = c_compute(self.compute)
        self.width = {_LINEAR: 2, _NEAREST: 1, _CUBIC: 4}[mode]

    def number(self, value: float) -> str:
        """Writes a number of the compute type."""
        return self.k.constant(float(value), self.compute)

    def _unnormalized(self, x: str, size: int) -> str:
        """Converts a coordinate from -1 to 1 to a position along an axis."""
        if self.align:
            return f"({x} + 1) / 2 * {self.number(size - 1)}"
        return f"(({x} + 1) * {self.number(size)} - 1) / 2"

    def _inside(self, x: str, size: int) -> str:
        """Moves a position into the image, as the padding mode requires."""
        if self.padding == _ZEROS:
            return self.k.call(f"finite_position_{self.c}", x)
        if self.padding == _REFLECTION:
            low, high = (0, size - 1) if self.align else (-0.5, size - 0.5)
            x = self.k.call(f"reflected_{self.c}", x, self.number(low), self.number(high))
        return self.k.call(f"border_position_{self.c}", x, self.number(size - 1))

    def find(self, axis: str, size: int) -> None:
        """Declares the taps of an axis from its coordinate, such as `x_at` and `x_weight` from `x_given`."""
        code, c = self.k.code, self.c
        place = self._unnormalized(f"{axis}_given", size)
        if self.mode == _CUBIC:
            place = self.k.call(f"finite_position_{c}", place)
        else:
            place = self._inside(place, size)
        code.add(f"const {c} {axis}_place = {place};")
        if self.mode == _NEAREST:
            rounded = self.k.call(f"round_even_{c}", f"{axis}_place")
            code.add(f"const int32_t {axis}_at = (int32_t){rounded};")
            return
        code.add(f"const {c} {axis}_floor = {self.k.math('floor', self.compute, f'{axis}_place')};")
        code.add(f"const {c} {axis}_part = {axis}_place - {axis}_floor;")
        if self.mode == _LINEAR:
            code.add(f"const int32_t {axis}_at[2] = {{(int32_t){axis}_floor, (int32_t){axis}_floor + 1}};")
            code.add(f"const {c} {axis}_weight[2] = {{1 - {axis}_part, {axis}_part}};")
            return
        code.add(f"int32_t {axis}_at[4];")
        code.add(f"{c} {axis}_weight[4];")
        code.add(self.k.call(f"cubic_weights_{c}", f"{axis}_part", f"{axis}_weight") + ";")
        with code.block("for (int32_t e = 0; e < 4; ++e)"):
            code.add(f"{axis}_at[e] = (int32_t){self._inside(f'{axis}_floor + ({c})(e - 1)', size)};")

    def element(self, axes: str) -> str:
        """Writes the element of the image at the current taps."""
        tap = "" if self.mode == _NEAREST else "[k{}]"
        parts = [
            (f"{axis}_at{tap.format(axis)}", stride)
            for axis, stride in zip("zyx", self.image.stride, strict=True)
            if axis in axes
        ]
        place = plus(terms(("n", self.image.batch_stride), ("c", self.image.channel_stride)), terms(*parts))
        return f"in[{place}]"

    def is_outside(self, axis: str) -> str:
        """Writes the condition that the current tap of an axis is outside of the image."""
        tap = f"{axis}_at" if self.mode == _NEAREST else f"{axis}_at[k{axis}]"
        return f"{tap} < 0 || {tap} >= {self.image.size['zyx'.index(axis)]}"

    def add_up(self, dtype: ScalarType, axes: str) -> None:
        """Declares `sum`, the weighted sum of the elements. Elements outside of the image are left out.

        The outermost loop adds the sums of the inner loops, except in bilinear interpolation.
        """
        code, c = self.k.code, self.c
        is_nested = self.mode == _CUBIC or len(axes) == 3
        total = "part" if is_nested else "sum"
        weighted = "x" if self.mode == _CUBIC else axes[::-1]
        weights = " * ".join(f"{axis}_weight[k{axis}]" for axis in weighted)
        code.add(f"{c} sum = 0;")
        with ExitStack() as stack:
            for axis in axes:
                head = f"for (ptrdiff_t k{axis} = 0; k{axis} < {self.width}; ++k{axis})"
                stack.enter_context(code.block(head))
                if is_nested and axis == axes[0]:
                    stack.callback(self._add_part)
                    code.add(f"{c} part = 0;")
                code.add(f"if ({self.is_outside(axis)}) continue;")
            code.add(f"{total} += {weights} * {self.k.load(self.element(axes), dtype, self.compute)};")

    def _add_part(self) -> None:
        self.k.code.add(f"sum += {'y_weight[ky] * ' if self.mode == _CUBIC else ''}part;")


def _sample(dims: int) -> Generator:
    def generate(k: Kernel) -> None:
        source, grid, mode, padding, out = k.tensor(0), k.tensor(1), k.integer(2), k.integer(3), k.tensor(5)
        k.require_rank(dims + 2, source, grid, out)
        k.require(
            grid.sizes[-1] == dims and grid.sizes[0] == source.sizes[0],
            "the shape of the grid does not match the image",
        )
        k.require(mode in ((0, 1, 2) if dims == 2 else (0, 1)), f"the mode {mode} is not supported")
        k.require(padding in (_ZEROS, _BORDER, _REFLECTION), f"the padding mode {padding} is not supported")
        k.require(source.dtype == grid.dtype == out.dtype, "the dtypes differ")
        k.require(source.dtype in FLOATING, "the image is not floating-point")
        k.require(0 not in source.sizes[2:], "the image has no elements")
        k.require_shape(out, [*source.sizes[:2], *grid.sizes[1:-1]])
        if out.numel == 0:
            return
        sampler = _Sampler(k, Image.of(source, dims), mode, padding, k.flag(4))
        k.read(source, "in")
        k.read(grid, "grid")
        k.write(out)
        axes, code = "zyx"[3 - dims :], k.code
        with ExitStack() as stack:
            for name, size in zip(["n", *axes], [out.sizes[0], *out.sizes[2:]], strict=True):
                stack.enter_context(code.block(f"for (ptrdiff_t {name} = 0; {name} < {size}; ++{name})"))
            point = terms(*zip(["n", *axes], grid.strides[:-1], strict=True))
            for i, axis in enumerate(reversed(axes)):
                at = plus(point, str(i * grid.strides[-1]))
                element = k.load(f"grid[{at}]", source.dtype, sampler.compute)
                code.add(f"const {sampler.c} {axis}_given = {element};")
                sampler.find(axis, source.sizes[-1 - i])
            with code.block(f"for (ptrdiff_t c = 0; c < {out.sizes[1]}; ++c)"):
                to = terms(*zip(["n", "c", *axes], out.strides, strict=True))
                if mode == _NEAREST:
                    outside = " || ".join(sampler.is_outside(axis) for axis in axes)
                    code.add(f"out[{to}] = {outside} ? 0 : {sampler.element(axes)};")
                else:
                    sampler.add_up(source.dtype, axes)
                    code.add(f"out[{to}] = {k.store('sum', sampler.compute, out.dtype)};")

    return generate


GENERATORS: dict[str, Generator] = {
    "aten::grid_sampler_2d.out": _sample(2),
    "aten::grid_sampler_3d.out": _sample(3),
}
