"""Activation functions.

Example: `silu` of float32[4].

    static void silu_0(const f32 *restrict a, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 4; ++i) {
        const float x = a[i];
        out[i] = x / (1 + expf(-x));
      }
    }
"""

from __future__ import annotations

from collections.abc import Callable

from rushlight.aot_c.dtypes import (
    LONG,
    c_compute,
    compute_type,
    float_result,
)
from rushlight.aot_c.generators.elementwise import elementwise, unary, unary_float
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest
from rushlight.format.program import ScalarType


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

    k.require(mode in ("tanh", "none"), f"approximate={mode!r} is not supported")
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
    """For operators with the arguments (in, number, out). The number has the compute type."""

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


def _glu(k: Kernel) -> None:
    a, out = k.tensor(0), k.tensor(2)
    axis = k.integer(1) % max(a.rank, 1)
    k.require(a.rank > 0 and a.sizes[axis] % 2 == 0, "the size of the dim is odd")
    half = a.sizes[axis] // 2
    compute = compute_type(a.dtype)
    k.require(compute != LONG, "the operator supports only floating-point numbers")
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


GENERATORS: dict[str, Generator] = {
    "aten::relu.out": unary(lambda k, c, x: f"{x} < 0 ? 0 : {x}"),
    "aten::sigmoid.out": unary_float(_sigmoid),
    "aten::silu.out": unary(lambda k, c, x: f"{x} / (1 + {k.math('exp', c, '-' + x)})", floating=True),
    "aten::hardsigmoid.out": unary(lambda k, c, x: f"{_gate(k, c, x)} / 6", floating=True),
    "aten::hardswish.out": unary(lambda k, c, x: f"{x} * {_gate(k, c, x)} / 6", floating=True),
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
}
