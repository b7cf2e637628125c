"""Quantization parameters that are chosen from the values at run time, and linear layers that use them.

Example: `choose_qparams_per_token_symmetric` of float32[2, 3].

    static void choose_qparams_per_token_symmetric_0(const f32 *restrict in, f32 *restrict scales,
        i64 *restrict zeros) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        float most = 0;
        for (ptrdiff_t c = 0; c < 3; ++c) {
          const float magnitude = fabsf(in[3 * i + c]);
          if (!(magnitude <= most)) most = magnitude;
          if (magnitude != magnitude) break;
        }
        const float step = most / 127.5f;
        const float scale = step < 1e-05f ? 1e-05f : step;
        scales[i] = scale;
        zeros[i] = 0;
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from rushlight.aot_c.code import float_literal, terms
from rushlight.aot_c.dtypes import DOUBLE, FLOAT, FLOATING, LONG, c_compute, name_of
from rushlight.aot_c.generators.quantized import GroupedWeight, parameter_number
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import TensorValue
from rushlight.format.program import ScalarType

_LEAST_TOKEN, _MOST_TOKEN = -128, 127
_SMALLEST_TOKEN_SCALE = 2.0**-23
"""The range of a quantized token, and its smallest scale."""


@dataclass(frozen=True)
class _Levels:
    """The range of the quantized numbers, and the smallest scale."""

    least: int
    most: int
    smallest_scale: float

    @classmethod
    def read(cls, k: Kernel, position: int) -> _Levels:
        """Reads quant_min, quant_max and eps, starting at an argument."""
        levels = cls(k.integer(position), k.integer(position + 1), k.real(position + 2))
        k.require(
            -(2**31) <= levels.least < levels.most < 2**31,
            f"quant_min {levels.least} is not below quant_max {levels.most}, or one of them exceeds int32",
        )
        return levels


def _require_tensor(k: Kernel, source: TensorValue) -> None:
    k.require(
        source.dtype in FLOATING and source.dtype != DOUBLE,
        f"an input of {name_of(source.dtype)} is not supported",
    )
    k.require(source.numel > 0, "an empty tensor has no range")


def _declare_extremes(k: Kernel, source: TensorValue) -> None:
    """Declares the smallest and the largest element of `in` as C variables. Both are NaN if an element is."""
    code = k.code
    k.headers.add("math.h")
    code.add("float least = INFINITY, most = -INFINITY;")
    code.add("bool has_nan = false;")
    with Nest.over(source.sizes, source).sort_by(0).collapse().emit(code) as (at,):
        code.add(f"const float x = {k.load(f'in[{at}]', source.dtype, FLOAT)};")
        _extend_range(k)
    code.add("if (has_nan) least = most = NAN;")


def _extend_range(k: Kernel) -> None:
    """Writes the comparison of the C variable `x` with `least` and `most`."""
    k.code.add("least = x < least ? x : least;")
    k.code.add("most = x > most ? x : most;")
    k.code.add("has_nan = has_nan || x != x;")


def _declare_scale(k: Kernel, value: str, dtype: ScalarType, levels: _Levels) -> None:
    """Declares the scale, which is rounded to the dtype of the input and is at least the smallest scale."""
    smallest = float_literal(levels.smallest_scale)
    k.code.add(f"const float step = {k.narrow(value, dtype)};")
    k.code.add(f"const float scale = step < {smallest} ? {smallest} : step;")


def _declare_affine(k: Kernel, dtype: ScalarType, levels: _Levels) -> None:
    """Declares `scale` and `zero` for values between `least` and `most`, as choose_qparams does."""
    code = k.code
    code.add("const float low = 0.0f < least ? 0.0f : least;")
    code.add("const float high = most < 0.0f ? 0.0f : most;")
    code.add(f"const float span = {k.narrow('high - low', dtype)};")
    _declare_scale(k, f"span / {float_literal(levels.most - levels.least)}", dtype, levels)
    below = k.call("to_int32_float", k.call("round_even_float", "low / scale"))
    code.add(f"const int64_t given = {levels.least} - (int64_t){below};")
    code.add(
        f"const int64_t zero = given < {levels.least} ? {levels.least} "
        f": (given > {levels.most} ? {levels.most} : given);"
    )


def _half_range(levels: _Levels) -> str:
    return float_literal((levels.most - levels.least) / 2)


def _declare_symmetric(k: Kernel, dtype: ScalarType, levels: _Levels) -> None:
    """Declares `scale` for values between `least` and `most`, as choose_qparams_symmetric does."""
    k.code.add("const float low = 0.0f < least ? 0.0f : least;")
    k.code.add("const float high = most < 0.0f ? 0.0f : most;")
    k.code.add("const float reach = -low < high ? high : -low;")
    _declare_scale(k, f"reach / {_half_range(levels)}", dtype, levels)


def _declare_token(k: Kernel, dtype: ScalarType) -> None:
    """Declares `scale` and `zero` for values between `least` <= 0 and `most` >= 0.

    `zero` is a floating-point number, and NaN if a value is NaN. Every operation is rounded to the dtype of
    the input, as choose_qparams_per_token_asymmetric does.
    """
    code = k.code
    compute = DOUBLE if dtype == DOUBLE else FLOAT
    c = c_compute(compute)
    lowest, highest, levels, smallest = (
        k.constant(float(number), compute)
        for number in (_LEAST_TOKEN, _MOST_TOKEN, _MOST_TOKEN - _LEAST_TOKEN, _SMALLEST_TOKEN_SCALE)
    )

    def declare(name: str, value: str) -> None:
        code.add(f"const {c} {name} = {k.narrow(value, dtype)};")

    declare("span", "most - least")
    declare("step", f"span / {levels}")
    code.add(f"const {c} scale = step < {smallest} ? {smallest} : step;")
    declare("below", "least / scale")
    declare("above", "most / scale")
    declare("below_error", f"{lowest} + below")
    declare("above_error", f"{highest} + above")
    declare("error", "below_error + above_error")
    from_below, from_above = k.narrow(f"{lowest} - below", dtype), k.narrow(f"{highest} - above", dtype)
    code.add(f"const {c} given = error > 0 ? {from_below} : {from_above};")
    code.add(f"const {c} inside = given < {lowest} ? {lowest} : (given > {highest} ? {highest} : given);")
    declare("zero", k.call(f"round_even_{c}", "inside"))


def _store_whole(k: Kernel, compute: ScalarType, dtype: ScalarType) -> str:
    """Returns the floating-point C variable `zero` as an element. NaN becomes the smallest int64."""
    if dtype in FLOATING:
        return k.store("zero", compute, dtype)
    return k.store("(zero == zero ? (int64_t)zero : INT64_MIN)", LONG, dtype)


def _choose(symmetric: bool) -> Generator:
    """Writes choose_qparams or choose_qparams_symmetric, for all elements of a tensor."""

    def generate(k: Kernel) -> None:
        source, scale, zero = k.tensor(0), k.tensor(5), k.tensor(6)
        levels = _Levels.read(k, 1)
        _require_tensor(k, source)
        k.require_shape(scale, [1])
        k.require_shape(zero, [1])
        k.read(source, "in")
        k.write(scale, "scales")
        k.write(zero, "zeros")
        _declare_extremes(k, source)
        number = "zero"
        if symmetric:
            _declare_symmetric(k, source.dtype, levels)
            number = "128" if k.integer(4) == ScalarType.BYTE else "0"
        else:
            _declare_affine(k, source.dtype, levels)
        k.code.add(f"scales[0] = {k.store('scale', FLOAT, scale.dtype)};")
        k.code.add(f"zeros[0] = {k.store(number, LONG, zero.dtype)};")

    return generate


def _open_tokens(
    k: Kernel, stack: ExitStack, source: TensorValue, scale: TensorValue, zero: TensorValue
) -> tuple[str, str, str] | None:
    """Opens loops over the vectors along the last dim.

    Returns:
        The indices of the first element of a vector, of its scale and of its zero point; None if there are
        no vectors.
    """
    k.require(source.rank > 0, "a tensor without dims has no tokens")
    shape = [*source.sizes[:-1], 1]
    k.require_shape(scale, shape)
    k.require_shape(zero, shape)
    if scale.numel == 0:
        return None
    k.require(source.sizes[-1] > 0, "tokens without elements have no range")
    k.read(source, "in")
    k.write(scale, "scales")
    k.write(zero, "zeros")
    nest = Nest(3)
    for d, size in enumerate(source.sizes[:-1]):
        nest.push(size, source.strides[d], scale.strides[d], zero.strides[d])
    first, scale_at, zero_at = stack.enter_context(nest.collapse().emit(k.code))
    return first, scale_at, zero_at


def _choose_for_tokens(choose: Callable[[Kernel, TensorValue, str, str, str], None], outs: int) -> Generator:
    """Writes the choice of one scale and zero point for each vector along the last dim."""

    def generate(k: Kernel) -> None:
        source, scale, zero = k.tensor(0), k.tensor(outs), k.tensor(outs + 1)
        k.require(source.dtype in FLOATING, f"an input of {name_of(source.dtype)} is not supported")
        with ExitStack() as stack:
            places = _open_tokens(k, stack, source, scale, zero)
            if places is not None:
                choose(k, source, *places)

    return generate


def _token(source: TensorValue, first: str) -> str:
    """Returns the C expression of element `c` of a vector."""
    return f"in[{plus(first, terms(('c', source.strides[-1])))}]"


def _choose_asymmetric_token(k: Kernel, source: TensorValue, first: str, scale_at: str, zero_at: str) -> None:
    scale, zero = k.tensor(2), k.tensor(3)
    compute = DOUBLE if source.dtype == DOUBLE else FLOAT
    _declare_token_extremes(k, source, _token(source, first))
    _declare_token(k, source.dtype)
    k.code.add(f"scales[{scale_at}] = {k.store('scale', compute, scale.dtype)};")
    k.code.add(f"zeros[{zero_at}] = {_store_whole(k, compute, zero.dtype)};")


def _declare_token_extremes(k: Kernel, source: TensorValue, element: str) -> None:
    """Declares the extremes of a vector and 0 as C variables. Both are NaN if an element is."""
    code = k.code
    compute = DOUBLE if source.dtype == DOUBLE else FLOAT
    k.headers.add("math.h")
    code.add(f"{c_compute(compute)} least = 0, most = 0;")
    code.add("bool has_nan = false;")
    with code.block(f"for (ptrdiff_t c = 0; c < {source.sizes[-1]}; ++c)"):
        code.add(f"const {c_compute(compute)} x = {k.load(element, source.dtype, compute)};")
        _extend_range(k)
    code.add("if (has_nan) least = most = NAN;")


def _declare_largest_magnitude(k: Kernel, source: TensorValue, element: str, compute: ScalarType) -> None:
    """Declares the largest magnitude of a vector as the C variable `most`. It is NaN if an element is."""
    c = c_compute(compute)
    k.code.add(f"{c} most = 0;")
    with k.code.block(f"for (ptrdiff_t c = 0; c < {source.sizes[-1]}; ++c)"):
        loaded = k.load(element, source.dtype, compute)
        k.code.add(f"const {c} magnitude = {k.math('fabs', compute, loaded)};")
        k.code.add("if (!(magnitude <= most)) most = magnitude;")
        k.code.add("if (magnitude != magnitude) break;")


def _choose_token(k: Kernel, source: TensorValue, first: str, scale_at: str, zero_at: str) -> None:
    """Writes choose_qparams_per_token: the scale is the largest magnitude divided by 127."""
    scale, zero = k.tensor(2), k.tensor(3)
    k.require(k.integer(1) == ScalarType.CHAR, "tokens are quantized to int8 only")
    dtype = source.dtype
    compute = DOUBLE if dtype == DOUBLE else FLOAT
    # Eager PyTorch computes on float16 in float32, and on bfloat16 in bfloat16.
    rounded = FLOAT if dtype == ScalarType.HALF else dtype
    c = c_compute(compute)
    _declare_largest_magnitude(k, source, _token(source, first), compute)
    k.code.add(f"const {c} smallest = {k.narrow(k.constant(1e-5, compute), rounded)};")
    k.code.add(f"const {c} raised = most < smallest ? smallest : most;")
    divided = k.narrow(f"raised / {k.constant(127.0, compute)}", rounded)
    k.code.add(f"const {c} scale = {divided};")
    k.code.add(f"scales[{scale_at}] = {k.store('scale', compute, scale.dtype)};")
    k.code.add(f"zeros[{zero_at}] = {k.store('0', LONG, zero.dtype)};")


def _choose_symmetric_token(k: Kernel, source: TensorValue, first: str, scale_at: str, zero_at: str) -> None:
    scale, zero = k.tensor(5), k.tensor(6)
    levels = _Levels.read(k, 1)
    k.require(source.dtype == FLOAT, f"an input of {name_of(source.dtype)} is not supported")
    _declare_largest_magnitude(k, source, _token(source, first), FLOAT)
    _declare_scale(k, f"most / {_half_range(levels)}", FLOAT, levels)
    number = "128" if k.integer(4) == ScalarType.BYTE else "0"
    k.code.add(f"scales[{scale_at}] = {k.store('scale', FLOAT, scale.dtype)};")
    k.code.add(f"zeros[{zero_at}] = {k.store(number, LONG, zero.dtype)};")


def _declare_parameters(
    k: Kernel, source: TensorValue, per_token: bool, symmetric: bool, levels: _Levels
) -> None:
    """Declares `factor` and `zero_point`, the quantization parameters of the input or of row `r`."""
    code = k.code
    zero = "0"
    if per_token and symmetric:
        _declare_largest_magnitude(k, source, f"in[{terms(('r', source.sizes[-1]), 'c')}]", FLOAT)
        _declare_scale(k, f"most / {_half_range(levels)}", FLOAT, levels)
    elif per_token:
        _declare_token_extremes(k, source, f"in[{terms(('r', source.sizes[-1]), 'c')}]")
        _declare_token(k, FLOAT)
        zero = "zero == zero ? (int32_t)zero : 0"
    else:
        _declare_extremes(k, source)
        if symmetric:
            _declare_symmetric(k, FLOAT, levels)
        else:
            _declare_affine(k, FLOAT, levels)
            zero = "(int32_t)zero"
    k.headers.add("math.h")
    code.add("const float factor = isfinite(scale) ? scale : NAN;")
    code.add(f"const int32_t zero_point = {zero};")


def _quantize_row(k: Kernel, depth: int, levels: _Levels) -> None:
    """Writes the quantized numbers of row `r` of the input to the array `row`."""
    code = k.code
    least, most = float_literal(levels.least), float_literal(levels.most)
    code.add("const float inverse = 1.0f / factor;")
    with code.block(f"for (ptrdiff_t c = 0; c < {depth}; ++c)"):
        whole = k.call("round_even_float", f"in[{terms(('r', depth), 'c')}] * inverse")
        code.add(f"float x = {whole} + (float)zero_point;")
        code.add(f"x = x < {least} ? {least} : x;")
        code.add(f"x = x > {most} ? {most} : x;")
        code.add(f"row[c] = (int8_t){k.call('to_int32_float', 'x')};")


def _multiply_row(k: Kernel, weight: GroupedWeight, scales: TensorValue, bias: TensorValue | None) -> None:
    """Writes the results of the quantized row in `row`. The sums of groups are exact."""
    code = k.code
    depth, group = weight.columns, weight.group
    with code.block(f"for (ptrdiff_t n = 0; n < {weight.rows}; ++n)"):
        code.add("double sum = 0;")
        with ExitStack() as stack:
            first = ""
            if group < depth:
                stack.enter_context(code.block(f"for (ptrdiff_t g = 0; g < {depth}; g += {group})"))
                first = "g"
            code.add("int32_t part = 0;")
            with code.block(f"for (ptrdiff_t c = 0; c < {group}; ++c)"):
                column = plus(first, "c")
                code.add(f"part += (row[{column}] - zero_point) * {weight.number('n', column)};")
            scale = k.load(f"scales[{weight.part('n', first or '0')}]", scales.dtype, DOUBLE)
            code.add(f"sum += (double)part * {scale};")
        offset = f" + {parameter_number(k, bias, 'bias', 'n')}" if bias is not None else ""
        code.add(f"out[{terms(('r', weight.rows), 'n')}] = (float)(sum * (double)factor){offset};")


def _dynamic_linear(bits: int) -> Generator:
    """Writes a linear layer that quantizes its input to int8, with weights of 8 or 4 bits."""

    def generate(k: Kernel) -> None:
        source, scales, bias, out = k.tensor(0), k.tensor(2), k.optional_tensor(3), k.tensor(9)
        levels = _Levels.read(k, 6)
        k.require(-128 <= levels.least and levels.most <= 127, "the quantized numbers exceed int8")
        k.require(source.dtype == out.dtype == FLOAT, "input and result are not float32")
        k.require(source.rank > 0, f"{source.describe()} has no dimensions")
        k.require(source.is_row_major and out.is_row_major, "a tensor is not in row-major order")
        k.require(bits < 8 or k.tensor(1).dtype == ScalarType.CHAR, "the weight is not int8")
        weight = GroupedWeight(k, k.tensor(1), bits, scales, None)
        depth = weight.columns
        k.require(source.sizes[-1] == depth, "the last dims of input and weight differ")
        k.require_shape(out, [*source.sizes[:-1], weight.rows])
        k.require(bias is None or bias.numel == weight.rows, "the bias does not match the weight")
        if out.numel == 0:
            return
        k.require(depth > 0, "an input without elements has no range")
        per_token, symmetric = k.flag(4), k.flag(5)
        k.read(source, "in")
        if bias is not None:
            k.read(bias, "bias")
        k.write(out)
        k.scratch("row", ScalarType.CHAR, depth)
        if not per_token:
            _declare_parameters(k, source, per_token, symmetric, levels)
        with k.code.block(f"for (ptrdiff_t r = 0; r < {out.numel // weight.rows}; ++r)"):
            if per_token:
                _declare_parameters(k, source, per_token, symmetric, levels)
            _quantize_row(k, depth, levels)
            _multiply_row(k, weight, scales, bias)

    return generate


GENERATORS: dict[str, Generator] = {
    "quantized_decomposed::choose_qparams.Tensor_out": _choose(symmetric=False),
    "quantized_decomposed::choose_qparams_symmetric.Tensor_out": _choose(symmetric=True),
    "quantized_decomposed::choose_qparams_per_token.out": _choose_for_tokens(_choose_token, 2),
    "quantized_decomposed::choose_qparams_per_token_asymmetric.out": _choose_for_tokens(
        _choose_asymmetric_token, 2
    ),
    "rushlight::choose_qparams_per_token_symmetric.out": _choose_for_tokens(_choose_symmetric_token, 5),
    "rushlight::dynamic_linear.out": _dynamic_linear(8),
    "rushlight::dynamic_linear_4bit.out": _dynamic_linear(4),
}
