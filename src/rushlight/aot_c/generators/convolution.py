"""Convolutions. Each result adds the products in the order of the portable kernel.

Example: `convolution` of float32[1, 2, 5] with weights [3, 2, 3], a bias and padding 1.

    static void convolution_0(const f32 *restrict in, const f32 *restrict weight, const f32 *restrict bias,
                              f32 *restrict out) {
      for (ptrdiff_t o = 0; o < 3; ++o) {
        for (ptrdiff_t x = 0; x < 5; ++x) {
          float s0 = 0;
          for (ptrdiff_t i = 0; i < 2; ++i) {
            for (ptrdiff_t w = 0; w < 3; ++w) {
              const ptrdiff_t at_x = x - 1 + w;
              const float value = at_x >= 0 && at_x < 5 ? in[5 * i + at_x] : 0;
              s0 += value * weight[6 * o + 3 * i + w];
            }
          }
          out[5 * o + x] = (s0 + bias[o]);
        }
      }
    }
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import DOUBLE, FLOATING, SIXTEEN
from rushlight.aot_c.generators.gemm import SUMS_TOGETHER, Accumulator, require_same_dtype
from rushlight.aot_c.generators.windows import Image, Window, field
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType


@dataclass
class Convolution:
    """The arguments of a convolution, and the layout of its weight.

    Attributes:
        window: the kernel size, stride, padding and dilation.
        groups: the number of groups.
        transposed: whether the convolution is transposed.
        source: the layout of the input.
        out: the layout of the result.
        outputs: the output channels of a group.
        inputs: the input channels of a group.
        output_stride: the stride of the weight between output channels, in elements.
        input_stride: the stride of the weight between input channels.
        group_stride: the stride of the weight between groups.
        tap_stride: the strides of the weight between kernel elements, for three spatial dims.
    """

    window: Window
    groups: int
    transposed: bool
    source: Image
    out: Image
    outputs: int
    inputs: int
    output_stride: int
    input_stride: int
    group_stride: int
    tap_stride: list[int]

    @classmethod
    def read(
        cls, k: Kernel, source: TensorValue, weight: TensorValue, out: TensorValue, first: int
    ) -> Convolution:
        """Reads stride, padding, dilation, transposed, output_padding, groups from argument `first` on."""
        dims = weight.rank - 2
        k.require(
            1 <= dims <= 3 and source.rank in (dims + 1, dims + 2),
            "the ranks of input and weight are not those of a 1d, 2d or 3d convolution",
        )
        window = Window(
            kernel=[1] * (3 - dims) + list(weight.sizes[2:]),
            stride=field(k, "stride", k.ints(first), dims, [1, 1, 1], 1),
            padding=field(k, "padding", k.ints(first + 1), dims, [0, 0, 0], 0),
            dilation=field(k, "dilation", k.ints(first + 2), dims, [1, 1, 1], 1),
        )
        transposed, groups = k.flag(first + 3), k.integer(first + 5)
        k.require(groups > 0, f"groups is {groups}")
        extra = field(k, "output_padding", k.ints(first + 4), dims, [0, 0, 0], 0) if transposed else [0, 0, 0]
        image = Image.of(source, dims)
        shape = [source.sizes[0]] if source.rank == weight.rank else []
        shape.append(weight.sizes[1] * groups if transposed else weight.sizes[0])
        for axis in range(3 - dims, 3):
            reach = window.dilation[axis] * (window.kernel[axis] - 1)
            size, stride, padding = image.size[axis], window.stride[axis], window.padding[axis]
            if transposed:
                shape.append((size - 1) * stride - 2 * padding + reach + extra[axis] + 1)
            else:
                shape.append((size + 2 * padding - reach - 1) // stride + 1)
        k.require_shape(out, shape)
        first_stride, second_stride = weight.strides[0], weight.strides[1]
        per_group = weight.sizes[0] // groups
        return cls(
            window,
            groups,
            transposed,
            image,
            Image.of(out, dims),
            outputs=weight.sizes[1] if transposed else per_group,
            inputs=per_group if transposed else weight.sizes[1],
            output_stride=second_stride if transposed else first_stride,
            input_stride=first_stride if transposed else second_stride,
            group_stride=first_stride * per_group,
            tap_stride=[0] * (3 - dims) + list(weight.strides[2:]),
        )

    def touches_edge(self, axis: int) -> bool:
        """Returns whether a window exceeds the image in a dim, so that some taps are skipped."""
        w = self.window
        if self.transposed:
            return True
        last = (self.out.size[axis] - 1) * w.stride[axis] - w.padding[axis]
        reach = w.dilation[axis] * (w.kernel[axis] - 1)
        return w.padding[axis] > 0 or last + reach >= self.source.size[axis]


POSITIONS = ("z", "y", "x")
TAPS = ("u", "v", "w")


def open_loop(k: Kernel, stack: ExitStack, name: str, end: int, step: int = 1) -> None:
    """Opens a loop from 0 to `end`.

    Args:
        k: the kernel.
        stack: closes the loop.
        name: the C variable of the loop.
        end: the first number after the loop.
        step: the increment.
    """
    by = f"++{name}" if step == 1 else f"{name} += {step}"
    stack.enter_context(k.code.block(f"for (ptrdiff_t {name} = 0; {name} < {end}; {by})"))


def lanes_of(c: Convolution) -> range:
    """Returns the numbers of the sums that are computed together, one for each of several output channels."""
    return range(next(n for n in (SUMS_TOGETHER, 2, 1) if c.outputs % n == 0))


def plus_lane(name: str, lane: int) -> str:
    """Returns the C expression of a channel that is `lane` channels after the one in the variable `name`."""
    return name if lane == 0 else f"{name} + {lane}"


def open_images_and_groups(k: Kernel, c: Convolution, stack: ExitStack) -> None:
    """Opens the loops over the images and over the groups, if there are several."""
    if c.out.batch > 1:
        open_loop(k, stack, "n", c.out.batch)
    if c.groups > 1:
        open_loop(k, stack, "g", c.groups)


def open_positions(k: Kernel, c: Convolution, axis: int, stack: ExitStack, is_named: bool) -> None:
    """Opens the loop over the positions of an axis of the result.

    Args:
        k: the kernel.
        c: the convolution.
        axis: the axis, 0 to 2.
        stack: closes the loop.
        is_named: whether the position has a C variable, 0, if there is only one.
    """
    if c.out.size[axis] > 1:
        open_loop(k, stack, POSITIONS[axis], c.out.size[axis])
    elif is_named:
        k.code.add(f"const ptrdiff_t {POSITIONS[axis]} = 0;")


def open_taps(
    k: Kernel, c: Convolution, axis: int, stack: ExitStack, inside: list[str] | None = None
) -> str | None:
    """Opens the loop over the taps (kernel elements) of an axis that are inside the image.

    Args:
        k: the kernel.
        c: the convolution.
        axis: the axis, 0 to 2.
        stack: closes the loop.
        inside: a list that receives the C conditions for a tap inside the image; the loop then visits all
            taps. With None, the loop skips the taps outside.

    Returns:
        The expression of the position in the source, or None if the axis has one position and one tap.
    """
    w, code = c.window, k.code
    position, tap = POSITIONS[axis], TAPS[axis]
    kernel, size = w.kernel[axis], c.source.size[axis]
    stride, padding, dilation = w.stride[axis], w.padding[axis], w.dilation[axis]
    if kernel == 1 and c.out.size[axis] == 1 and size == 1 and padding == 0 and not c.transposed:
        return None
    if c.transposed:
        stack.enter_context(code.block(f"for (ptrdiff_t {tap} = 0; {tap} < {kernel}; ++{tap})"))
        at = f"at_{position}"
        code.add(f"const ptrdiff_t {at} = {position} + {padding} - {terms((tap, dilation))};")
        if inside is not None:
            multiple = f" && {at} % {stride} == 0" if stride > 1 else ""
            inside.append(f"{at} >= 0 && {at} < {size * stride}{multiple}")
        else:
            skip = f"{at} < 0 || {at} >= {size * stride}" + (
                f" || {at} % {stride} != 0" if stride > 1 else ""
            )
            code.add(f"if ({skip}) continue;")
        return at if stride == 1 else f"{at} / {stride}"
    start = terms((position, stride)) if padding == 0 else f"{terms((position, stride))} - {padding}"
    if not c.touches_edge(axis):
        if kernel > 1:
            stack.enter_context(code.block(f"for (ptrdiff_t {tap} = 0; {tap} < {kernel}; ++{tap})"))
        return plus(start, terms((tap, dilation)) if kernel > 1 else "0")
    if inside is not None:
        stack.enter_context(code.block(f"for (ptrdiff_t {tap} = 0; {tap} < {kernel}; ++{tap})"))
        at = f"at_{position}"
        code.add(f"const ptrdiff_t {at} = {start} + {terms((tap, dilation))};")
        inside.append(f"{at} >= 0 && {at} < {size}")
        return at
    stack.enter_context(code.block(f"for (ptrdiff_t {tap} = {tap}_first; {tap} < {tap}_last; ++{tap})"))
    return f"{start} + {terms((tap, dilation))}"


def declare_tap_range(k: Kernel, c: Convolution, axis: int) -> None:
    """Declares the range of the taps that are inside the image at the current position."""
    if c.transposed or not c.touches_edge(axis):
        return
    w = c.window
    position, tap = POSITIONS[axis], TAPS[axis]
    kernel, size, dilation = w.kernel[axis], c.source.size[axis], w.dilation[axis]
    before = w.padding[axis]
    own = terms((position, w.stride[axis]))
    if dilation == 1:
        low, high = f"{before} - {own}", f"{size + before} - {own}"
    else:
        low = f"({before + dilation - 1} - {own}) / {dilation}"
        high = f"({size + before + dilation - 1} - {own}) / {dilation}"
    test = f"{before} > {own}"
    first = f"{test} ? {low} : 0" if before > 0 else "0"
    k.code.add(f"const ptrdiff_t {tap}_first = {first};")
    k.code.add(f"const ptrdiff_t {tap}_last = {high} < {kernel} ? {high} : {kernel};")


def is_finite(weight: TensorValue) -> bool:
    """Returns whether a weight is a constant without infinity and NaN. Integers are always finite."""
    if weight.dtype not in FLOATING:
        return True
    if weight.data is None:
        return False
    if weight.dtype in SIXTEEN:
        mask = 0x7C00 if weight.dtype == ScalarType.HALF else 0x7F80
        return all(bits & mask != mask for bits in memoryview(weight.data).cast("H"))
    form = "<d" if weight.dtype == DOUBLE else "<f"
    return all(value - value == 0 for (value,) in struct.iter_unpack(form, weight.data))


def batch_and_group(c: Convolution) -> tuple[str, str]:
    """Returns the C expressions of the current batch and group: "0" if there is only one."""
    return "n" if c.out.batch > 1 else "0", "g" if c.groups > 1 else "0"


def input_place(c: Convolution) -> list[tuple[str, int] | str]:
    """Returns the terms of the offset of the current input channel: C expressions and their factors."""
    n, g = batch_and_group(c)
    return [
        (n, c.source.batch_stride),
        (g, c.inputs * c.source.channel_stride),
        ("i" if c.inputs > 1 else "0", c.source.channel_stride),
    ]


def weight_place(c: Convolution, lane: int, taps: Iterable[tuple[str, int]]) -> str:
    """Returns the offset of a weight.

    Args:
        c: the convolution.
        lane: the distance of the output channel from the current one.
        taps: the C expressions of the current tap, and their factors.
    """
    _, g = batch_and_group(c)
    output, i = plus_lane("o", lane), "i" if c.inputs > 1 else "0"
    return terms((g, c.group_stride), (output, c.output_stride), (i, c.input_stride), *taps)


def result_place(c: Convolution, lane: int) -> str:
    """Returns the offset of an element of the result.

    Args:
        c: the convolution.
        lane: the distance of the output channel from the current one.
    """
    n, g = batch_and_group(c)
    channel = terms((g, c.outputs), plus_lane("o", lane))
    positions = [(POSITIONS[axis], c.out.stride[axis]) for axis in range(3) if c.out.size[axis] > 1]
    return terms((n, c.out.batch_stride), (channel, c.out.channel_stride), *positions)


def _convolution(k: Kernel) -> None:
    source, weight, bias, out = k.tensor(0), k.tensor(1), k.optional_tensor(2), k.tensor(9)
    require_same_dtype(k, source, weight, out, *([bias] if bias is not None else []))
    c = Convolution.read(k, source, weight, out, 3)
    if out.numel == 0:
        return
    # The portable kernel also multiplies the zeros of the padding. 0 * infinity and 0 * NaN change the sum.
    inside: list[str] | None = None if is_finite(weight) else []
    sums = Accumulator(k, source.dtype)
    k.read(source, "in")
    k.read(weight, "weight")
    if bias is not None:
        k.require_rank(1, bias)
        k.read(bias, "bias")
    k.write(out)
    lanes = lanes_of(c)
    _, g = batch_and_group(c)
    with ExitStack() as stack:
        open_images_and_groups(k, c, stack)
        open_loop(k, stack, "o", c.outputs, len(lanes))
        for axis in range(3):
            open_positions(k, c, axis, stack, is_named=c.touches_edge(axis))
            if inside is None:
                declare_tap_range(k, c, axis)
        k.code.add(f"{sums.type} {', '.join(f's{lane} = 0' for lane in lanes)};")
        _add_products(k, c, sums, lanes, inside)
        for lane in lanes:
            total = f"s{lane}"
            if bias is not None:
                stride = bias.strides[0]
                place = terms((g, c.outputs * stride), (plus_lane("o", lane), stride))
                total = f"(s{lane} + {sums.load(f'bias[{place}]')})"
            k.code.add(f"out[{result_place(c, lane)}] = {sums.store(total)};")


def _add_products(
    k: Kernel, c: Convolution, sums: Accumulator, lanes: Iterable[int], inside: list[str] | None
) -> None:
    """Writes the loops over input channels and taps, which add the products to the sums `s0`, `s1`, ...

    Args:
        k: the kernel.
        c: the convolution.
        sums: the type of the sums.
        lanes: the numbers of the sums, one for each of several output channels.
        inside: an empty list if taps outside the image count as zeros; None if they are skipped.
    """
    code = k.code
    places = input_place(c)
    taps: list[tuple[str, int]] = []
    with ExitStack() as stack:
        if c.inputs > 1:
            open_loop(k, stack, "i", c.inputs)
        for axis in range(3):
            place = open_taps(k, c, axis, stack, inside)
            if place is not None:
                known = place if c.out.size[axis] > 1 or c.touches_edge(axis) else _at_zero(place, axis)
                places.append((known, c.source.stride[axis]))
            if c.window.kernel[axis] > 1 or (place is not None and c.touches_edge(axis)):
                taps.append((TAPS[axis], c.tap_stride[axis]))
        element = sums.load(f"in[{terms(*places)}]")
        if inside:
            element = f"{' && '.join(inside)} ? {element} : 0"
        code.add(f"const {sums.type} value = {element};")
        for lane in lanes:
            place = weight_place(c, lane, taps)
            code.add(f"s{lane} += value * {sums.load(f'weight[{place}]')};")


def _at_zero(place: str, axis: int) -> str:
    """Replaces the position of an axis of size 1 by 0."""
    return re.sub(rf"\b{POSITIONS[axis]}\b", "0", place)


GENERATORS: dict[str, Generator] = {"aten::convolution.out": _convolution}
