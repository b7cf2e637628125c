"""Elementwise comparisons, logical and bitwise operators, clamps and selections.

Example: `clamp` of float32[4] to 0 and 6.

    static void clamp_0(const f32 *restrict a, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 4; ++i) {
        const float x = a[i];
        out[i] = x != x ? x : (x < 0.0f ? (0.0f > 6.0f ? 6.0f : 0.0f) : (x > 6.0f ? 6.0f : x));
      }
    }
"""

from __future__ import annotations

import math

from rushlight.aot_c.dtypes import (
    BOOL,
    LONG,
    c_compute,
    compute_type,
    size_of,
)
from rushlight.aot_c.generators.elementwise import Expression, binary, common_type, elementwise, with_number
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.values import Number, TensorValue
from rushlight.format.program import ScalarType


def compare(operator: str) -> Expression:
    """Returns the expression of a comparison."""
    return lambda k, c, x, y: f"{x} {operator} {y}"


def _logical(operator: str) -> Expression:
    return lambda k, c, x, y: f"({x} != 0) {operator} ({y} != 0)"


def _bits(operator: str) -> Expression:
    def expression(k: Kernel, c: ScalarType, x: str, y: str) -> str:
        k.require(c == LONG, "the operator supports only integers")
        return f"{x} {operator} {y}"

    return expression


def _bits_number(operator: str) -> Generator:
    def generate(k: Kernel) -> None:
        a = k.tensor(0)
        number = k.number_value(k.number(1), "number")
        k.require(number.kind != "double", "the number is not an integer")
        y = k.constant(number, LONG)
        elementwise(k, [a], k.tensor(2), common_type(a, number), lambda k, c, x: _bits(operator)(k, c, x, y))

    return generate


def _bitwise_not(k: Kernel) -> None:
    a = k.tensor(0)
    ones = "1" if a.dtype == BOOL else "-1"
    elementwise(k, [a], k.tensor(1), a.dtype, lambda k, c, x: _bits("^")(k, c, x, ones))


def _shift(left: bool, by_number: bool) -> Generator:
    def generate(k: Kernel) -> None:
        a = k.tensor(0)
        other = k.number_value(k.number(1), "number") if by_number else k.tensor(1)
        common = common_type(a, other)
        k.require(compute_type(common) == LONG, "the operator supports only integers")
        bits = 8 * size_of(common)
        most = bits if left or common == ScalarType.BYTE else bits - 1

        def expression(k: Kernel, c: ScalarType, x: str, y: str) -> str:
            return k.call("shift_left" if left else "shift_right", x, y, str(most))

        if isinstance(other, TensorValue):
            elementwise(k, [a, other], k.tensor(2), common, expression)
        else:
            y = k.number_in(other, common)
            elementwise(k, [a], k.tensor(2), common, lambda k, c, x: expression(k, c, x, y))

    return generate


def _maximum(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return f"{x} < {y} ? {y} : {x}" if c == LONG else f"{x} < {y} || {y} != {y} ? {y} : {x}"


def _minimum(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return f"{y} < {x} ? {y} : {x}" if c == LONG else f"{y} < {x} || {y} != {y} ? {y} : {x}"


def _fmax(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return f"{x} >= {y} ? {x} : {y}" if c == LONG else f"{x} >= {y} || {y} != {y} ? {x} : {y}"


def _fmin(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return f"{x} <= {y} ? {x} : {y}" if c == LONG else f"{x} <= {y} || {y} != {y} ? {x} : {y}"


def at_least(c: ScalarType, x: str, low: str, known: bool = False) -> str:
    """Writes max(x, low); NaN if `low` is NaN. `known` means that `low` is certainly not NaN."""
    return (
        f"({x} < {low} ? {low} : {x})"
        if c == LONG or known
        else f"({x} < {low} || {low} != {low} ? {low} : {x})"
    )


def at_most(c: ScalarType, x: str, high: str, known: bool = False) -> str:
    """Writes min(x, high); NaN if `high` is NaN. `known` means that `high` is certainly not NaN."""
    return (
        f"({x} > {high} ? {high} : {x})"
        if c == LONG or known
        else f"({x} > {high} || {high} != {high} ? {high} : {x})"
    )


def _propagate_nan(c: ScalarType, x: str, otherwise: str) -> str:
    return otherwise if c == LONG else f"{x} != {x} ? {x} : {otherwise}"


def _bound(k: Kernel, number: Number | None, common: ScalarType, is_low: bool, name: str) -> tuple[str, bool]:
    """Returns the expression of a bound, and whether the bound is certainly not NaN."""
    compute = compute_type(common)
    if number is None:
        if compute == LONG:
            return ("INT64_MIN" if is_low else "INT64_MAX"), True
        number = Number("double", -math.inf if is_low else math.inf)
    number = k.number_value(number, name)
    text = k.number_in(number, common)
    if number.value is None:
        k.code.add(f"const {c_compute(compute)} {name}_bound = {text};")
        return f"{name}_bound", False
    if text == "NAN" or text == "(double)NAN":
        k.code.add(f"const {c_compute(compute)} {name}_bound = {text};")
        return f"{name}_bound", False
    return text, True


def _clamp(k: Kernel) -> None:
    a = k.tensor(0)
    low, high = k.optional_number(1), k.optional_number(2)
    k.require(low is not None or high is not None, "both min and max are None")
    _clamp_to(k, low, high, common_type(a, *(n for n in (low, high) if n is not None)))


def _hardtanh(k: Kernel) -> None:
    _clamp_to(k, k.number(1), k.number(2), k.tensor(0).dtype)


def _clamp_to(k: Kernel, low: Number | None, high: Number | None, common: ScalarType) -> None:
    """Clamps argument 0 to bounds in dtype `common`, and writes the result to argument 3."""
    low_text, low_known = _bound(k, low, common, True, "low")
    high_text, high_known = _bound(k, high, common, False, "high")

    def expression(k: Kernel, c: ScalarType, x: str) -> str:
        text = x
        if low is not None:
            text = at_least(c, text, low_text, low_known)
        if high is not None:
            if text != x:
                # This form repeats each operand at most twice, so that nested conditions stay short.
                text = f"{x} < {low_text} ? {at_most(c, low_text, high_text, high_known)} : " + at_most(
                    c, x, high_text, high_known
                )
                if not low_known:
                    text = f"{low_text} != {low_text} ? {low_text} : ({text})"
            else:
                text = at_most(c, text, high_text, high_known)
        return _propagate_nan(c, x, f"({text})")

    elementwise(k, [k.tensor(0)], k.tensor(3), common, expression)


def _clamp_tensor(k: Kernel) -> None:
    a = k.tensor(0)
    low, high = k.optional_tensor(1), k.optional_tensor(2)
    out = k.tensor(3)
    if low is not None and high is not None:

        def limited(k: Kernel, c: ScalarType, x: str, y: str, z: str) -> str:
            high_of_y, high_of_x = at_most(c, y, z), at_most(c, x, z)
            text = f"{x} < {y} ? {high_of_y} : {high_of_x}"
            return text if c == LONG else f"{x} != {x} ? {x} : {y} != {y} ? {y} : {text}"

        elementwise(k, [a, low, high], out, common_type(a, low, high), limited)
    elif low is not None:
        elementwise(
            k, [a, low], out, common_type(a, low), lambda k, c, x, y: _propagate_nan(c, x, at_least(c, x, y))
        )
    else:
        k.require(high is not None, "both min and max are None")
        assert high is not None
        elementwise(
            k, [a, high], out, common_type(a, high), lambda k, c, x, y: _propagate_nan(c, x, at_most(c, x, y))
        )


def _clamp_one(is_low: bool) -> Generator:
    limit = at_least if is_low else at_most

    def generate(k: Kernel) -> None:
        a, number = k.tensor(0), k.number(1)
        common = common_type(a, number)
        bound, known = _bound(k, number, common, is_low, "number")
        elementwise(
            k, [a], k.tensor(2), common, lambda k, c, x: _propagate_nan(c, x, limit(c, x, bound, known))
        )

    return generate


def _clamp_one_tensor(is_low: bool) -> Generator:
    limit = at_least if is_low else at_most
    return binary(lambda k, c, x, y: _propagate_nan(c, x, limit(c, x, y)))


def _masked_fill(k: Kernel) -> None:
    a, mask = k.tensor(0), k.tensor(1)
    value = k.number_in(k.number_value(k.number(2), "value"), a.dtype)
    elementwise(k, [a, mask], k.tensor(3), a.dtype, lambda k, c, x, y: f"{y} != 0 ? {value} : {x}")


def _masked_fill_tensor(k: Kernel) -> None:
    tensors = [k.tensor(0), k.tensor(1), k.tensor(2)]
    elementwise(k, tensors, k.tensor(3), tensors[0].dtype, lambda k, c, x, y, z: f"{y} != 0 ? {z} : {x}")


def _where(k: Kernel) -> None:
    condition, a, b = k.tensor(0), k.tensor(1), k.tensor(2)
    k.require(
        condition.dtype in (BOOL, ScalarType.BYTE), "the dtype of the condition is neither bool nor uint8"
    )
    # The condition is the last operand, because its pointer must not alias the result.
    elementwise(
        k, [a, b, condition], k.tensor(3), common_type(a, b), lambda k, c, x, y, z: f"{z} != 0 ? {x} : {y}"
    )


GENERATORS: dict[str, Generator] = {
    "aten::bitwise_not.out": _bitwise_not,
    "aten::hardtanh.out": _hardtanh,
    "aten::maximum.out": binary(_maximum),
    "aten::minimum.out": binary(_minimum),
    "aten::max.out": binary(_maximum),
    "aten::min.out": binary(_minimum),
    "aten::fmax.out": binary(_fmax),
    "aten::fmin.out": binary(_fmin),
    "aten::clamp.out": _clamp,
    "aten::clamp.Tensor_out": _clamp_tensor,
    "aten::clamp_min.out": _clamp_one(True),
    "aten::clamp_min.Tensor_out": _clamp_one_tensor(True),
    "aten::clamp_max.out": _clamp_one(False),
    "aten::clamp_max.Tensor_out": _clamp_one_tensor(False),
    "aten::masked_fill.Scalar_out": _masked_fill,
    "aten::masked_fill.Tensor_out": _masked_fill_tensor,
    "aten::where.self_out": _where,
    "aten::bitwise_left_shift.Tensor_out": _shift(True, False),
    "aten::bitwise_left_shift.Tensor_Scalar_out": _shift(True, True),
    "aten::bitwise_right_shift.Tensor_out": _shift(False, False),
    "aten::bitwise_right_shift.Tensor_Scalar_out": _shift(False, True),
}

for _name, _operator in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    GENERATORS[f"aten::{_name}.Tensor_out"] = binary(compare(_operator), is_bool=True)
    GENERATORS[f"aten::{_name}.Scalar_out"] = with_number(compare(_operator), is_bool=True)

for _name, _operator in (("and", "&&"), ("or", "||"), ("xor", "!=")):
    GENERATORS[f"aten::logical_{_name}.out"] = binary(_logical(_operator), is_bool=True)

for _name, _operator in (("and", "&"), ("or", "|"), ("xor", "^")):
    GENERATORS[f"aten::bitwise_{_name}.Tensor_out"] = binary(_bits(_operator))
    GENERATORS[f"aten::bitwise_{_name}.Scalar_out"] = _bits_number(_operator)
