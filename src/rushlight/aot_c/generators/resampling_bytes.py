"""Resizing of uint8 images with weights in fixed-point arithmetic.

Example: `upsample_bilinear2d` of uint8[1, 1, 1, 2] to [1, 1, 1, 3].

    static void upsample_bilinear2d_0(const u8 *restrict in, u8 *restrict out) {
      static const int32_t x_at[] = {
        0, 1, 0, 1, 1, 1,
      };
      static const int16_t x_weight[] = {
        16384, 0, 8192, 8192, 0, 16384,
      };
      for (ptrdiff_t n = 0; n < 1; ++n) {
        for (ptrdiff_t c = 0; c < 1; ++c) {
          for (ptrdiff_t y = 0; y < 1; ++y) {
            for (ptrdiff_t x = 0; x < 3; ++x) {
              int32_t sum = 8192;
              for (ptrdiff_t e = 2 * x; e < 2 * x + 2; ++e) {
                sum += in[2 * n + 2 * c + 2 * y + (x_at[e])] * x_weight[e];
              }
              out[3 * n + 3 * c + 3 * y + x] = clamped_byte(sum >> 14);
            }
          }
        }
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rushlight.aot_c.code import terms
from rushlight.aot_c.generators.windows import Image
from rushlight.aot_c.kernel import Kernel
from rushlight.aot_c.loops import plus
from rushlight.aot_c.taps import Taps
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType


@dataclass
class _FixedTaps:
    """Taps whose weights are integers with `shift` fraction bits.

    Attributes:
        taps: the positions.
        weight: the weights, in the range of int16.
        shift: the largest number of fraction bits for which the largest weight fits into 16 bits.
    """

    taps: Taps
    weight: list[int]
    shift: int

    @classmethod
    def of(cls, taps: Taps) -> _FixedTaps:
        """Rounds float64 weights. Those of equal adjacent positions, at the edge of the image, are added."""
        weights = list(taps.weight)
        for i in range(len(weights) - 1):
            if (i + 1) % taps.width != 0 and taps.index[i] == taps.index[i + 1]:
                weights[i + 1] += weights[i]
                weights[i] = 0.0
        shift, largest = 0, max(weights)
        while shift < 22 and int(0.5 + largest * (1 << (shift + 1))) < 1 << 15:
            shift += 1
        scaled = [weight * (1 << shift) for weight in weights]
        return cls(taps, [int(x - 0.5 if x < 0 else x + 0.5) for x in scaled], shift)

    def declare(self, k: Kernel, axis: str) -> None:
        """Writes the tables of positions and weights, such as `x_at` and `x_weight`."""
        k.table("int32_t", f"{axis}_at", [str(i) for i in self.taps.index])
        k.table("int16_t", f"{axis}_weight", [str(weight) for weight in self.weight])

    def add_up(self, k: Kernel, axis: str, element: Callable[[str], str]) -> str:
        """Writes a weighted sum, and returns its C expression. `element` writes the element at a position."""
        width = self.taps.width
        first = terms((axis, width))
        k.code.add(f"int32_t sum = {1 << (self.shift - 1)};")
        with k.code.block(f"for (ptrdiff_t e = {first}; e < {plus(first, str(width))}; ++e)"):
            k.code.add(f"sum += {element(f'{axis}_at[e]')} * {axis}_weight[e];")
        return k.call("clamped_byte", f"sum >> {self.shift}")


def resample_bytes(k: Kernel, image: Image, out: TensorValue, taps: list[Taps]) -> None:
    """Writes the loops that resize first the rows and then the columns of an image.

    Args:
        k: the kernel, which reads `in` and writes `out`.
        image: the layout of the input.
        out: the result.
        taps: the taps along the height and the width, with float64 weights.
    """
    height, width = out.sizes[-2:]
    along_y, along_x = height != image.size[1], width != image.size[2]
    fixed = [_FixedTaps.of(tap) for tap in taps]
    for axis, tap, is_used in zip("yx", fixed, (along_y, along_x), strict=True):
        if is_used:
            tap.declare(k, axis)
    is_twice = along_x and along_y
    if is_twice:
        k.scratch("rows", ScalarType.BYTE, image.size[1] * width)

    def source(y: str, x: str) -> str:
        plane = terms(("n", image.batch_stride), ("c", image.channel_stride))
        return f"in[{plus(plane, terms((y, image.stride[1]), (x, image.stride[2])))}]"

    def result(y: str, x: str) -> str:
        return f"out[{terms(*zip(('n', 'c', y, x), out.strides, strict=True))}]"

    def row(y: str, x: str) -> str:
        return f"rows[{terms((y, width), x)}]"

    with (
        k.code.block(f"for (ptrdiff_t n = 0; n < {image.batch}; ++n)"),
        k.code.block(f"for (ptrdiff_t c = 0; c < {image.channels}; ++c)"),
    ):
        if along_x:
            with _lines(k, image.size[1], width):
                value = fixed[1].add_up(k, "x", lambda x: source("y", x))
                k.code.add(f"{row('y', 'x') if is_twice else result('y', 'x')} = {value};")
        if along_y or not along_x:
            read = row if is_twice else source
            with _lines(k, height, width):
                value = fixed[0].add_up(k, "y", lambda y: read(y, "x")) if along_y else read("y", "x")
                k.code.add(f"{result('y', 'x')} = {value};")


@contextmanager
def _lines(k: Kernel, height: int, width: int) -> Iterator[None]:
    with (
        k.code.block(f"for (ptrdiff_t y = 0; y < {height}; ++y)"),
        k.code.block(f"for (ptrdiff_t x = 0; x < {width}; ++x)"),
    ):
        yield
