"""Operators on int8 and uint8 tensors: convolution, linear, add, mul, pooling, mean, softmax, lookup.

Example: `quantized_mean` of int8[2, 3] over the last dimension.

    static void quantized_mean_0(const i8 *restrict in, i8 *restrict out, float in_scale, int64_t in_zero,
                                 float inverse, float out_zero, float least, float most) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        int64_t sum = 0;
        for (ptrdiff_t ei = 0; ei < 3; ++ei) {
          sum += in[3 * i + ei];
        }
        const float real = (float)(sum - in_zero * 3) * in_scale / 3.0f;
        out[i] = (int8_t)requantize(real, inverse, out_zero, least, most);
      }
    }
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack

from rushlight.aot_c.code import float_literal, terms
from rushlight.aot_c.dtypes import BYTES, DOUBLE, ELEMENTS, FLOAT, FLOATING, SIXTEEN, compute_type, name_of
from rushlight.aot_c.generators.convolution import (
    TAPS,
    Convolution,
    batch_and_group,
    declare_tap_range,
    input_place,
    lanes_of,
    open_images_and_groups,
    open_loop,
    open_positions,
    open_taps,
    plus_lane,
    result_place,
    weight_place,
)
from rushlight.aot_c.generators.elementwise import broadcast
from rushlight.aot_c.generators.gemm import SUMS_TOGETHER
from rushlight.aot_c.generators.pooling import Planes, declare_box, pooled_shape, read_pooling
from rushlight.aot_c.generators.quantization import Requantizer, float_parameter, require_bytes
from rushlight.aot_c.generators.reductions import axes_of, reduced_shape
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType


def parameter_number(k: Kernel, tensor: TensorValue, name: str, at: str) -> str:
    """Reads an element of a parameter tensor as float. As in the runtime, integers become float64 first."""
    compute = compute_type(tensor.dtype)
    if compute == FLOAT:
        return k.load(f"{name}[{at}]", tensor.dtype, FLOAT)
    if compute == DOUBLE:
        return f"(float){name}[{at}]"
    return f"(float)(double){name}[{at}]"


class _Products:
    """The operands of int8 products, whose int32 sums `s0`, `s1`, ... become quantized results.

    Attributes:
        in_zero: the C expression of the zero point of the input.
    """

    def __init__(
        self,
        k: Kernel,
        source: TensorValue,
        weight: TensorValue,
        scales: TensorValue,
        bias: TensorValue | None,
        out: TensorValue,
        position: int,
    ) -> None:
        """Declares the parameters of the C function.

        Args:
            k: the kernel, whose arguments 1 and 2 are the scale and the zero point of the input.
            source: the input.
            weight: the weight.
            scales: the scales of the weight, one element or one for each output channel.
            bias: the bias, if there is one.
            out: the result.
            position: the position of the quantization parameters of the result.
        """
        self.k, self.scales, self.bias, self.out = k, scales, bias, out
        k.read(source, "in")
        k.read(weight, "weight")
        k.read(scales, "scales")
        if bias is not None:
            k.read(bias, "bias")
        k.write(out)
        self.in_scale = float_parameter(k, "in_scale", k.real(1))
        self.in_zero = k.value("int32_t", "in_zero", str(k.integer(2)))
        self._requantize = Requantizer(k, position)

    def declare_sums(self, lanes: Iterable[int]) -> None:
        """Declares the sums."""
        self.k.code.add(f"int32_t {', '.join(f's{lane} = 0' for lane in lanes)};")

    def result(self, lane: int, channel: str) -> str:
        """Returns the quantized result of a sum for an output channel."""
        scale = parameter_number(self.k, self.scales, "scales", "0" if self.scales.numel == 1 else channel)
        real = f"(float)s{lane} * ({scale} * {self.in_scale})"
        if self.bias is not None:
            real = f"{real} + {parameter_number(self.k, self.bias, 'bias', channel)}"
        return self._requantize(real, self.out)


def _convolution(k: Kernel) -> None:
    source, weight, scales, bias, out = (
        k.tensor(0),
        k.tensor(3),
        k.tensor(4),
        k.optional_tensor(5),
        k.tensor(16),
    )
    require_bytes(k, source, out)
    k.require(weight.dtype == ScalarType.CHAR, "the weight is not int8")
    c = Convolution.read(k, source, weight, out, 6)
    outputs = c.outputs * c.groups
    k.require(
        scales.numel in (1, outputs) and scales.is_row_major,
        "there must be one scale, or one scale for each output channel",
    )
    k.require(
        bias is None or bias.numel == outputs,
        "the size of the bias differs from the number of output channels",
    )
    if out.numel == 0:
        return
    products = _Products(k, source, weight, scales, bias, out, 12)
    lanes = lanes_of(c)
    _, g = batch_and_group(c)
    with ExitStack() as stack:
        open_images_and_groups(k, c, stack)
        for axis in range(3):
            open_positions(k, c, axis, stack, _has_named_position(c, axis))
            declare_tap_range(k, c, axis)
        open_loop(k, stack, "o", c.outputs, len(lanes))
        products.declare_sums(lanes)
        _add_products(k, c, products.in_zero, lanes)
        for lane in lanes:
            channel = terms((g, c.outputs), plus_lane("o", lane))
            k.code.add(f"out[{result_place(c, lane)}] = {products.result(lane, channel)};")


def _has_named_position(c: Convolution, axis: int) -> bool:
    """Returns whether an axis of the result with one position has a C variable for this position."""
    return c.out.size[axis] == 1 and (c.touches_edge(axis) or c.window.kernel[axis] > 1)


def _add_products(k: Kernel, c: Convolution, in_zero: str, lanes: Iterable[int]) -> None:
    """Writes the loops over input channels and taps, which add the products to the sums `s0`, `s1`, ...

    Args:
        k: the kernel.
        c: the convolution.
        in_zero: the C expression of the zero point of the input.
        lanes: the numbers of the sums, one for each of several output channels.
    """
    code = k.code
    # The loop over input channels is the innermost loop if the channels of a pixel are adjacent in memory.
    channels_inside = c.inputs > 1 and c.source.channel_stride == 1
    places = input_place(c)
    taps: list[tuple[str, int]] = []
    with ExitStack() as stack:
        if c.inputs > 1 and not channels_inside:
            open_loop(k, stack, "i", c.inputs)
        for axis in range(3):
            place = open_taps(k, c, axis, stack)
            if place is not None:
                has_position = c.out.size[axis] != 1 or _has_named_position(c, axis)
                places.append((place if has_position else "0", c.source.stride[axis]))
            if c.window.kernel[axis] > 1 or (place is not None and c.touches_edge(axis)):
                taps.append((TAPS[axis], c.tap_stride[axis]))
        if channels_inside:
            open_loop(k, stack, "i", c.inputs)
        code.add(f"const int32_t value = in[{terms(*places)}] - {in_zero};")
        for lane in lanes:
            place = weight_place(c, lane, taps)
            code.add(f"s{lane} += value * weight[{place}];")


def _linear(k: Kernel) -> None:
    source, weight, scales, bias, out = (
        k.tensor(0),
        k.tensor(3),
        k.tensor(4),
        k.optional_tensor(5),
        k.tensor(10),
    )
    require_bytes(k, source, out)
    k.require(
        weight.dtype == ScalarType.CHAR and weight.rank == 2, "the weight is not an int8 tensor of rank 2"
    )
    columns, depth = weight.sizes
    k.require(source.rank > 0, f"{source.describe()} has no dimensions")
    k.require_shape(out, [*source.sizes[:-1], columns])
    k.require(source.sizes[-1] == depth, "the last dims of input and weight differ")
    k.require(source.is_row_major and out.is_row_major, "a tensor is not in row-major order")
    k.require(
        scales.numel in (1, columns) and scales.rank < 2 or scales.sizes[-1] == 1,
        "scales for groups are not supported",
    )
    if out.numel == 0:
        return
    products = _Products(k, source, weight, scales, bias, out, 6)
    code = k.code
    rows = out.numel // columns

    def add_columns(width: int) -> None:
        lanes = range(width)
        products.declare_sums(lanes)
        with code.block(f"for (ptrdiff_t k = 0; k < {depth}; ++k)"):
            code.add(f"const int32_t x = in[{terms(('r', depth), 'k')}] - {products.in_zero};")
            for lane in lanes:
                place = terms((plus_lane("c", lane), weight.strides[0]), ("k", weight.strides[1]))
                code.add(f"s{lane} += x * weight[{place}];")
        for lane in lanes:
            column = plus_lane("c", lane)
            code.add(f"out[{terms(('r', columns), column)}] = {products.result(lane, column)};")

    with code.block(f"for (ptrdiff_t r = 0; r < {rows}; ++r)"):
        whole = columns - columns % SUMS_TOGETHER
        if whole:
            with code.block(f"for (ptrdiff_t c = 0; c < {whole}; c += {SUMS_TOGETHER})"):
                add_columns(SUMS_TOGETHER)
        if whole < columns:
            with code.block(f"for (ptrdiff_t c = {whole}; c < {columns}; ++c)"):
                add_columns(1)


def _binary(operator: str) -> Generator:
    def generate(k: Kernel) -> None:
        a, b, out = k.tensor(0), k.tensor(5), k.tensor(14)
        require_bytes(k, a, b, out)
        k.require_shape(out, broadcast([a, b]))
        if out.numel == 0:
            return
        k.read(a, "a")
        k.read(b, "b")
        k.write(out)
        k.in_place = True
        parts = [
            (
                float_parameter(k, f"{name}_scale", k.real(first)),
                float_parameter(k, f"{name}_zero", k.integer(first + 1)),
            )
            for name, first in (("a", 1), ("b", 6))
        ]
        requantize = Requantizer(k, 10)
        with Nest.over(out.sizes, a, b, out).sort_by(2).collapse().emit(k.code) as (at, other, to):
            k.code.add(f"const float x = ((float)a[{at}] - {parts[0][1]}) * {parts[0][0]};")
            k.code.add(f"const float y = ((float)b[{other}] - {parts[1][1]}) * {parts[1][0]};")
            k.code.add(f"out[{to}] = {requantize(f'x {operator} y', out)};")

    return generate


def _avg_pool(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(12)
    require_bytes(k, source, out)
    window = read_pooling(k, source, 2, 3, None, 6)
    count_padding = k.flag(7)
    k.require_shape(out, pooled_shape(k, source, 2, window, k.flag(6)))
    if out.numel == 0:
        return
    k.read(source, "in")
    k.write(out)
    factor = float_parameter(k, "in_scale", k.real(1))
    in_zero = k.value("int64_t", "in_zero", str(k.integer(2)))
    requantize = Requantizer(k, 8)
    planes = Planes(k, source, out, 2)
    code = k.code
    with ExitStack() as stack:
        planes.open(stack)
        declare_box(k, planes, window)
        code.add("int64_t sum = 0;")
        with code.block("for (ptrdiff_t py = y_first; py < y_last; ++py)"):
            with code.block("for (ptrdiff_t px = x_first; px < x_last; ++px)"):
                code.add(f"sum += in[{planes.source()}];")
        code.add("const int64_t rows = y_last > y_first ? y_last - y_first : 0;")
        code.add("const int64_t columns = x_last > x_first ? x_last - x_first : 0;")
        code.add("const int64_t covered = rows * columns;")
        divisor = "(int64_t)(y_stop - y_start) * (x_stop - x_start)" if count_padding else "covered"
        code.add(f"const float real = (float)(sum - {in_zero} * covered) * {factor};")
        real = f"covered == 0 ? 0.0f : real / (float)({divisor})"
        code.add(f"out[{planes.place}] = {requantize(real, out)};")


def _mean(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(9)
    require_bytes(k, source, out)
    axes = axes_of(k, k.ints(3), source.rank)
    keepdim = k.flag(4)
    k.require_shape(out, reduced_shape(source, axes, keepdim))
    results, elements = Nest(2), Nest(1)
    position = 0
    for d, size in enumerate(source.sizes):
        if d in axes:
            elements.push(size, source.strides[d])
        else:
            results.push(size, out.strides[position], source.strides[d])
        if d not in axes or keepdim:
            position += 1
    elements.sort_by(0).collapse()
    if results.numel == 0:
        return
    k.read(source, "in")
    k.write(out)
    factor = float_parameter(k, "in_scale", k.real(1))
    in_zero = k.value("int64_t", "in_zero", str(k.integer(2)))
    requantize = Requantizer(k, 5)
    count = elements.numel
    with results.emit(k.code) as (to, at):
        k.code.add("int64_t sum = 0;")
        with elements.emit(k.code, "e") as (element,):
            k.code.add(f"sum += in[{plus(at, element)}];")
        k.code.add(
            f"const float real = (float)(sum - {in_zero} * {count}) * {factor} / {float_literal(count)};"
        )
        k.code.add(f"out[{to}] = {requantize('real', out)};")


def _lookup(k: Kernel) -> None:
    source, table, out = k.tensor(0), k.tensor(1), k.tensor(2)
    require_bytes(k, source)
    k.require(
        table.numel == 256 and table.is_row_major and table.dtype == out.dtype,
        "the table must have 256 elements of the dtype of the result",
    )
    k.require_shape(out, source.sizes)
    if out.numel == 0:
        return
    k.read(source, "in")
    k.read(table, "table")
    k.write(out)
    k.in_place = True
    with Nest.over(out.sizes, source, out).sort_by(1).collapse().emit(k.code) as (at, to):
        index = f"in[{at}] + 128" if source.dtype == ScalarType.CHAR else f"in[{at}]"
        k.code.add(f"out[{to}] = table[{index}];")


def _softmax(k: Kernel) -> None:
    source, table, out = k.tensor(0), k.tensor(1), k.tensor(7)
    require_bytes(k, source, out)
    k.require(
        table.numel == 256 and table.is_row_major and table.dtype == ScalarType.INT,
        "exponentials must be int32 with 256 elements",
    )
    k.require_shape(out, source.sizes)
    if out.numel == 0:
        return
    axes = axes_of(k, [k.integer(2)], source.rank)
    rows = Nest(2)
    length, stride, step = 1, 0, 0
    for d, size in enumerate(source.sizes):
        if d in axes:
            length, stride, step = size, source.strides[d], out.strides[d]
        else:
            rows.push(size, source.strides[d], out.strides[d])
    k.read(source, "in")
    k.read(table, "exponentials")
    k.write(out)
    requantize = Requantizer(k, 3)
    each = f"for (int32_t at = 0; at < {length}; ++at)"
    with rows.collapse().emit(k.code) as (row, result):
        number = f"in[{terms(row, ('at', stride))}]"
        k.code.add(f"int32_t largest = in[{row}];")
        k.code.add(f"{each} largest = {number} > largest ? {number} : largest;")
        k.code.add("int64_t sum = 0;")
        k.code.add(f"{each} sum += exponentials[largest - {number}];")
        k.code.add("const float share = sum == 0 ? 0.0f : 1.0f / (float)sum;")
        with k.code.block(each):
            k.code.add(f"const float real = (float)exponentials[largest - {number}] * share;")
            k.code.add(f"out[{terms(result, ('at', step))}] = {requantize('real', out)};")


class GroupedWeight:
    """A quantized weight [rows, columns]. A row, or each group of a row, has a scale and a zero point."""

    def __init__(
        self, k: Kernel, weight: TensorValue, bits: int, scales: TensorValue, zeros: TensorValue | None
    ) -> None:
        self.k, self.bits, self.scales, self.zeros = k, bits, scales, zeros
        k.require(
            weight.rank == 2 and weight.dtype in BYTES, "the weight is not an int8 or uint8 tensor of rank 2"
        )
        k.require(bits == 8 or weight.dtype == ScalarType.BYTE, "packed weights must be uint8")
        k.require(
            weight.is_row_major and scales.is_row_major, "the weight or its scales are not in row-major order"
        )
        self.rows, self.stride = weight.sizes
        self.columns = self.stride * (8 // bits)
        groups = scales.sizes[1] if scales.rank == 2 else 1
        shared = scales.rank < 2 and scales.numel == 1
        wrong = f"scales {scales.describe()} do not match a weight of shape [{self.rows}, {self.columns}]"
        k.require(groups > 0 and (shared or scales.numel == self.rows * groups), wrong)
        k.require(self.columns % groups == 0, wrong)
        self.group = max(self.columns // groups, 1)
        self.scale_step = 0 if shared and self.rows != 1 else groups
        k.read(weight, "weight")
        k.read(scales, "scales")
        if zeros is not None:
            k.require(
                zeros.numel == scales.numel and zeros.is_row_major, "the zero points do not match the scales"
            )
            k.read(zeros, "zeros")

    def number(self, row: str, column: str) -> str:
        """Writes the integer at (row, column)."""
        base = terms((row, self.stride))
        if self.bits == 8:
            return f"weight[{plus(base, column)}]"
        place = plus(base, f"{_in_brackets(column)} / {8 // self.bits}")
        if self.bits == 4:
            shift = f"({_in_brackets(column)} % 2 == 0 ? weight[{place}] >> 4 : weight[{place}] & 15)"
            return f"({shift} - 8)"
        return f"((weight[{place}] >> {_in_brackets(column)} % 4 * 2 & 3) - 2)"

    def part(self, row: str, column: str) -> str:
        """Writes the index of the scale of the element at (row, column)."""
        own = f"{_in_brackets(column)} / {self.group}" if self.group < self.columns else "0"
        return plus(terms((row, self.scale_step)), own)

    def declare_real(self, row: str, column: str, name: str) -> None:
        """Declares a C variable with the dequantized element at (row, column), in the dtype of the scales."""
        k, code = self.k, self.k.code
        part = self.part(row, column)
        code.add(f"float {name} = (float){self.number(row, column)};")
        if self.zeros is not None:
            value = f"{name} - {parameter_number(k, self.zeros, 'zeros', part)}"
            code.add(f"{name} = {self._rounded(value)};")
        scaled = f"{name} * {parameter_number(k, self.scales, 'scales', part)}"
        code.add(f"{name} = {self._rounded(scaled)};")

    def _rounded(self, value: str) -> str:
        return self.k.narrow(value, self.scales.dtype) if self.scales.dtype in SIXTEEN else value


def _in_brackets(text: str) -> str:
    return text if text.isidentifier() else f"({text})"


def _multiply_weight(
    k: Kernel,
    source: TensorValue,
    weight: GroupedWeight,
    bias: TensorValue | None,
    out: TensorValue,
    is_transposed: bool = True,
) -> None:
    """Multiplies rows of an input by a weight, or by its transpose, which is dequantized on the way."""
    columns, depth = (weight.rows, weight.columns) if is_transposed else (weight.columns, weight.rows)
    k.require_shape(out, [*source.sizes[:-1], columns])
    k.require(source.is_row_major and out.is_row_major, "a tensor is not in row-major order")
    k.require(
        source.dtype in FLOATING and source.dtype != DOUBLE,
        f"an input of {name_of(source.dtype)} is not supported",
    )
    if out.numel == 0:
        return
    k.read(source, "in")
    if bias is not None:
        k.read(bias, "bias")
    k.write(out)
    code = k.code
    with code.block(f"for (ptrdiff_t c = 0; c < {columns}; ++c)"):
        with code.block(f"for (ptrdiff_t r = 0; r < {out.numel // columns}; ++r)"):
            code.add("float sum = 0;")
            with code.block(f"for (ptrdiff_t k = 0; k < {depth}; ++k)"):
                weight.declare_real(*(("c", "k") if is_transposed else ("k", "c")), "w")
                if source.dtype in SIXTEEN:
                    code.add(f"w = {k.narrow('w', source.dtype)};")
                x = k.load(f"in[{terms(('r', depth), 'k')}]", source.dtype, FLOAT)
                code.add(f"sum += {x} * w;")
            if bias is not None:
                code.add(f"sum += {parameter_number(k, bias, 'bias', 'c')};")
            code.add(f"out[{terms(('r', columns), 'c')}] = {k.store('sum', FLOAT, out.dtype)};")


def _mixed_mm(k: Kernel) -> None:
    """Multiplies an input [M, K] by a weight [K, N] whose rows, or groups of a row, have scales."""
    source, out = k.tensor(0), k.tensor(4)
    weight = GroupedWeight(k, k.tensor(1), 8, k.tensor(2), k.optional_tensor(3))
    k.require(source.rank == 2, f"{source.describe()} is not a matrix")
    k.require(source.sizes[1] == weight.rows, "the columns of the input differ from the rows of the weight")
    k.require(source.dtype == out.dtype, "the dtypes of input and result differ")
    _multiply_weight(k, source, weight, None, out, is_transposed=False)


def _linear_4bit(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(5)
    weight = GroupedWeight(k, k.tensor(1), 4, k.tensor(2), k.optional_tensor(3))
    _multiply_weight(k, source, weight, k.optional_tensor(4), out)


def _mixed_linear(k: Kernel) -> None:
    weight = GroupedWeight(k, k.tensor(1), 8, k.tensor(2), k.optional_tensor(3))
    _multiply_weight(k, k.tensor(0), weight, None, k.tensor(5))


def _embedding(bits: int, with_dtype: bool) -> Generator:
    def generate(k: Kernel) -> None:
        scales, index, out = k.tensor(1), k.tensor(5), k.tensor(7 if with_dtype else 6)
        weight = GroupedWeight(k, k.tensor(0), bits, scales, k.optional_tensor(2))
        k.require(
            index.dtype in (ScalarType.INT, ScalarType.LONG),
            "the dtype of the indices is neither int32 nor int64",
        )
        k.require_shape(out, [*index.sizes, weight.columns])
        k.require(index.is_row_major and out.is_row_major, "a tensor is not in row-major order")
        k.require(
            out.dtype in ELEMENTS and out.dtype in FLOATING and out.dtype != DOUBLE,
            f"a result of {name_of(out.dtype)} is not supported",
        )
        if out.numel == 0:
            return
        k.read(index, "index")
        k.write(out)
        code = k.code
        with code.block(f"for (ptrdiff_t e = 0; e < {index.numel}; ++e)"):
            k.fail_if(f"index[e] < 0 || index[e] >= {weight.rows}")
            code.add("const ptrdiff_t row = (ptrdiff_t)index[e];")
            with code.block(f"for (ptrdiff_t c = 0; c < {weight.columns}; ++c)"):
                weight.declare_real("row", "c", "value")
                code.add(f"out[{terms(('e', weight.columns), 'c')}] = {k.store('value', FLOAT, out.dtype)};")

    return generate


GENERATORS: dict[str, Generator] = {
    "rushlight::quantized_convolution.out": _convolution,
    "rushlight::quantized_linear.out": _linear,
    "quantized_decomposed::add.out": _binary("+"),
    "rushlight::quantized_mul.out": _binary("*"),
    "rushlight::quantized_avg_pool2d.out": _avg_pool,
    "rushlight::quantized_mean.out": _mean,
    "rushlight::quantized_lookup.out": _lookup,
    "rushlight::quantized_softmax.out": _softmax,
    "rushlight::linear_4bit.out": _linear_4bit,
    "quantized_decomposed::mixed_linear.out": _mixed_linear,
    "quantized_decomposed::mixed_mm.out": _mixed_mm,
    "quantized_decomposed::embedding_byte.out": _embedding(8, False),
    "quantized_decomposed::embedding_byte.dtype_out": _embedding(8, True),
    "quantized_decomposed::embedding_4bit.out": _embedding(4, False),
    "quantized_decomposed::embedding_4bit.dtype_out": _embedding(4, True),
    "quantized_decomposed::embedding_2bit.out": _embedding(2, False),
    "quantized_decomposed::embedding_2bit.dtype_out": _embedding(2, True),
}
