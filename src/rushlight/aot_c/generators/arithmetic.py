"""Elementwise addition, multiplication, division, powers and interpolation.

Example: `add` of float32[4] and float32[4] with alpha = 2.

    static void add_0(const f32 *restrict a, const f32 *restrict b, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 4; ++i) {
        const float x = a[i];
        const float y = b[i];
        out[i] = x + 2.0f * y;
      }
    }
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rushlight.aot_c.dtypes import (
    FLOATING,
    HALF,
    LONG,
    c_compute,
    compute_type,
    float_result,
)
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.generators.elementwise import (
    Expression,
    binary,
    common_type,
    elementwise,
    function,
    unary_float,
    with_number,
)
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.values import Number, TensorValue
from rushlight.format.program import ScalarType


def product(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    """Writes x * y; integers wrap around."""
    return k.call("wrap_mul", x, y) if c == LONG else f"{x} * {y}"


def sum_of(k: Kernel, c: ScalarType, x: str, y: str, subtracts: bool) -> str:
    """Writes x + y or x - y; integers wrap around."""
    if c == LONG:
        return k.call("wrap_sub" if subtracts else "wrap_add", x, y)
    return f"{x} {'-' if subtracts else '+'} {y}"


def _scaled_sum(k: Kernel, c: ScalarType, x: str, y: str, alpha: str | None, subtracts: bool) -> str:
    return sum_of(k, c, x, y if alpha is None else product(k, c, alpha, y), subtracts)


def _alpha(k: Kernel, number: Number, common: ScalarType) -> str | None:
    """Converts `alpha` to the compute type; returns None if it is 1."""
    if number.value is not None and float(number.value) == 1:
        return None
    return k.number_in(k.number_value(number, "alpha"), compute_type(common))


def _add_tensor(subtracts: bool) -> Generator:
    def generate(k: Kernel) -> None:
        a, b = k.tensor(0), k.tensor(1)
        common = common_type(a, b)
        alpha = _alpha(k, k.number(2), common)
        elementwise(
            k,
            [a, b],
            k.tensor(3),
            common,
            lambda k, c, x, y: _scaled_sum(k, c, x, y, alpha, subtracts),
            keeps_numbers=True,
        )

    return generate


def _add_number(subtracts: bool) -> Generator:
    def generate(k: Kernel) -> None:
        a = k.tensor(0)
        number = k.number_value(k.number(1), "number")
        common = common_type(a, number)
        alpha = _alpha(k, k.number(2), common)
        y = k.number_in(number, compute_type(common))
        elementwise(
            k, [a], k.tensor(3), common, lambda k, c, x: _scaled_sum(k, c, x, f"({y})", alpha, subtracts)
        )

    return generate


def _rsub_tensor(k: Kernel) -> None:
    a, b = k.tensor(0), k.tensor(1)
    common = common_type(a, b)
    alpha = _alpha(k, k.number(2), common)
    elementwise(
        k,
        [a, b],
        k.tensor(3),
        common,
        lambda k, c, x, y: _scaled_sum(k, c, y, x, alpha, True),
        keeps_numbers=True,
    )


def _rsub_number(k: Kernel) -> None:
    a = k.tensor(0)
    number = k.number_value(k.number(1), "number")
    common = common_type(a, number)
    alpha = _alpha(k, k.number(2), common)
    y = k.number_in(number, compute_type(common))
    elementwise(k, [a], k.tensor(3), common, lambda k, c, x: _scaled_sum(k, c, f"({y})", x, alpha, True))


def _add_product_or_quotient(divides: bool) -> Generator:
    def generate(k: Kernel) -> None:
        a, b, c = k.tensor(0), k.tensor(1), k.tensor(2)
        common = common_type(a, b, c)
        value = k.number_in(k.number_value(k.number(3), "value"), compute_type(common))

        def expression(k: Kernel, c: ScalarType, x: str, y: str, z: str) -> str:
            if divides:
                return f"{x} + {value} * {y} / {z}"
            if c == LONG:
                yz = k.call("wrap_mul", y, z)
                return k.call("wrap_add", x, k.call("wrap_mul", value, yz))
            return f"{x} + {value} * {y} * {z}"

        elementwise(k, [a, b, c], k.tensor(4), common, expression, floating=divides)

    return generate


def _checked(helper: str) -> Expression:
    """Returns an integer division that sets the C variable `failed` if the divisor is 0."""

    def expression(k: Kernel, c: ScalarType, x: str, y: str) -> str:
        k.can_fail = True
        return f"{y} == 0 ? (failed = true, 0) : {k.call(helper, x, y)}"

    return expression


def _division(integers: str, floats: Callable[[Kernel, ScalarType, str, str], str]) -> Expression:
    def expression(k: Kernel, c: ScalarType, x: str, y: str) -> str:
        return _checked(integers)(k, c, x, y) if c == LONG else floats(k, c, x, y)

    return expression


def _with_failure(generate: Generator) -> Generator:
    """Declares the C variable `failed` of `_checked`, and returns the error after the loop."""

    def wrapped(k: Kernel) -> None:
        generate(k)
        if k.can_fail:
            k.code.lines.insert(0, "  bool failed = false;")
            k.code.add("if (failed) return 1;")

    return wrapped


_MODULO = _division("trunc_mod", lambda k, c, x, y: k.math("fmod", c, x, y))

_REMAINDER = _division("floor_mod", lambda k, c, x, y: k.call(f"floor_remainder_{c_compute(c)}", x, y))

_FLOOR_DIVIDE = _division("floor_div", lambda k, c, x, y: k.call(f"floor_quotient_{c_compute(c)}", x, y))

_TRUNC_DIVIDE = _division("trunc_div", lambda k, c, x, y: k.math("trunc", c, f"{x} / {y}"))


def _quotient(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return f"{x} / {y}"


def _rounded(mode: str | None) -> Expression | None:
    if mode is None:
        return None
    if mode not in ("trunc", "floor"):
        raise Unsupported(f"rounding_mode={mode!r} is not supported")
    return _FLOOR_DIVIDE if mode == "floor" else _TRUNC_DIVIDE


def _div_mode(k: Kernel) -> None:
    a, b = k.tensor(0), k.tensor(1)
    expression = _rounded(k.optional_text(2))
    common = common_type(a, b)
    if expression is None:
        elementwise(k, [a, b], k.tensor(3), float_result(common), _quotient, keeps_numbers=True)
    else:
        elementwise(k, [a, b], k.tensor(3), common, expression, keeps_numbers=True)


def _div_number_mode(k: Kernel) -> None:
    a = k.tensor(0)
    number = k.number_value(k.number(1), "number")
    rounded = _rounded(k.optional_text(2))
    common = common_type(a, number)
    if rounded is None:
        common = float_result(common)
        y = k.number_in(number, compute_type(common))
        elementwise(k, [a], k.tensor(3), common, lambda k, c, x: f"{x} / {y}")
        return
    expression = rounded
    y = k.number_in(number, _divisor_type(common))
    elementwise(k, [a], k.tensor(3), common, lambda k, c, x: _divide_by_number(k, c, x, y, expression))


def _divisor_type(common: ScalarType) -> ScalarType:
    """Returns the dtype of the divisor of a quotient of dtype `common` that is then rounded."""
    return compute_type(common) if common in FLOATING else common


def _divide_by_number(k: Kernel, c: ScalarType, x: str, y: str, expression: Expression) -> str:
    """Divides by a number. A constant is not compared with 0, because compilers warn about this."""
    if c == LONG and re.fullmatch(r"-?\d+", y) and int(y) != 0:
        return expression(k, c, x, y).partition(" : ")[2]
    return expression(k, c, x, y)


def _division_by_number(
    expression: Expression, number_type: Callable[[ScalarType], ScalarType] = lambda common: common
) -> Generator:
    def generate(k: Kernel) -> None:
        a = k.tensor(0)
        number = k.number_value(k.number(1), "number")
        common = common_type(a, number)
        y = k.number_in(number, number_type(common))
        elementwise(k, [a], k.tensor(2), common, lambda k, c, x: _divide_by_number(k, c, x, y, expression))

    return _with_failure(generate)


def _logaddexp(base2: bool) -> Expression:
    def expression(k: Kernel, c: ScalarType, x: str, y: str) -> str:
        k.headers.add("math.h")
        size = "-" + k.math("fabs", c, f"{x} - {y}")
        power = k.math("log1p", c, k.math("exp2" if base2 else "exp", c, size))
        factor = f" * {k.constant(1.4426950408889634, c)}" if base2 else ""
        return f"isinf({x}) && {x} == {y} ? {x} : ({x} > {y} ? {x} : {y}) + {power}{factor}"

    return expression


def _power(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return k.call("integer_pow", x, y) if c == LONG else k.math("pow", c, x, y)


def _hide_constant(k: Kernel, number: str, compute: ScalarType) -> str:
    """Hides a constant from the compiler, which would replace `pow` by arithmetic with other results."""
    if compute == LONG:
        return number
    k.code.add(f"const volatile {c_compute(compute)} unknown = {number};")
    k.code.add(f"const {c_compute(compute)} known = unknown;")
    return "known"


def _pow_number(k: Kernel) -> None:
    a = k.tensor(0)
    number = k.number_value(k.number(1), "number")
    exponent = float(number.constant("the exponent"))
    common = common_type(a, number)
    out = k.tensor(2)
    if exponent == 2:
        elementwise(k, [a], out, common, lambda k, c, x: product(k, c, x, x))
        return
    k.require(
        compute_type(common) != LONG or number.kind == "double" or exponent >= 0,
        "an integer to a negative integer power is not defined",
    )
    if exponent == 0.5 and common != HALF:
        unary_float(function("sqrt"))(_with_arguments(k, a, out))
        return
    if exponent == -0.5 and common != HALF:
        unary_float(lambda k, c, x: f"1 / {k.math('sqrt', c, x)}")(_with_arguments(k, a, out))
        return
    y = _hide_constant(k, k.number_in(number, compute_type(common)), compute_type(common))
    elementwise(k, [a], out, common, lambda k, c, x: _power(k, c, x, y))


def _with_arguments(k: Kernel, *arguments: TensorValue) -> Kernel:
    """Replaces the arguments of the kernel."""
    k.arguments = list(arguments)
    return k


def _number_first(expression: Expression, to_float: bool = False, hides_constant: bool = False) -> Generator:
    """For operators with the arguments (number, tensor, out)."""

    def generate(k: Kernel) -> None:
        number = k.number_value(k.number(0), "number")
        b = k.tensor(1)
        common = common_type(b, number)
        common = float_result(common) if to_float else common
        x = k.number_in(number, common)
        if hides_constant:
            x = _hide_constant(k, x, compute_type(common))
        elementwise(k, [b], k.tensor(2), common, lambda k, c, y: expression(k, c, x, y))

    return generate


def _copysign_number(k: Kernel) -> None:
    a = k.tensor(0)
    number = k.number_value(k.number(1), "number")
    common = float_result(common_type(a, number))
    y = k.number_in(number, common)
    elementwise(k, [a], k.tensor(2), common, lambda k, c, x: k.math("copysign", c, x, y))


def _heaviside(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return f"{x} == 0 ? {y} : ({c_compute(c)})({x} > 0)"


def _interpolate(k: Kernel, c: ScalarType, x: str, y: str, z: str) -> str:
    return k.call(f"interpolate_{c_compute(c)}", x, y, z)


def _lerp_number(k: Kernel) -> None:
    a, b = k.tensor(0), k.tensor(1)
    common = common_type(a, b)
    weight = k.number_in(k.number_value(k.number(2), "weight"), compute_type(common))
    elementwise(
        k, [a, b], k.tensor(3), common, lambda k, c, x, y: _interpolate(k, c, x, y, weight), floating=True
    )


def _lerp_tensor(k: Kernel) -> None:
    tensors = [k.tensor(0), k.tensor(1), k.tensor(2)]
    elementwise(k, tensors, k.tensor(3), common_type(*tensors), _interpolate, floating=True)


def _xlogy(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return k.call(f"xlogy_{c_compute(c)}", x, y)


GENERATORS: dict[str, Generator] = {
    "aten::add.out": _add_tensor(False),
    "aten::add.Scalar_out": _add_number(False),
    "aten::sub.out": _add_tensor(True),
    "aten::sub.Scalar_out": _add_number(True),
    "aten::rsub.Tensor_out": _rsub_tensor,
    "aten::rsub.Scalar_out": _rsub_number,
    "aten::mul.out": binary(product, keeps_numbers=True),
    "aten::mul.Scalar_out": with_number(product, exact=True),
    "aten::div.out": binary(_quotient, to_float=True, keeps_numbers=True),
    "aten::true_divide.out": binary(_quotient, to_float=True, keeps_numbers=True),
    "aten::div.Scalar_out": with_number(_quotient, exact=True, to_float=True),
    "aten::div.out_mode": _with_failure(_div_mode),
    "aten::div.Scalar_mode_out": _with_failure(_div_number_mode),
    "aten::addcmul.out": _add_product_or_quotient(False),
    "aten::addcdiv.out": _add_product_or_quotient(True),
    "aten::atan2.out": binary(function("atan2"), to_float=True, floating=True),
    "aten::hypot.out": binary(function("hypot"), to_float=True, floating=True),
    "aten::copysign.out": binary(function("copysign"), to_float=True, floating=True),
    "aten::copysign.Scalar_out": _copysign_number,
    "aten::fmod.Tensor_out": _with_failure(binary(_MODULO)),
    "aten::fmod.Scalar_out": _division_by_number(_MODULO),
    "aten::remainder.Tensor_out": _with_failure(binary(_REMAINDER)),
    "aten::remainder.Scalar_out": _division_by_number(_REMAINDER),
    "aten::floor_divide.out": _with_failure(binary(_FLOOR_DIVIDE)),
    "aten::floor_divide.Scalar_out": _division_by_number(_FLOOR_DIVIDE, _divisor_type),
    "aten::gcd.out": binary(lambda k, c, x, y: k.call("common_divisor", x, y)),
    "aten::lcm.out": binary(lambda k, c, x, y: k.call("common_multiple", x, y)),
    "aten::heaviside.out": binary(_heaviside),
    "aten::logaddexp.out": binary(_logaddexp(False), floating=True),
    "aten::logaddexp2.out": binary(_logaddexp(True), floating=True),
    "aten::xlogy.OutTensor": binary(_xlogy, to_float=True),
    "aten::xlogy.OutScalar_Self": _number_first(_xlogy, to_float=True),
    "aten::xlogy.OutScalar_Other": with_number(_xlogy, to_float=True),
    "aten::pow.Tensor_Tensor_out": binary(_power),
    "aten::pow.Scalar_out": _number_first(_power, hides_constant=True),
    "aten::pow.Tensor_Scalar_out": _pow_number,
    "aten::lerp.Scalar_out": _lerp_number,
    "aten::lerp.Tensor_out": _lerp_tensor,
}
