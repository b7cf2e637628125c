"""Pooling: average and maximum over windows.

Example: `avg_pool2d` of float32[1, 1, 4, 4] with windows of 2 x 2.

    static void avg_pool2d_0(const f32 *restrict in, f32 *restrict out) {
      for (ptrdiff_t n = 0; n < 1; ++n) {
        for (ptrdiff_t c = 0; c < 1; ++c) {
          for (ptrdiff_t y = 0; y < 2; ++y) {
            for (ptrdiff_t x = 0; x < 2; ++x) {
              float sum = 0;
              const ptrdiff_t y_start = 2 * y;
              const ptrdiff_t y_stop = y_start + 2;
              const ptrdiff_t y_first = y_start;
              const ptrdiff_t y_last = y_stop;
              const ptrdiff_t x_start = 2 * x;
              const ptrdiff_t x_stop = x_start + 2;
              const ptrdiff_t x_first = x_start;
              const ptrdiff_t x_last = x_stop;
              for (ptrdiff_t py = y_first; py < y_last; ++py) {
                for (ptrdiff_t px = x_first; px < x_last; ++px) {
                  sum += in[16 * n + 16 * c + 4 * py + px];
                }
              }
              const ptrdiff_t divisor = (y_stop - y_start) * (x_stop - x_start);
              const float r = y_last <= y_first || x_last <= x_first ? 0 : (sum / (float)divisor);
              out[4 * n + 4 * c + 2 * y + x] = r;
            }
          }
        }
      }
    }
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import (
    BOOL,
    C_TYPES,
    DOUBLE,
    FLOAT,
    FLOATING,
    LONG,
    SIXTEEN,
    c_compute,
    compute_type,
    name_of,
    size_of,
)
from rushlight.aot_c.generators.windows import Image, Window, field, pooled_size
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType

_AXES = ("z", "y", "x")


def read_pooling(
    k: Kernel, source: TensorValue, dims: int, kernel: int, dilation: int | None, ceil: int
) -> Window:
    """Reads a window from the arguments kernel, stride and padding, which start at position `kernel`."""
    k.require(source.rank in (dims + 1, dims + 2), "the rank of the input does not match the pooling")
    sizes = field(k, "kernel_size", k.ints(kernel), dims, [1, 1, 1], 1)
    window = Window(
        kernel=sizes,
        stride=field(k, "stride", k.optional_ints(kernel + 1) or [], dims, sizes, 1),
        padding=field(k, "padding", k.ints(kernel + 2), dims, [0, 0, 0], 0),
        dilation=field(k, "dilation", [] if dilation is None else k.ints(dilation), dims, [1, 1, 1], 1),
    )
    k.flag(ceil)
    return window


def pooled_shape(k: Kernel, source: TensorValue, dims: int, window: Window, ceil_mode: bool) -> list[int]:
    """Returns the shape of the result."""
    sizes = [
        pooled_size(source.sizes[source.rank - dims + i], window, 3 - dims + i, ceil_mode)
        for i in range(dims)
    ]
    k.require(min(sizes) > 0, "the window is larger than the padded input")
    return [*source.sizes[: source.rank - dims], *sizes]


class Planes:
    """Loops over the channels and positions of a result, and the indices of elements in these loops."""

    def __init__(self, k: Kernel, source: TensorValue, out: TensorValue, dims: int) -> None:
        self.k, self.dims = k, dims
        self.image, self.out = Image.of(source, dims), Image.of(out, dims)

    def open(self, stack: ExitStack) -> None:
        """Opens the loops over `n`, `c`, `z`, `y` and `x`."""
        loops = [("n", self.out.batch), ("c", self.out.channels)]
        loops += [(_AXES[axis], self.out.size[axis]) for axis in range(3 - self.dims, 3)]
        for name, size in loops:
            stack.enter_context(self.k.code.block(f"for (ptrdiff_t {name} = 0; {name} < {size}; ++{name})"))

    def source(self, names: Sequence[str] = ("pz", "py", "px")) -> str:
        """Returns the index of an element of the source; `names` are the C variables of its position."""
        spatial = [(names[axis], self.image.stride[axis]) for axis in range(3 - self.dims, 3)]
        return terms(("n", self.image.batch_stride), ("c", self.image.channel_stride), *spatial)

    def target(self, batch_stride: int, channel_stride: int, stride: Sequence[int]) -> str:
        """Returns the index of an element of a result with these strides."""
        spatial = [(_AXES[axis], stride[axis]) for axis in range(3 - self.dims, 3)]
        return terms(("n", batch_stride), ("c", channel_stride), *spatial)

    @property
    def place(self) -> str:
        """The index of the current element of the result."""
        return self.target(self.out.batch_stride, self.out.channel_stride, self.out.stride)


def declare_box(k: Kernel, planes: Planes, window: Window) -> None:
    """Declares the bounds of a window: `y_start`, `y_stop` with padding, `y_first`, `y_last` without it."""
    for axis in range(3 - planes.dims, 3):
        name = _AXES[axis]
        size, pad = planes.image.size[axis], window.padding[axis]
        kernel, stride = window.kernel[axis], window.stride[axis]
        start = terms((name, stride))
        k.code.add(f"const ptrdiff_t {name}_start = {start}{f' - {pad}' if pad else ''};")
        end, limit = f"{name}_start + {kernel}", size + pad
        reaches = (planes.out.size[axis] - 1) * stride - pad + kernel
        if reaches > limit:
            k.code.add(f"const ptrdiff_t {name}_stop = {end} < {limit} ? {end} : {limit};")
        else:
            k.code.add(f"const ptrdiff_t {name}_stop = {end};")
        first = f"{name}_start > 0 ? {name}_start : 0" if pad else f"{name}_start"
        last = (
            f"{name}_stop < {size} ? {name}_stop : {size}" if min(reaches, limit) > size else f"{name}_stop"
        )
        k.code.add(f"const ptrdiff_t {name}_first = {first};")
        k.code.add(f"const ptrdiff_t {name}_last = {last};")


def declare_adaptive_box(k: Kernel, planes: Planes, sizes: Sequence[int]) -> None:
    """Declares the bounds of a window of adaptive pooling, which divides each dim evenly."""
    for axis in range(3 - planes.dims, 3):
        name, size = _AXES[axis], planes.image.size[axis]
        count = sizes[axis - (3 - planes.dims)]
        k.code.add(f"const ptrdiff_t {name}_first = {name} * {size} / {count};")
        k.code.add(f"const ptrdiff_t {name}_last = (({name} + 1) * {size} + {count - 1}) / {count};")


def _box_loops(k: Kernel, planes: Planes, stack: ExitStack, step: Sequence[int] = (1, 1, 1)) -> None:
    for axis in range(3 - planes.dims, 3):
        name = _AXES[axis]
        by = f"++p{name}" if step[axis] == 1 else f"p{name} += {step[axis]}"
        head = f"for (ptrdiff_t p{name} = {name}_first; p{name} < {name}_last; {by})"
        stack.enter_context(k.code.block(head))


def _product(planes: Planes, last: str, first: str) -> str:
    return " * ".join(f"({_AXES[axis]}_{last} - {_AXES[axis]}_{first})" for axis in range(3 - planes.dims, 3))


def _average(
    k: Kernel, source: TensorValue, out: TensorValue, dims: int, window: Window | None, divisor: str | None
) -> None:
    """Writes average pooling or adaptive average pooling.

    Args:
        k: the kernel.
        source: the input.
        out: the result.
        dims: the number of spatial dims.
        window: the window; None for adaptive pooling.
        divisor: the number by which sums are divided. `padded` means the size of the window with its padding;
            None means the number of input elements in the window.
    """
    k.require(
        source.dtype == out.dtype and source.dtype != BOOL,
        f"a result of {name_of(out.dtype)} from {name_of(source.dtype)} is not supported",
    )
    if out.numel == 0:
        return
    code = k.code
    compute = DOUBLE if source.dtype == DOUBLE else FLOAT if source.dtype in FLOATING else LONG
    c = c_compute(compute)
    name, target = k.read(source, "in"), k.write(out)
    planes = Planes(k, source, out, dims)
    with ExitStack() as stack:
        planes.open(stack)
        code.add(f"{c} sum = 0;")
        if window is None:
            declare_adaptive_box(k, planes, out.sizes[out.rank - dims :])
        else:
            declare_box(k, planes, window)
        with ExitStack() as inner:
            _box_loops(k, planes, inner)
            code.add(f"sum += {k.load(f'{name}[{planes.source()}]', source.dtype, compute)};")
        covered = _product(planes, "last", "first")
        by = (
            covered
            if divisor is None
            else _product(planes, "stop", "start")
            if divisor == "padded"
            else divisor
        )
        code.add(f"const ptrdiff_t divisor = {by};")
        value = f"(sum / ({c})divisor)"
        if window is not None:
            empty = " || ".join(f"{_AXES[axis]}_last <= {_AXES[axis]}_first" for axis in range(3 - dims, 3))
            code.add(f"const {c} r = {empty} ? 0 : {value};")
        else:
            code.add(f"const {c} r = {value};")
        code.add(f"{target}[{planes.place}] = {k.store('r', compute, out.dtype)};")


def _avg_pool(dims: int) -> Generator:
    def generate(k: Kernel) -> None:
        source = k.tensor(0)
        window = read_pooling(k, source, dims, 1, None, 4)
        count_padding = k.flag(5)
        divisor = k.optional_int(6) if dims > 1 else None
        out = k.tensor(7 if dims > 1 else 6)
        k.require(divisor != 0, "divisor_override is 0")
        k.require_shape(out, pooled_shape(k, source, dims, window, k.flag(4)))
        by = str(divisor) if divisor is not None else "padded" if count_padding else None
        _average(k, source, out, dims, window, by)

    return generate


def _adaptive_average(dims: int) -> Generator:
    def generate(k: Kernel) -> None:
        source, sizes, out = k.tensor(0), k.ints(1), k.tensor(2)
        k.require(
            len(sizes) == dims and source.rank in (dims + 1, dims + 2),
            "output_size or the rank of the input does not match the pooling",
        )
        k.require_shape(out, [*source.sizes[: source.rank - dims], *sizes])
        _average(k, source, out, dims, None, None)

    return generate


def _declare_dilated_box(k: Kernel, planes: Planes, window: Window) -> None:
    """Declares the bounds of a window with a dilation, without the padding: `y_first` and `y_last`."""
    for axis in range(3 - planes.dims, 3):
        name = _AXES[axis]
        pad, dilation, limit = window.padding[axis], window.dilation[axis], planes.image.size[axis]
        reach = (window.kernel[axis] - 1) * dilation + 1
        origin = terms((name, window.stride[axis]))
        start = f"{origin} - {pad}" if pad else origin
        end = f"{start} + {reach}"
        first, last = start, end
        if pad:
            # Skips the kernel elements in front of the input, in steps of the dilation.
            steps = f"({pad + dilation - 1} - {origin}) / {dilation}"
            moved = f"{start} + {steps} * {dilation}" if dilation > 1 else "0"
            first = f"{start} < 0 ? {moved} : {start}"
        if (planes.out.size[axis] - 1) * window.stride[axis] - pad + reach > limit:
            last = f"{end} < {limit} ? {end} : {limit}"
        k.code.add(f"const ptrdiff_t {name}_first = {first};")
        k.code.add(f"const ptrdiff_t {name}_last = {last};")


def _maximum(
    k: Kernel, source: TensorValue, out: TensorValue, indices: TensorValue, dims: int, window: Window | None
) -> None:
    """Writes maximum pooling, or adaptive maximum pooling if there is no `window`."""
    k.require(
        source.dtype == out.dtype and source.dtype != BOOL,
        f"a result of {name_of(out.dtype)} from {name_of(source.dtype)} is not supported",
    )
    k.require(indices.dtype == LONG, "the dtype of the indices is not int64")
    if out.numel == 0:
        return
    code, compute = k.code, compute_type(source.dtype)
    name, target = k.read(source, "in"), k.write(out)
    wants_indices = k.is_used(indices)
    if wants_indices:
        k.write(indices, "indices")
    planes = Planes(k, source, out, dims)
    with ExitStack() as stack:
        planes.open(stack)
        if window is None:
            declare_adaptive_box(k, planes, out.sizes[out.rank - dims :])
        else:
            _declare_dilated_box(k, planes, window)
        c = _declare_best(k, source.dtype)
        if wants_indices:
            code.add(f"int64_t where = {_index_in_plane(planes, '{}_first')};")
        with ExitStack() as inner:
            _box_loops(k, planes, inner, (1, 1, 1) if window is None else window.dilation)
            element, better = f"{name}[{planes.source()}]", "value > best"
            if source.dtype in FLOATING:
                element = k.load(element, source.dtype, compute)
                better = "value > best || value != value"
            code.add(f"const {c} value = {element};")
            if wants_indices:
                inner.enter_context(code.block(f"if ({better})"))
                code.add("best = value;")
                code.add(f"where = {_index_in_plane(planes, 'p{}')};")
            else:
                code.add(f"if ({better}) best = value;")
        stored = "best" if size_of(out.dtype) >= 4 else f"({C_TYPES[out.dtype]})best"
        if source.dtype in SIXTEEN:
            stored = k.store("best", compute, out.dtype)
        code.add(f"{target}[{planes.place}] = {stored};")
        if wants_indices:
            image = Image.of(indices, dims)
            place = planes.target(image.batch_stride, image.channel_stride, image.stride)
            code.add(f"indices[{place}] = where;")


def _declare_best(k: Kernel, dtype: ScalarType) -> str:
    """Declares `best` with the least value of a dtype, and returns its C type."""
    if dtype in FLOATING:
        c = c_compute(compute_type(dtype))
        k.headers.add("math.h")
        k.code.add(f"{c} best = -({c})INFINITY;")
        return c
    c = "int32_t" if size_of(dtype) < 4 else "int64_t"
    least = "0" if dtype == ScalarType.BYTE else f"INT{8 * size_of(dtype)}_MIN"
    k.code.add(f"{c} best = {least};")
    return c


def _index_in_plane(planes: Planes, names: str) -> str:
    """Returns the index of an element in its row-major plane.

    Args:
        planes: the loops.
        names: the names of the position, in which `{}` stands for the axis.
    """
    size = planes.image.size
    axes = range(3 - planes.dims, 3)
    return terms(*((names.format(_AXES[axis]), math.prod(size[axis + 1 :])) for axis in axes))


def _max_pool(dims: int) -> Generator:
    def generate(k: Kernel) -> None:
        source = k.tensor(0)
        window = read_pooling(k, source, dims, 1, 4, 5)
        out, indices = k.tensor(6), k.tensor(7)
        k.require_shape(out, pooled_shape(k, source, dims, window, k.flag(5)))
        _maximum(k, source, out, indices, dims, window)

    return generate


def _adaptive_maximum(dims: int) -> Generator:
    def generate(k: Kernel) -> None:
        source, sizes, out, indices = k.tensor(0), k.ints(1), k.tensor(2), k.tensor(3)
        k.require(
            len(sizes) == dims and source.rank in (dims + 1, dims + 2),
            "output_size or the rank of the input does not match the pooling",
        )
        k.require_shape(out, [*source.sizes[: source.rank - dims], *sizes])
        _maximum(k, source, out, indices, dims, None)

    return generate


GENERATORS: dict[str, Generator] = {
    "aten::avg_pool1d.out": _avg_pool(1),
    "aten::avg_pool2d.out": _avg_pool(2),
    "aten::avg_pool3d.out": _avg_pool(3),
    "aten::adaptive_avg_pool1d.out": _adaptive_average(1),
    "aten::adaptive_avg_pool2d.out": _adaptive_average(2),
    "aten::_adaptive_avg_pool2d.out": _adaptive_average(2),
    "aten::_adaptive_avg_pool3d.out": _adaptive_average(3),
    "aten::max_pool2d_with_indices.out": _max_pool(2),
    "aten::max_pool3d_with_indices.out": _max_pool(3),
    "aten::adaptive_max_pool2d.out": _adaptive_maximum(2),
    "aten::adaptive_max_pool3d.out": _adaptive_maximum(3),
}
