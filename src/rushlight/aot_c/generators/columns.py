"""im2col and col2im: the windows of an image as the columns of a matrix.

Example: `im2col` of float32[1, 1, 3, 3] with windows of 2 x 2.

    static void im2col_0(const f32 *restrict in, f32 *restrict out) {
      for (ptrdiff_t n = 0; n < 1; ++n) {
        for (ptrdiff_t c = 0; c < 1; ++c) {
          for (ptrdiff_t ky = 0; ky < 2; ++ky) {
            for (ptrdiff_t kx = 0; kx < 2; ++kx) {
              for (ptrdiff_t y = 0; y < 2; ++y) {
                for (ptrdiff_t x = 0; x < 2; ++x) {
                  const ptrdiff_t py = y + ky;
                  const ptrdiff_t px = x + kx;
                  out[16 * n + 16 * c + 8 * ky + 4 * kx + 2 * y + x] = in[9 * n + 9 * c + 3 * py + px];
                }
              }
            }
          }
        }
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from rushlight.aot_c.code import terms
from rushlight.aot_c.generators.indexing import add_elements
from rushlight.aot_c.generators.windows import Image, Window, field, pooled_size
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.values import TensorValue


class _Columns:
    """The windows of an image and the columns of a matrix [batch, channels * taps, windows].

    Attributes:
        rows: the number of rows of the matrix.
        count: the number of windows along height and width.
    """

    def __init__(self, k: Kernel, image: TensorValue, matrix: TensorValue, first_argument: int) -> None:
        self.k = k
        fields = [k.ints(first_argument + i) for i in range(4)]
        names = ("kernel_size", "dilation", "padding", "stride")
        k.require(all(fields), "an argument of the windows is empty")
        kernel, dilation, padding, stride = (
            field(k, name, values, 2, [1, 1, 1], 0 if name == "padding" else 1)
            for name, values in zip(names, fields, strict=True)
        )
        padding[0] = 0
        self.window = Window(kernel, stride, padding, dilation)
        self.image = Image.of(image, 2)
        self.count = [pooled_size(self.image.size[axis], self.window, axis, False) for axis in (1, 2)]
        k.require(min(self.count) > 0, "the window does not fit into the image")
        self.rows = self.image.channels * self.window.taps
        batch = [self.image.batch] if image.rank == 4 else []
        k.require_shape(matrix, [*batch, self.rows, self.count[0] * self.count[1]])
        self.matrix = matrix

    def emit(self, body: Callable[[str, str, str], None]) -> None:
        """Writes loops over the matrix, row after row.

        `body` receives the place in the matrix, the place in the image, and the condition that it is inside;
        the condition is empty if all places are inside.
        """
        w, image, matrix, code = self.window, self.image, self.matrix, self.k.code
        loops = [
            ("n", image.batch),
            ("c", image.channels),
            ("ky", w.kernel[1]),
            ("kx", w.kernel[2]),
            ("y", self.count[0]),
            ("x", self.count[1]),
        ]
        row, step = matrix.strides[-2], matrix.strides[-1]
        place = terms(
            ("n", matrix.strides[0] if matrix.rank == 3 else 0),
            ("c", w.taps * row),
            ("ky", w.kernel[2] * row),
            ("kx", row),
            ("y", self.count[1] * step),
            ("x", step),
        )
        pixel = terms(
            ("n", image.batch_stride),
            ("c", image.channel_stride),
            ("py", image.stride[1]),
            ("px", image.stride[2]),
        )
        with ExitStack() as stack:
            for name, size in loops:
                stack.enter_context(code.block(f"for (ptrdiff_t {name} = 0; {name} < {size}; ++{name})"))
            conditions = []
            for name, axis in (("y", 1), ("x", 2)):
                at = terms((name, w.stride[axis]), (f"k{name}", w.dilation[axis]))
                padding = f" - {w.padding[axis]}" if w.padding[axis] else ""
                code.add(f"const ptrdiff_t p{name} = {at}{padding};")
                if w.padding[axis]:
                    conditions.append(f"p{name} >= 0 && p{name} < {image.size[axis]}")
            if conditions:
                code.add(f"const bool is_inside = {' && '.join(conditions)};")
            body(place, pixel, "is_inside" if conditions else "")


def _im2col(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(5)
    k.require(source.rank in (3, 4), "the input does not have rank 3 or 4")
    k.require(source.dtype == out.dtype, "the dtypes differ")
    columns = _Columns(k, source, out, 1)
    if out.numel == 0:
        return
    if source.numel:
        k.read(source, "in")
    k.write(out)

    def body(to: str, at: str, inside: str) -> None:
        k.code.add(f"out[{to}] = {f'{inside} ? in[{at}] : 0' if inside else f'in[{at}]'};")

    columns.emit(body)


def _col2im(k: Kernel) -> None:
    source, sizes, out = k.tensor(0), k.ints(1), k.tensor(6)
    k.require(source.rank in (2, 3) and len(sizes) == 2, "the input does not have rank 2 or 3")
    k.require(source.dtype == out.dtype, "the dtypes differ")
    k.require(out.rank == source.rank + 1, "the result has another rank")
    k.require(list(out.sizes[-2:]) == sizes, "the result has another shape")
    columns = _Columns(k, out, source, 2)
    if out.numel == 0:
        return
    k.headers.add("string.h")
    k.write(out)
    k.code.add(f"memset(out, 0, {out.numel * out.item_size});")
    if source.numel == 0:
        return
    k.read(source, "in")

    def body(at: str, to: str, inside: str) -> None:
        value = add_elements(k, out.dtype, f"out[{to}]", f"in[{at}]")
        k.code.add(f"{f'if ({inside}) ' if inside else ''}out[{to}] = {value};")

    columns.emit(body)


GENERATORS: dict[str, Generator] = {
    "aten::im2col.out": _im2col,
    "aten::col2im.out": _col2im,
}
