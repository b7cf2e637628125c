"""Quantize and dequantize operators: real = (q - zero_point) * scale.

Example: `quantize_per_tensor` of float32[4] to int8.

    static void quantize_per_tensor_0(float inverse, float zero, const f32 *restrict in, i8 *restrict out) {
      for (ptrdiff_t i = 0; i < 4; ++i) {
        float x = in[i] * inverse;
        x = round_even_float(x) + zero;
        x = x < -128.0f ? -128.0f : x;
        x = x > 127.0f ? 127.0f : x;
        out[i] = (int8_t)to_int32_float(x);
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rushlight.aot_c.code import float32
from rushlight.aot_c.dtypes import (
    BYTES,
    C_TYPES,
    DOUBLE,
    FLOAT,
    FLOATING,
    LONG,
    SIXTEEN,
    c_compute,
    compute_type,
    name_of,
    result_type,
    size_of,
)
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType

QUANTIZED = frozenset({ScalarType.BYTE, ScalarType.CHAR, ScalarType.SHORT, ScalarType.INT, ScalarType.UINT16})


@dataclass
class Parts:
    """The quantization parameters of the parts of a tensor: the whole tensor, channels, groups or tokens.

    Attributes:
        scale: maps the index of a part to the C expression of its scale, or of the reciprocal of its scale.
        zero: maps the index of a part to the C expression of its zero point.
    """

    scale: Callable[[str], str]
    zero: Callable[[str], str]


def inverse_of(k: Kernel, position: int) -> float:
    """Returns the reciprocal, in float32, of an argument that is a constant scale."""
    scale = k.real(position)
    k.require(scale != 0, "the scale is 0")
    return float32(1.0 / scale)


def _nest_of_whole(k: Kernel, out: TensorValue, source: TensorValue) -> Nest:
    """Makes loops over all elements of a tensor whose parts have equal parameters."""
    k.require_shape(out, source.sizes)
    nest = Nest(3)
    for d, size in enumerate(out.sizes):
        nest.push(size, out.strides[d], source.strides[d], 0)
    return nest


def _nest_of_axis(k: Kernel, out: TensorValue, source: TensorValue, axis: int) -> Nest:
    """Makes loops over all elements of a tensor whose parts are the indices of one axis."""
    k.require_shape(out, source.sizes)
    nest = Nest(3)
    for d, size in enumerate(out.sizes):
        nest.push(size, out.strides[d], source.strides[d], 1 if d == axis else 0)
    return nest


def _last_size(k: Kernel, tensor: TensorValue) -> int:
    """Returns the size of the last axis of a tensor."""
    k.require(tensor.rank > 0, "the tensor has no dimensions")
    return tensor.sizes[-1]


def _nest_of_groups(k: Kernel, out: TensorValue, source: TensorValue, group: int) -> Nest:
    """Makes loops over all elements of a tensor whose parts are groups along the last axis."""
    k.require_shape(out, source.sizes)
    nest = Nest(3)
    groups = _last_size(k, out) // group if group else 0
    part = groups
    for size in out.sizes[:-1]:
        part *= size
    for d, size in enumerate(out.sizes[:-1]):
        part = part // size if size else 0
        nest.push(size, out.strides[d], source.strides[d], part)
    nest.push(groups, group * out.strides[-1], group * source.strides[-1], 1)
    nest.push(group, out.strides[-1], source.strides[-1], 0)
    return nest


def _round_to(k: Kernel, common: ScalarType, name: str) -> None:
    """Rounds a C variable to float16 or bfloat16; does nothing for other dtypes."""
    if common in SIXTEEN:
        k.code.add(f"{name} = {k.narrow(name, common)};")


def _quantize(
    k: Kernel,
    nest: Nest,
    source: TensorValue,
    out: TensorValue,
    parts: Parts,
    common: ScalarType,
    quant_min: int,
    quant_max: int,
    zero_first: bool = False,
) -> None:
    k.require(
        out.dtype in QUANTIZED and source.dtype in FLOATING,
        f"quantizing {name_of(source.dtype)} to {name_of(out.dtype)} is not supported",
    )
    k.require_shape(out, source.sizes)
    nest.sort_by(0).collapse()
    if nest.numel == 0:
        return
    compute = compute_type(common)
    c = c_compute(compute)
    code = k.code
    least, most = (k.constant(float(number), compute) for number in (quant_min, quant_max))
    k.read(source, "in")
    k.write(out)
    rounded = f"round_even_{c}"
    with nest.emit(code) as (to, at, part):
        code.add(f"{c} x = {k.load(f'in[{at}]', source.dtype, compute)} * {parts.scale(part)};")
        _round_to(k, common, "x")
        if zero_first:
            code.add(f"x = x + {parts.zero(part)};")
            _round_to(k, common, "x")
            code.add(f"x = {k.call(rounded, 'x')};")
        else:
            code.add(f"x = {k.call(rounded, 'x')} + {parts.zero(part)};")
        code.add(f"x = x < {least} ? {least} : x;")
        code.add(f"x = x > {most} ? {most} : x;")
        _round_to(k, common, "x")
        code.add(f"out[{to}] = ({C_TYPES[out.dtype]}){k.call(f'to_int32_{c}', 'x')};")


def _dequantize(
    k: Kernel,
    nest: Nest,
    source: TensorValue,
    out: TensorValue,
    parts: Parts,
    common: ScalarType,
    exact_zero: bool = False,
    float_zero: bool = False,
    wide_zero: Callable[[str], str] | None = None,
) -> None:
    k.require(
        source.dtype in QUANTIZED and out.dtype in FLOATING,
        f"dequantizing {name_of(source.dtype)} to {name_of(out.dtype)} is not supported",
    )
    k.require_shape(out, source.sizes)
    nest.sort_by(0).collapse()
    if nest.numel == 0:
        return
    compute = DOUBLE if common == DOUBLE else FLOAT
    c = c_compute(compute)
    code = k.code
    k.read(source, "in")
    k.write(out)
    with nest.emit(code) as (to, at, part):
        if exact_zero and size_of(source.dtype) > 2 and wide_zero is not None:
            code.add(f"{c} x = ({c})((double)in[{at}] - {wide_zero(part)});")
        else:
            code.add(f"{c} x = ({c})in[{at}];")
            if not exact_zero:
                _round_to(k, common, "x")
            code.add(f"x = x - {parts.zero(part)};")
            if float_zero and compute == DOUBLE:
                code.add("x = (float)x;")
        _round_to(k, common, "x")
        code.add(f"x = x * {parts.scale(part)};")
        _round_to(k, common, "x")
        code.add(f"out[{to}] = {k.store('x', compute, out.dtype)};")


def _numbers(
    k: Kernel, tensor: TensorValue, name: str, compute: ScalarType, invert: bool
) -> Callable[[str], str]:
    """Reads elements of a tensor of scales or zero points. Reciprocals are computed in its dtype."""
    k.require(tensor.is_row_major, f"the {name} are not in row-major order")
    k.read(tensor, name)
    own = compute_type(tensor.dtype)
    c = c_compute(compute)

    def element(at: str) -> str:
        text = f"{name}[{at}]"
        if not invert:
            loaded = k.load(text, tensor.dtype, own)
            return loaded if own == compute else f"({c}){loaded}"
        if own == LONG:
            return f"({c})(1 / (float){text})"
        value = f"1 / {k.load(text, tensor.dtype, own)}"
        if tensor.dtype in SIXTEEN:
            return f"({c}){k.narrow(value, tensor.dtype)}"
        return f"({value})" if own == compute else f"({c})({value})"

    return element


def _quantize_tensor(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(6)
    inverse = inverse_of(k, 1)
    scale = k.value("float", "inverse", k.constant(inverse, FLOAT))
    zero = k.value("float", "zero", k.constant(float32(float(k.integer(2))), FLOAT))
    parts = Parts(lambda at: scale, lambda at: zero)
    _quantize(k, _nest_of_whole(k, out, source), source, out, parts, FLOAT, k.integer(3), k.integer(4))


def _dequantize_tensor(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(7)
    common = k.optional_dtype(6)
    common = FLOAT if common is None else common
    compute = DOUBLE if common == DOUBLE else FLOAT
    c = c_compute(compute)
    scale = k.value(c, "scale", k.constant(k.real(1), compute))
    zero = k.value(c, "zero", k.constant(float(k.integer(2)), compute))
    parts = Parts(lambda at: scale, lambda at: zero)
    _dequantize(k, _nest_of_whole(k, out, source), source, out, parts, common)


def _quantize_by_tensor(k: Kernel) -> None:
    """Writes quantize_per_tensor with a scale and a zero point in tensors of one element."""
    source, scale, zero, out = k.tensor(0), k.tensor(1), k.tensor(2), k.tensor(6)
    k.require(scale.numel == zero.numel == 1, "scale and zero point must have one element each")
    wide = _numbers(k, scale, "scale", DOUBLE, False)("0")
    zero_text = _numbers(k, zero, "zero", DOUBLE, False)("0")
    k.code.add(f"const float inverse = (float)(1.0 / {wide});")
    k.code.add(f"const float offset = (float)(double)(int64_t){zero_text};")
    parts = Parts(lambda at: "inverse", lambda at: "offset")
    _quantize(k, _nest_of_whole(k, out, source), source, out, parts, FLOAT, k.integer(3), k.integer(4))


def _dequantize_by_tensor(k: Kernel) -> None:
    source, scale, zero, out = k.tensor(0), k.tensor(1), k.tensor(2), k.tensor(7)
    k.require(scale.numel == zero.numel == 1, "scale and zero point must have one element each")
    common = k.optional_dtype(6)
    common = FLOAT if common is None else common
    c = c_compute(DOUBLE if common == DOUBLE else FLOAT)
    wide = _numbers(k, scale, "scale", DOUBLE, False)("0")
    zero_text = _numbers(k, zero, "zero", DOUBLE, False)("0")
    k.code.add(f"const {c} factor = ({c}){wide};")
    k.code.add(f"const {c} offset = ({c})(double)(int64_t){zero_text};")
    parts = Parts(lambda at: "factor", lambda at: "offset")
    _dequantize(k, _nest_of_whole(k, out, source), source, out, parts, common)


def _axis(k: Kernel, source: TensorValue, axis: int, scales: TensorValue) -> int:
    k.require(source.rank > 0 and -source.rank <= axis < source.rank, "the axis is out of range")
    k.require(
        scales.numel == source.sizes[axis % source.rank],
        "the number of scales differs from the number of channels",
    )
    return axis % source.rank


def _quantize_channel(k: Kernel) -> None:
    source, scales, zeros, out = k.tensor(0), k.tensor(1), k.tensor(2), k.tensor(7)
    axis = _axis(k, source, k.integer(3), scales)
    common = DOUBLE if DOUBLE in (scales.dtype, zeros.dtype) else FLOAT
    parts = Parts(_numbers(k, scales, "scales", common, True), _numbers(k, zeros, "zeros", common, False))
    _quantize(k, _nest_of_axis(k, out, source, axis), source, out, parts, common, k.integer(4), k.integer(5))


def _quantize_parts(k: Kernel, nest: Nest, out: TensorValue, quant_min: int, quant_max: int) -> None:
    source, scales, zeros = k.tensor(0), k.tensor(1), k.tensor(2)
    common = result_type([(tensor.dtype, tensor.rank) for tensor in (source, scales, zeros)])
    compute = DOUBLE if common == DOUBLE else FLOAT
    parts = Parts(_numbers(k, scales, "scales", compute, True), _numbers(k, zeros, "zeros", compute, False))
    _quantize(k, nest, source, out, parts, common, quant_min, quant_max, zero_first=True)


def _dequantize_parts(k: Kernel, nest: Nest, out: TensorValue, zeros: TensorValue | None) -> None:
    source, scales = k.tensor(0), k.tensor(1)
    tensors = [source, scales, *([zeros] if zeros is not None else [])]
    common = result_type([(tensor.dtype, tensor.rank) for tensor in tensors])
    k.require(common in FLOATING, "the dtype of the scales is not floating-point")
    compute = DOUBLE if common == DOUBLE else FLOAT
    exact = zeros is None or zeros.dtype not in FLOATING
    scale = _numbers(k, scales, "scales", compute, False)
    zero: Callable[[str], str] = lambda at: "0"  # noqa: E731
    wide: Callable[[str], str] = lambda at: "0"  # noqa: E731
    if zeros is not None:
        zero = _numbers(k, zeros, "zeros", compute, False)
        wide = lambda at: f"(double)zeros[{at}]"  # noqa: E731
    _dequantize(
        k,
        nest,
        source,
        out,
        Parts(scale, zero),
        common,
        exact_zero=exact,
        float_zero=zeros is not None and zeros.dtype == FLOAT,
        wide_zero=wide,
    )


def _dequantize_channel(k: Kernel) -> None:
    source, scales, out = k.tensor(0), k.tensor(1), k.tensor(8)
    axis = _axis(k, source, k.integer(3), scales)
    _dequantize_parts(k, _nest_of_axis(k, out, source, axis), out, k.optional_tensor(2))


def _group(k: Kernel, position: int) -> int:
    source, scales, size = k.tensor(0), k.tensor(1), k.integer(position)
    k.require(source.rank == 2, "the input does not have rank 2")
    single = size > source.sizes[1] and scales.rank > 0 and scales.sizes[-1] == 1
    group = source.sizes[1] if single else size
    k.require(
        size > 1 and group > 0 and source.sizes[1] % group == 0,
        "the size of a row is not a multiple of the group size",
    )
    return group


def _quantize_group(k: Kernel) -> None:
    nest = _nest_of_groups(k, k.tensor(7), k.tensor(0), _group(k, 6))
    _quantize_parts(k, nest, k.tensor(7), k.integer(3), k.integer(4))


def _dequantize_group(k: Kernel) -> None:
    nest = _nest_of_groups(k, k.tensor(8), k.tensor(0), _group(k, 6))
    _dequantize_parts(k, nest, k.tensor(8), k.optional_tensor(2))


def _quantize_token(k: Kernel) -> None:
    source = k.tensor(0)
    nest = _nest_of_groups(k, k.tensor(6), source, _last_size(k, source))
    _quantize_parts(k, nest, k.tensor(6), k.integer(3), k.integer(4))


def _dequantize_token(k: Kernel) -> None:
    source = k.tensor(0)
    nest = _nest_of_groups(k, k.tensor(7), source, _last_size(k, source))
    _dequantize_parts(k, nest, k.tensor(7), k.tensor(2))


def require_bytes(k: Kernel, *tensors: TensorValue) -> None:
    """Raises Unsupported if a tensor is neither int8 nor uint8."""
    k.require(all(tensor.dtype in BYTES for tensor in tensors), "a tensor is neither int8 nor uint8")


class Requantizer:
    """Writes clamp(round(real / scale) + zero, least, most). The numbers are parameters of the C function."""

    def __init__(self, k: Kernel, first: int) -> None:
        """Reads scale, zero point, least and most, starting at argument `first`."""
        self.k = k
        self.inverse = k.value("float", "inverse", k.constant(inverse_of(k, first), FLOAT))
        names = ("out_zero", "least", "most")
        self.zero, self.least, self.most = (
            k.value("float", name, k.constant(float32(float(k.integer(first + 1 + i))), FLOAT))
            for i, name in enumerate(names)
        )

    def __call__(self, real: str, out: TensorValue) -> str:
        """Writes the quantized element of a real number; `real` is a C expression of type float."""
        whole = self.k.call("requantize", real, self.inverse, self.zero, self.least, self.most)
        return f"({C_TYPES[out.dtype]}){whole}"


def float_parameter(k: Kernel, name: str, value: float) -> str:
    """Declares a parameter of type float. Returns its name."""
    return k.value("float", name, k.constant(float32(value), FLOAT))


GENERATORS: dict[str, Generator] = {
    "quantized_decomposed::quantize_per_tensor.out": _quantize_tensor,
    "quantized_decomposed::quantize_per_tensor.Tensor_out": _quantize_by_tensor,
    "quantized_decomposed::quantize_per_channel.out": _quantize_channel,
    "quantized_decomposed::quantize_per_channel_group.out": _quantize_group,
    "quantized_decomposed::quantize_per_token.out": _quantize_token,
    "quantized_decomposed::dequantize_per_tensor.out": _dequantize_tensor,
    "quantized_decomposed::dequantize_per_tensor.Tensor_out": _dequantize_by_tensor,
    "quantized_decomposed::dequantize_per_tensor.tensor2_out": _dequantize_by_tensor,
    "quantized_decomposed::dequantize_per_channel.out": _dequantize_channel,
    "quantized_decomposed::dequantize_per_channel_group.out": _dequantize_group,
    "quantized_decomposed::dequantize_per_token.out": _dequantize_token,
}
