"""Elementwise operators: broadcasting, promotion of dtypes, and one expression for each element.

An expression is a function of the kernel, the compute type and the names of the operands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from rushlight.aot_c.dtypes import (
    BFLOAT16,
    BOOL,
    FLOAT,
    FLOATING,
    HALF,
    LONG,
    c_compute,
    compute_type,
    float_result,
    is_integral,
    narrows,
    result_type,
    size_of,
)
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest
from rushlight.aot_c.values import Number, TensorValue
from rushlight.format.program import ScalarType

Expression = Callable[..., str]
"""Takes the kernel, the compute type and the names of the operands; returns the value of an element."""

_LOCALS = "xyzw"
_POINTERS = "abcd"


def broadcast(tensors: Sequence[TensorValue]) -> list[int]:
    """The shape to which the tensors broadcast."""
    rank = max(tensor.rank for tensor in tensors)
    shape = [1] * rank
    for tensor in tensors:
        for axis, size in enumerate(tensor.sizes, rank - tensor.rank):
            if size != 1:
                if shape[axis] not in (1, size):
                    raise Unsupported("the shapes of the operands do not broadcast")
                shape[axis] = size
    return shape


def require_cast(k: Kernel, source: ScalarType, target: ScalarType) -> None:
    """Refuses results that torch does not write into such a tensor."""
    loses = (source in FLOATING and target not in FLOATING) or (source != BOOL and target == BOOL)
    k.require(not loses, "the result's dtype cannot hold the results")


def common_type(*operands: TensorValue | Number) -> ScalarType:
    """The dtype of torch.result_type."""
    tensors = [(o.dtype, o.rank) for o in operands if isinstance(o, TensorValue)]
    return result_type(tensors, [o.kind for o in operands if isinstance(o, Number)])


def elementwise(
    k: Kernel,
    inputs: Sequence[TensorValue],
    out: TensorValue,
    common: ScalarType,
    expression: Expression,
    *,
    is_bool: bool = False,
    result: ScalarType | None = None,
    keeps_numbers: bool = False,
    floating: bool = False,
    checks: bool = True,
    suffix: str = "",
) -> None:
    """Writes a loop that computes each element of a result.

    Args:
        k: the kernel.
        inputs: the operands.
        out: the result.
        common: the dtype in whose compute type the expression is.
        expression: the value of an element.
        is_bool: whether the value is bool.
        result: the compute type of the value, if it is another one.
        keeps_numbers: whether floating zero-dim operands keep their precision.
        floating: whether integers are refused.
        checks: whether the dtype of the result is checked against `common`.
        suffix: what names of pointers end in, for a kernel with several loops.
    """
    compute = compute_type(common)
    k.require(not (floating and compute == LONG), "the kernel computes floating-point numbers only")
    k.require_shape(out, broadcast(inputs))
    value_type = result or (BOOL if is_bool else compute)
    if checks:
        require_cast(k, BOOL if is_bool else common, out.dtype)
    k.in_place = True
    nest = Nest.over(out.sizes, *inputs, out).sort_by(len(inputs)).collapse()
    if nest.numel == 0:
        return
    names = [k.read(tensor, _POINTERS[i] + suffix) for i, tensor in enumerate(inputs)]
    target = k.write(out, f"out{suffix}")
    value = expression(k, compute, *_LOCALS[: len(inputs)])
    with k.code.block("") if suffix else nullcontext(), nest.emit(k.code) as at:
        for i, tensor in enumerate(inputs):
            if not re.search(rf"\b{_LOCALS[i]}\b", value):
                continue
            keeps = keeps_numbers and tensor.rank == 0 and not is_integral(common)
            loaded = k.load(f"{names[i]}[{at[i]}]", tensor.dtype, compute)
            if not keeps and narrows(tensor.dtype, common):
                loaded = k.narrow(loaded, common)
            k.code.add(f"const {c_compute(compute)} {_LOCALS[i]} = {loaded};")
        plain = re.fullmatch(r"\w+", value) is not None
        if not plain and k.store("r", value_type, out.dtype) != "r":
            k.code.add(f"const {c_compute(value_type)} r = {value};")
            value = "r"
        k.code.add(f"{target}[{at[-1]}] = {k.store(value, value_type, out.dtype)};")


# ---- Forms of operators ----


def unary(expression: Expression, **options: Any) -> Generator:
    """(in, out): computed in the dtype of the input."""

    def generate(k: Kernel) -> None:
        x = k.tensor(0)
        elementwise(k, [x], k.tensor(1), x.dtype, expression, **options)

    return generate


def unary_float(expression: Expression) -> Generator:
    """(in, out): a floating-point result, also for integers."""

    def generate(k: Kernel) -> None:
        x = k.tensor(0)
        elementwise(k, [x], k.tensor(1), float_result(x.dtype), expression, floating=True)

    return generate


def binary(expression: Expression, *, to_float: bool = False, **options: Any) -> Generator:
    """(a, b, out)."""

    def generate(k: Kernel) -> None:
        a, b = k.tensor(0), k.tensor(1)
        common = common_type(a, b)
        elementwise(
            k, [a, b], k.tensor(2), float_result(common) if to_float else common, expression, **options
        )

    return generate


def with_number(
    expression: Expression, *, exact: bool = False, to_float: bool = False, **options: Any
) -> Generator:
    """(a, number, out): the number becomes one of the common dtype, or with `exact` of its compute type."""

    def generate(k: Kernel) -> None:
        a = k.tensor(0)
        number = k.number_value(k.number(1), "number")
        common = common_type(a, number)
        common = float_result(common) if to_float else common
        y = k.number_in(number, compute_type(common) if exact else common)
        elementwise(k, [a], k.tensor(2), common, lambda k, c, x: expression(k, c, x, y), **options)

    return generate


def function(name: str) -> Expression:
    """A function of math.h."""
    return lambda k, c, *x: k.math(name, c, *x)


def _whole(name: str) -> Expression:
    return lambda k, c, x: x if c == LONG else k.math(name, c, x)


# ---- Expressions ----


def _abs(k: Kernel, c: ScalarType, x: str) -> str:
    return f"{x} < 0 ? {k.call('wrap_neg', x)} : {x}" if c == LONG else k.math("fabs", c, x)


def _neg(k: Kernel, c: ScalarType, x: str) -> str:
    return k.call("wrap_neg", x) if c == LONG else f"-{x}"


def product(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    """x * y; integers wrap around."""
    return k.call("wrap_mul", x, y) if c == LONG else f"{x} * {y}"


def sum_of(k: Kernel, c: ScalarType, x: str, y: str, subtracts: bool) -> str:
    """x + y or x - y; integers wrap around."""
    if c == LONG:
        return k.call("wrap_sub" if subtracts else "wrap_add", x, y)
    return f"{x} {'-' if subtracts else '+'} {y}"


def _scaled_sum(k: Kernel, c: ScalarType, x: str, y: str, alpha: str | None, subtracts: bool) -> str:
    return sum_of(k, c, x, y if alpha is None else product(k, c, alpha, y), subtracts)


def _alpha(k: Kernel, number: Number, common: ScalarType) -> str | None:
    """A factor in the compute type, or None for 1."""
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


def _addc(divides: bool) -> Generator:
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
    """An operation of integers that fails if the divisor is 0."""

    def expression(k: Kernel, c: ScalarType, x: str, y: str) -> str:
        k.can_fail = True
        return f"{y} == 0 ? (failed = true, 0) : {k.call(helper, x, y)}"

    return expression


def _division(integers: str, floats: Callable[[Kernel, ScalarType, str, str], str]) -> Expression:
    def expression(k: Kernel, c: ScalarType, x: str, y: str) -> str:
        return _checked(integers)(k, c, x, y) if c == LONG else floats(k, c, x, y)

    return expression


def _with_failure(generate: Generator) -> Generator:
    """Declares the variable of `_checked`, and returns the error after the loop, if the kernel can fail."""

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
        raise Unsupported(f"the rounding mode is {mode!r}")
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
    y = k.number_in(number, common)
    elementwise(k, [a], k.tensor(3), common, lambda k, c, x: _by_constant(k, c, x, y, expression))


def _by_constant(k: Kernel, c: ScalarType, x: str, y: str, expression: Expression) -> str:
    """An operation with a number: no comparison of constants, which compilers warn of."""
    if c == LONG and re.fullmatch(r"-?\d+", y) and int(y) != 0:
        return expression(k, c, x, y).partition(" : ")[2]
    return expression(k, c, x, y)


def _with_number_checked(expression: Expression) -> Generator:
    def generate(k: Kernel) -> None:
        a = k.tensor(0)
        number = k.number_value(k.number(1), "number")
        common = common_type(a, number)
        y = k.number_in(number, common)
        elementwise(k, [a], k.tensor(2), common, lambda k, c, x: _by_constant(k, c, x, y, expression))

    return _with_failure(generate)


def compare(operator: str) -> Expression:
    """A comparison."""
    return lambda k, c, x, y: f"{x} {operator} {y}"


def _logical(operator: str) -> Expression:
    return lambda k, c, x, y: f"({x} != 0) {operator} ({y} != 0)"


def _bits(operator: str) -> Expression:
    def expression(k: Kernel, c: ScalarType, x: str, y: str) -> str:
        k.require(c == LONG, "the kernel computes integers only")
        return f"{x} {operator} {y}"

    return expression


def _bits_number(operator: str) -> Generator:
    def generate(k: Kernel) -> None:
        a = k.tensor(0)
        number = k.number_value(k.number(1), "number")
        k.require(number.kind != "double", "the number is no integer")
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
        k.require(compute_type(common) == LONG, "the kernel computes integers only")
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


def _is_nan(k: Kernel, c: ScalarType, x: str) -> str:
    return "false" if c == LONG else f"{x} != {x}"


def _maximum(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return f"{x} < {y} ? {y} : {x}" if c == LONG else f"{x} < {y} || {y} != {y} ? {y} : {x}"


def _minimum(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return f"{y} < {x} ? {y} : {x}" if c == LONG else f"{y} < {x} || {y} != {y} ? {y} : {x}"


def _fmax(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return f"{x} >= {y} ? {x} : {y}" if c == LONG else f"{x} >= {y} || {y} != {y} ? {x} : {y}"


def _fmin(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return f"{x} <= {y} ? {x} : {y}" if c == LONG else f"{x} <= {y} || {y} != {y} ? {x} : {y}"


def at_least(c: ScalarType, x: str, low: str, known: bool = False) -> str:
    """The larger one; NaN if the bound is. A bound that is a constant number is `known`."""
    return (
        f"({x} < {low} ? {low} : {x})"
        if c == LONG or known
        else f"({x} < {low} || {low} != {low} ? {low} : {x})"
    )


def at_most(c: ScalarType, x: str, high: str, known: bool = False) -> str:
    """The smaller one; NaN if the bound is."""
    return (
        f"({x} > {high} ? {high} : {x})"
        if c == LONG or known
        else f"({x} > {high} || {high} != {high} ? {high} : {x})"
    )


def _nan_stays(c: ScalarType, x: str, otherwise: str) -> str:
    return otherwise if c == LONG else f"{x} != {x} ? {x} : {otherwise}"


def _bound(k: Kernel, number: Number | None, common: ScalarType, is_low: bool, name: str) -> tuple[str, bool]:
    """A bound as an expression, and whether it is known not to be NaN."""
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
    k.require(low is not None or high is not None, "neither min nor max is given")
    _clamp_to(k, low, high, common_type(a, *(n for n in (low, high) if n is not None)))


def _hardtanh(k: Kernel) -> None:
    _clamp_to(k, k.number(1), k.number(2), k.tensor(0).dtype)


def _clamp_to(k: Kernel, low: Number | None, high: Number | None, common: ScalarType) -> None:
    """Limits argument 0 to bounds in dtype `common`, and writes argument 3."""
    low_text, low_known = _bound(k, low, common, True, "low")
    high_text, high_known = _bound(k, high, common, False, "high")

    def expression(k: Kernel, c: ScalarType, x: str) -> str:
        text = x
        if low is not None:
            text = at_least(c, text, low_text, low_known)
        if high is not None:
            if text != x:
                # Each operand is named once or twice, so that nested conditions stay short.
                text = f"{x} < {low_text} ? {at_most(c, low_text, high_text, high_known)} : " + at_most(
                    c, x, high_text, high_known
                )
                if not low_known:
                    text = f"{low_text} != {low_text} ? {low_text} : ({text})"
            else:
                text = at_most(c, text, high_text, high_known)
        return _nan_stays(c, x, f"({text})")

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
            k, [a, low], out, common_type(a, low), lambda k, c, x, y: _nan_stays(c, x, at_least(c, x, y))
        )
    else:
        k.require(high is not None, "neither min nor max is given")
        assert high is not None
        elementwise(
            k, [a, high], out, common_type(a, high), lambda k, c, x, y: _nan_stays(c, x, at_most(c, x, y))
        )


def _clamp_one(is_low: bool) -> Generator:
    limit = at_least if is_low else at_most

    def generate(k: Kernel) -> None:
        a, number = k.tensor(0), k.number(1)
        common = common_type(a, number)
        bound, known = _bound(k, number, common, is_low, "number")
        elementwise(k, [a], k.tensor(2), common, lambda k, c, x: _nan_stays(c, x, limit(c, x, bound, known)))

    return generate


def _clamp_one_tensor(is_low: bool) -> Generator:
    limit = at_least if is_low else at_most
    return binary(lambda k, c, x, y: _nan_stays(c, x, limit(c, x, y)))


def _threshold(k: Kernel) -> None:
    a = k.tensor(0)
    least = k.number_in(k.number_value(k.number(1), "least"), a.dtype)
    value = k.number_in(k.number_value(k.number(2), "value"), a.dtype)
    elementwise(k, [a], k.tensor(3), a.dtype, lambda k, c, x: f"{x} <= {least} ? {value} : {x}")


def _gate(k: Kernel, c: ScalarType, x: str) -> str:
    zero, six = k.constant(0, c), k.constant(6, c)
    return f"({x} + 3 < 0 ? {zero} : {x} + 3 > 6 ? {six} : {x} + 3)"


def _gelu(k: Kernel) -> None:
    a = k.tensor(0)
    mode = k.optional_text(1)

    def expression(k: Kernel, c: ScalarType, x: str) -> str:
        half = k.constant(0.5, c)
        if mode == "tanh":
            root, cubic = k.constant(0.7978845608028654, c), k.constant(0.044715, c)
            inner = k.math("tanh", c, f"{root} * ({x} + {cubic} * {x} * {x} * {x})")
        else:
            inner = k.math("erf", c, f"{x} * {k.constant(0.7071067811865476, c)}")
        return f"{half} * {x} * (1 + {inner})"

    k.require(mode in ("tanh", "none"), f"approximate is {mode!r}")
    elementwise(k, [a], k.tensor(2), a.dtype, expression, floating=True)


def _sigmoid(k: Kernel, c: ScalarType, x: str) -> str:
    return f"1 / (1 + {k.math('exp', c, '-' + x)})"


def _elu(k: Kernel) -> None:
    a = k.tensor(0)
    numbers = [float(k.number(i).constant("a factor")) for i in (1, 2, 3)]
    c = compute_type(a.dtype)
    alpha, scale, factor = (k.constant(number, c) for number in numbers)

    def expression(k: Kernel, c: ScalarType, x: str) -> str:
        return f"{x} < 0 ? {k.math('expm1', c, f'{x} * {factor}')} * ({alpha} * {scale}) : {x} * {scale}"

    elementwise(k, [a], k.tensor(4), a.dtype, expression, floating=True)


def _with_factor(expression: Callable[[Kernel, ScalarType, str, str], str]) -> Generator:
    """(in, number, out), where the number is of the compute type."""

    def generate(k: Kernel) -> None:
        a = k.tensor(0)
        factor = k.constant(k.number_value(k.number(1), "factor"), compute_type(a.dtype))
        elementwise(k, [a], k.tensor(2), a.dtype, lambda k, c, x: expression(k, c, x, factor), floating=True)

    return generate


def _celu(k: Kernel, c: ScalarType, x: str, alpha: str) -> str:
    return f"{x} > 0 ? {x} : {alpha} * {k.math('expm1', c, f'{x} / {alpha}')}"


def _softshrink(k: Kernel, c: ScalarType, x: str, by: str) -> str:
    return f"{x} > {by} ? {x} - {by} : {x} < -{by} ? {x} + {by} : {x} * 0"


def _hardshrink(k: Kernel, c: ScalarType, x: str, by: str) -> str:
    return f"{x} >= -{by} && {x} <= {by} ? 0 : {x}"


def _softplus(k: Kernel) -> None:
    a = k.tensor(0)
    c = compute_type(a.dtype)
    beta, threshold = (k.constant(float(k.number(i).constant("a factor")), c) for i in (1, 2))

    def expression(k: Kernel, c: ScalarType, x: str) -> str:
        power = k.math("exp", c, f"{x} * {beta}")
        return f"{x} * {beta} > {threshold} ? {x} : {k.math('log1p', c, power)} / {beta}"

    elementwise(k, [a], k.tensor(3), a.dtype, expression, floating=True)


def _mish(k: Kernel, c: ScalarType, x: str) -> str:
    return f"{x} * {k.math('tanh', c, k.math('log1p', c, k.math('exp', c, x)))}"


def _minus_abs_exp(k: Kernel, c: ScalarType, x: str) -> str:
    return k.math("exp", c, "-" + k.math("fabs", c, x))


def _log_sigmoid(k: Kernel) -> None:
    a, out, buffer = k.tensor(0), k.tensor(1), k.tensor(2)
    if buffer.numel > 0 and k.is_used(buffer):
        elementwise(k, [a], buffer, a.dtype, _minus_abs_exp, floating=True, suffix="_of_buffer")

    def expression(k: Kernel, c: ScalarType, x: str) -> str:
        return f"({x} < 0 ? {x} : 0) - {k.math('log1p', c, _minus_abs_exp(k, c, x))}"

    elementwise(k, [a], out, a.dtype, expression, floating=True)


def _logaddexp(base2: bool) -> Expression:
    def expression(k: Kernel, c: ScalarType, x: str, y: str) -> str:
        k.headers.add("math.h")
        size = "-" + k.math("fabs", c, f"{x} - {y}")
        power = k.math("log1p", c, k.math("exp2" if base2 else "exp", c, size))
        factor = f" * {k.constant(1.4426950408889634, c)}" if base2 else ""
        return f"isinf({x}) && {x} == {y} ? {x} : ({x} > {y} ? {x} : {y}) + {power}{factor}"

    return expression


def _logit(k: Kernel) -> None:
    a = k.tensor(0)
    eps = k.optional_float(1)

    def expression(k: Kernel, c: ScalarType, x: str) -> str:
        if eps is None:
            return k.math("log", c, f"{x} / (1 - {x})")
        low = k.constant(eps, c)
        high = f"(1 - {low})"
        bounded = f"({x} < {low} ? {low} : {x} > {high} ? {high} : {x})"
        return k.math("log", c, f"{bounded} / (1 - {bounded})")

    elementwise(k, [a], k.tensor(2), float_result(a.dtype), expression, floating=True)


def _masked_fill(k: Kernel) -> None:
    a, mask = k.tensor(0), k.tensor(1)
    value = k.number_in(k.number_value(k.number(2), "value"), a.dtype)
    elementwise(k, [a, mask], k.tensor(3), a.dtype, lambda k, c, x, y: f"{y} != 0 ? {value} : {x}")


def _masked_fill_tensor(k: Kernel) -> None:
    tensors = [k.tensor(0), k.tensor(1), k.tensor(2)]
    elementwise(k, tensors, k.tensor(3), tensors[0].dtype, lambda k, c, x, y, z: f"{y} != 0 ? {z} : {x}")


def _where(k: Kernel) -> None:
    condition, a, b = k.tensor(0), k.tensor(1), k.tensor(2)
    k.require(condition.dtype in (BOOL, ScalarType.BYTE), "the condition is neither bool nor uint8")
    # The condition comes last here: its name is that of no pointer that may lie under the result.
    elementwise(
        k, [a, b, condition], k.tensor(3), common_type(a, b), lambda k, c, x, y, z: f"{z} != 0 ? {x} : {y}"
    )


def _power(k: Kernel, c: ScalarType, x: str, y: str) -> str:
    return k.call("integer_pow", x, y) if c == LONG else k.math("pow", c, x, y)


def _unfolded(k: Kernel, number: str, compute: ScalarType) -> str:
    """A number that compilers do not know: they replace a power by a constant with other arithmetic."""
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
        "integers to a negative integer power",
    )
    if exponent == 0.5 and common != HALF:
        unary_float(function("sqrt"))(_shifted(k, a, out))
        return
    if exponent == -0.5 and common != HALF:
        unary_float(lambda k, c, x: f"1 / {k.math('sqrt', c, x)}")(_shifted(k, a, out))
        return
    y = _unfolded(k, k.number_in(number, compute_type(common)), compute_type(common))
    elementwise(k, [a], out, common, lambda k, c, x: _power(k, c, x, y))


def _shifted(k: Kernel, *arguments: TensorValue) -> Kernel:
    """The kernel with other arguments."""
    k.arguments = list(arguments)
    return k


def _number_first(expression: Expression, to_float: bool = False, unfolded: bool = False) -> Generator:
    """(number, tensor, out)."""

    def generate(k: Kernel) -> None:
        number = k.number_value(k.number(0), "number")
        b = k.tensor(1)
        common = common_type(b, number)
        common = float_result(common) if to_float else common
        x = k.number_in(number, common)
        if unfolded:
            x = _unfolded(k, x, compute_type(common))
        elementwise(k, [b], k.tensor(2), common, lambda k, c, y: expression(k, c, x, y))

    return generate


def _copysign_number(k: Kernel) -> None:
    a = k.tensor(0)
    number = k.number_value(k.number(1), "number")
    common = float_result(common_type(a, number))
    y = k.number_in(number, common)
    elementwise(k, [a], k.tensor(2), common, lambda k, c, x: k.math("copysign", c, x, y))


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
    k.headers.add("math.h")
    return f"signbit({x}) != 0"


def _angle(k: Kernel, c: ScalarType, x: str) -> str:
    return f"{x} != {x} ? {x} : {x} < 0 ? {k.constant(math.pi, c)} : 0"


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


def _glu(k: Kernel) -> None:
    a, out = k.tensor(0), k.tensor(2)
    axis = k.integer(1) % max(a.rank, 1)
    k.require(a.rank > 0 and a.sizes[axis] % 2 == 0, "the dim has no even number of elements")
    half = a.sizes[axis] // 2
    compute = compute_type(a.dtype)
    k.require(compute != LONG, "the kernel computes floating-point numbers only")
    k.require_shape(out, [half if d == axis else size for d, size in enumerate(a.sizes)])
    nest = Nest(2)
    for d, size in enumerate(out.sizes):
        nest.push(size, a.strides[d], out.strides[d])
    nest.sort_by(1).collapse()
    source, target = k.read(a, "a"), k.write(out)
    c = c_compute(compute)
    with nest.emit(k.code) as (at, to):
        k.code.add(f"const {c} x = {k.load(f'{source}[{at}]', a.dtype, compute)};")
        gate = f"{source}[{at} + {half * a.strides[axis]}]"
        k.code.add(f"const {c} y = {k.load(gate, a.dtype, compute)};")
        k.code.add(f"const {c} r = x / (1 + {k.math('exp', compute, '-y')});")
        k.code.add(f"{target}[{to}] = {k.store('r', compute, out.dtype)};")


_FLOAT_FUNCTIONS = (
    "acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 lgamma log log10 log1p log2 sin sinh "
    "sqrt tan tanh"
).split()

GENERATORS: dict[str, Generator] = {
    **{f"aten::{name}.out": unary_float(function(name)) for name in _FLOAT_FUNCTIONS},
    "aten::abs.out": unary(_abs),
    "aten::angle.out": unary_float(_angle),
    "aten::ceil.out": unary(_whole("ceil")),
    "aten::floor.out": unary(_whole("floor")),
    "aten::trunc.out": unary(_whole("trunc")),
    "aten::round.out": unary(_whole("nearbyint")),
    "aten::round.decimals_out": _round_decimals,
    "aten::frac.out": unary(lambda k, c, x: f"{x} - {k.math('trunc', c, x)}", floating=True),
    "aten::neg.out": unary(_neg),
    "aten::relu.out": unary(lambda k, c, x: f"{x} < 0 ? 0 : {x}"),
    "aten::reciprocal.out": unary_float(lambda k, c, x: f"1 / {x}"),
    "aten::rsqrt.out": unary_float(lambda k, c, x: f"1 / {k.math('sqrt', c, x)}"),
    "aten::sigmoid.out": unary_float(_sigmoid),
    "aten::sgn.out": unary(lambda k, c, x: f"({c_compute(c)})(({x} > 0) - ({x} < 0))"),
    "aten::sign.out": unary(lambda k, c, x: f"({c_compute(c)})(({x} > 0) - ({x} < 0))"),
    "aten::signbit.out": unary(_signbit, is_bool=True),
    "aten::silu.out": unary(lambda k, c, x: f"{x} / (1 + {k.math('exp', c, '-' + x)})", floating=True),
    "aten::square.out": unary(lambda k, c, x: product(k, c, x, x)),
    "aten::isinf.out": unary(_is_infinite(""), is_bool=True),
    "aten::isposinf.out": unary(_is_infinite("+"), is_bool=True),
    "aten::isneginf.out": unary(_is_infinite("-"), is_bool=True),
    "aten::isnan.out": unary(_is_nan, is_bool=True),
    "aten::logical_not.out": unary(lambda k, c, x: f"{x} == 0", is_bool=True),
    "aten::conj_physical.out": unary(lambda k, c, x: x),
    "aten::_conj_physical.out": unary(lambda k, c, x: x),
    "aten::bitwise_not.out": _bitwise_not,
    "aten::hardsigmoid.out": unary(lambda k, c, x: f"{_gate(k, c, x)} / 6", floating=True),
    "aten::hardswish.out": unary(lambda k, c, x: f"{x} * {_gate(k, c, x)} / 6", floating=True),
    "aten::hardtanh.out": _hardtanh,
    "aten::hardshrink.out": _with_factor(_hardshrink),
    "aten::softshrink.out": _with_factor(_softshrink),
    "aten::leaky_relu.out": _with_factor(lambda k, c, x, y: f"{x} > 0 ? {x} : {x} * {y}"),
    "aten::celu.out": _with_factor(_celu),
    "aten::elu.out": _elu,
    "aten::gelu.out": _gelu,
    "aten::glu.out": _glu,
    "aten::mish.out": unary(_mish, floating=True),
    "aten::softplus.out": _softplus,
    "aten::threshold.out": _threshold,
    "aten::log_sigmoid_forward.output": _log_sigmoid,
    "aten::logit.out": _logit,
    "aten::nan_to_num.out": _nan_to_num,
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
    "aten::addcmul.out": _addc(False),
    "aten::addcdiv.out": _addc(True),
    "aten::atan2.out": binary(function("atan2"), to_float=True, floating=True),
    "aten::hypot.out": binary(function("hypot"), to_float=True, floating=True),
    "aten::copysign.out": binary(function("copysign"), to_float=True, floating=True),
    "aten::copysign.Scalar_out": _copysign_number,
    "aten::fmod.Tensor_out": _with_failure(binary(_MODULO)),
    "aten::fmod.Scalar_out": _with_number_checked(_MODULO),
    "aten::remainder.Tensor_out": _with_failure(binary(_REMAINDER)),
    "aten::remainder.Scalar_out": _with_number_checked(_REMAINDER),
    "aten::floor_divide.out": _with_failure(binary(_FLOOR_DIVIDE)),
    "aten::floor_divide.Scalar_out": _with_number_checked(_FLOOR_DIVIDE),
    "aten::gcd.out": binary(lambda k, c, x, y: k.call("common_divisor", x, y)),
    "aten::lcm.out": binary(lambda k, c, x, y: k.call("common_multiple", x, y)),
    "aten::heaviside.out": binary(_heaviside),
    "aten::maximum.out": binary(_maximum),
    "aten::minimum.out": binary(_minimum),
    "aten::max.out": binary(_maximum),
    "aten::min.out": binary(_minimum),
    "aten::fmax.out": binary(_fmax),
    "aten::fmin.out": binary(_fmin),
    "aten::logaddexp.out": binary(_logaddexp(False), floating=True),
    "aten::logaddexp2.out": binary(_logaddexp(True), floating=True),
    "aten::xlogy.OutTensor": binary(_xlogy, to_float=True),
    "aten::xlogy.OutScalar_Self": _number_first(_xlogy, to_float=True),
    "aten::xlogy.OutScalar_Other": with_number(_xlogy, to_float=True),
    "aten::pow.Tensor_Tensor_out": binary(_power),
    "aten::pow.Scalar_out": _number_first(_power, unfolded=True),
    "aten::pow.Tensor_Scalar_out": _pow_number,
    "aten::lerp.Scalar_out": _lerp_number,
    "aten::lerp.Tensor_out": _lerp_tensor,
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
