"""Elementwise functions of one operand: rounding, exponentials, tests for NaN and infinity.

Example: `exp` of float32[4].

    static void exp_0(const f32 *restrict a, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 4; ++i) {
        const float x = a[i];
        out[i] = expf(x);
      }
    }
"""

from __future__ import annotations

import math

from rushlight.aot_c.dtypes import (
    BFLOAT16,
    FLOAT,
    HALF,
    LONG,
    c_compute,
    compute_type,
)
from rushlight.aot_c.generators.arithmetic import product
from rushlight.aot_c.generators.elementwise import Expression, elementwise, function, unary, unary_float
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.format.program import ScalarType


def _rounding(name: str) -> Expression:
    return lambda k, c, x: x if c == LONG else k.math(name, c, x)


def _abs(k: Kernel, c: ScalarType, x: str) -> str:
    return f"{x} < 0 ? {k.call('wrap_neg', x)} : {x}" if c == LONG else k.math("fabs", c, x)


def _neg(k: Kernel, c: ScalarType, x: str) -> str:
    return k.call("wrap_neg", x) if c == LONG else f"-{x}"


def _is_nan(k: Kernel, c: ScalarType, x: str) -> str:
    return "false" if c == LONG else f"{x} != {x}"


def _round_decimals(k: Kernel) -> None:
    a = k.tensor(0)
    decimals = k.integer(1)

    def expression(k: Kernel, c: ScalarType, x: str) -> str:
        if c == LONG:
            return x
        if decimals == 0:
            return k.math("nearbyint", c, x)
        scale = k.math("pow", c, k.constant(10, c), k.constant(abs(decimals), c))
        if decimals > 0:
            return f"{k.math('nearbyint', c, f'{x} * {scale}')} / {scale}"
        return f"{k.math('nearbyint', c, f'{x} / {scale}')} * {scale}"

    elementwise(k, [a], k.tensor(2), a.dtype, expression)


def _nan_to_num(k: Kernel) -> None:
    a = k.tensor(0)
    nan, high, low = (k.optional_float(i) for i in (1, 2, 3))
    if compute_type(a.dtype) == LONG:
        elementwise(k, [a], k.tensor(4), a.dtype, lambda k, c, x: x)
        return
    most = {HALF: 65504.0, BFLOAT16: float.fromhex("0x1.fep127"), FLOAT: float.fromhex("0x1.fffffep127")}.get(
        a.dtype, float.fromhex("0x1.fffffffffffffp1023")
    )

    def expression(k: Kernel, c: ScalarType, x: str) -> str:
        k.headers.add("math.h")
        numbers = (0.0 if nan is None else nan, most if high is None else high, -most if low is None else low)
        number, up, down = (k.constant(value, c) for value in numbers)
        return f"{x} != {x} ? {number} : isinf({x}) ? ({x} > 0 ? {up} : {down}) : {x}"

    elementwise(k, [a], k.tensor(4), a.dtype, expression)


def _is_infinite(sign: str) -> Expression:
    def expression(k: Kernel, c: ScalarType, x: str) -> str:
        if c == LONG:
            return "false"
        k.headers.add("math.h")
        infinity = "INFINITY" if c == FLOAT else "(double)INFINITY"
        return f"isinf({x}) != 0" if not sign else f"{x} == {sign.strip('+')}{infinity}"

    return expression


def _signbit(k: Kernel, c: ScalarType, x: str) -> str:
    if c == LONG:
        return f"{x} < 0"
    # GCC 12 fails with an internal error if it vectorizes signbit() of floats.
    return f"{k.math('copysign', c, '1', x)} < 0"


def _angle(k: Kernel, c: ScalarType, x: str) -> str:
    return f"{x} != {x} ? {x} : {x} < 0 ? {k.constant(math.pi, c)} : 0"


_FLOAT_FUNCTIONS = (
    "acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 lgamma log log10 log1p log2 sin sinh "
    "sqrt tan tanh"
).split()


GENERATORS: dict[str, Generator] = {
    **{f"aten::{name}.out": unary_float(function(name)) for name in _FLOAT_FUNCTIONS},
    "aten::abs.out": unary(_abs),
    "aten::angle.out": unary_float(_angle),
    "aten::ceil.out": unary(_rounding("ceil")),
    "aten::floor.out": unary(_rounding("floor")),
    "aten::trunc.out": unary(_rounding("trunc")),
    "aten::round.out": unary(_rounding("nearbyint")),
    "aten::round.decimals_out": _round_decimals,
    "aten::frac.out": unary(lambda k, c, x: f"{x} - {k.math('trunc', c, x)}", floating=True),
    "aten::neg.out": unary(_neg),
    "aten::reciprocal.out": unary_float(lambda k, c, x: f"1 / {x}"),
    "aten::rsqrt.out": unary_float(lambda k, c, x: f"1 / {k.math('sqrt', c, x)}"),
    "aten::sgn.out": unary(lambda k, c, x: f"({c_compute(c)})(({x} > 0) - ({x} < 0))"),
    "aten::sign.out": unary(lambda k, c, x: f"({c_compute(c)})(({x} > 0) - ({x} < 0))"),
    "aten::signbit.out": unary(_signbit, is_bool=True),
    "aten::square.out": unary(lambda k, c, x: product(k, c, x, x)),
    "aten::isinf.out": unary(_is_infinite(""), is_bool=True),
    "aten::isposinf.out": unary(_is_infinite("+"), is_bool=True),
    "aten::isneginf.out": unary(_is_infinite("-"), is_bool=True),
    "aten::isnan.out": unary(_is_nan, is_bool=True),
    "aten::logical_not.out": unary(lambda k, c, x: f"{x} == 0", is_bool=True),
    "aten::conj_physical.out": unary(lambda k, c, x: x),
    "aten::_conj_physical.out": unary(lambda k, c, x: x),
    "aten::nan_to_num.out": _nan_to_num,
}
