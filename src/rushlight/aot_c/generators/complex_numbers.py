"""Arithmetic on complex numbers. An element has the C type `float _Complex` or `double _Complex`.

Example: `mul` of complex64[4] and complex64[4].

    static void mul_0(const c64 *restrict a, const c64 *restrict b, c64 *restrict out) {
      for (ptrdiff_t i = 0; i < 4; ++i) {
        const float _Complex x = a[i];
        const float _Complex y = b[i];
        out[i] = x * y;
      }
    }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rushlight.aot_c.code import terms
from rushlight.aot_c.dtypes import C_TYPES, FLOAT, FLOATING, PARTS, SIXTEEN, c_compute, name_of
from rushlight.aot_c.generators.elementwise import Expression, broadcast, common_type
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest, plus
from rushlight.aot_c.values import Number, TensorValue
from rushlight.format.program import ScalarType

_LOCALS, _POINTERS = "xy", "ab"


def has_complex(k: Kernel) -> bool:
    """Returns whether a tensor of a call has a complex dtype."""
    return any(isinstance(value, TensorValue) and value.dtype in PARTS for value in k.arguments)


def with_complex(real: Generator, complex_: Generator) -> Generator:
    """Returns the generator of an operator with different code for real and complex tensors."""
    return lambda k: complex_(k) if has_complex(k) else real(k)


def _elementwise(
    k: Kernel,
    inputs: Sequence[TensorValue],
    out: TensorValue,
    operand: ScalarType,
    result: ScalarType,
    expression: Expression,
) -> None:
    """Writes a loop that computes each element of a result.

    Args:
        k: the kernel.
        inputs: the operands.
        out: the result.
        operand: the dtype to which the operands are converted.
        result: the dtype of the expression.
        expression: writes an element of the result from the dtype and the names of the operands.
    """
    for dtype in (operand, result):
        k.require(
            dtype in PARTS or (dtype in FLOATING and dtype not in SIXTEEN),
            f"complex arithmetic on {name_of(dtype)} is not supported",
        )
    k.require(
        (result in PARTS) == (out.dtype in PARTS) and (out.dtype in PARTS or out.dtype in FLOATING),
        f"results of {name_of(result)} cannot be written to a tensor of {name_of(out.dtype)}",
    )
    k.require_shape(out, broadcast(inputs))
    k.in_place = True
    nest = Nest.over(out.sizes, *inputs, out).sort_by(len(inputs)).collapse()
    if nest.numel == 0:
        return
    names = [k.read(tensor, _POINTERS[i]) for i, tensor in enumerate(inputs)]
    k.write(out)
    with nest.emit(k.code) as at:
        for i, tensor in enumerate(inputs):
            loaded = k.convert(f"{names[i]}[{at[i]}]", tensor.dtype, operand)
            k.code.add(f"const {C_TYPES[operand]} {_LOCALS[i]} = {loaded};")
        value = expression(k, operand, *_LOCALS[: len(inputs)])
        if out.dtype != result:
            k.code.add(f"const {C_TYPES[result]} r = {value};")
            value = k.convert("r", result, out.dtype)
        k.code.add(f"out[{at[-1]}] = {value};")


def _function(name: str) -> Expression:
    """Returns the expression of a call of a function of complex.h."""

    def expression(k: Kernel, dtype: ScalarType, *operands: str) -> str:
        k.headers.add("complex.h")
        return f"{name}{'f' if PARTS[dtype] == FLOAT else ''}({', '.join(operands)})"

    return expression


def _unary(expression: Expression, to_part: bool = False) -> Generator:
    def generate(k: Kernel) -> None:
        x = k.tensor(0)
        k.require(x.dtype in PARTS, f"an input of {name_of(x.dtype)} has no complex result")
        _elementwise(k, [x], k.tensor(1), x.dtype, PARTS[x.dtype] if to_part else x.dtype, expression)

    return generate


def _binary(operator: str, out: int = 2) -> Generator:
    def generate(k: Kernel) -> None:
        a, b = k.tensor(0), k.tensor(1)
        _require_plain_alpha(k, out)
        common = common_type(a, b)
        _elementwise(k, [a, b], k.tensor(out), common, common, lambda k, c, x, y: f"{x} {operator} {y}")

    return generate


def _require_plain_alpha(k: Kernel, out: int) -> None:
    """Raises Unsupported if the argument before the result of a sum is not 1."""
    if out == 3:
        alpha = k.number(2).constant("alpha")
        k.require(float(alpha) == 1, "an alpha other than 1 is not supported for complex numbers")


def _with_number(operator: str, out: int = 2) -> Generator:
    def generate(k: Kernel) -> None:
        a, number = k.tensor(0), k.number(1)
        _require_plain_alpha(k, out)
        common = common_type(a, number)
        k.require(common in PARTS, "the operand is not complex")
        y = _complex_constant(k, k.number_value(number, "number"), common)
        _elementwise(k, [a], k.tensor(out), common, common, lambda k, c, x: f"{x} {operator} {y}")

    return generate


def _complex_constant(k: Kernel, number: Number, dtype: ScalarType) -> str:
    return k.complex_number(k.number_in(number, PARTS[dtype]), "0", dtype)


def _from_parts(expression: Expression) -> Generator:
    """For operators with the arguments (a, b, out): real operands and a complex result."""

    def generate(k: Kernel) -> None:
        a, b, out = k.tensor(0), k.tensor(1), k.tensor(2)
        k.require(
            out.dtype in PARTS and a.dtype == b.dtype == PARTS[out.dtype],
            f"{name_of(out.dtype)} numbers from {name_of(a.dtype)} and {name_of(b.dtype)} are not supported",
        )
        _elementwise(k, [a, b], out, a.dtype, out.dtype, expression)

    return generate


def _polar(k: Kernel, dtype: ScalarType, size: str, angle: str) -> str:
    parts = [f"{size} * {k.math(function, dtype, angle)}" for function in ("cos", "sin")]
    return k.call(f"complex_{c_compute(dtype)}", *parts)


def _complex(k: Kernel, dtype: ScalarType, real: str, imaginary: str) -> str:
    return k.call(f"complex_{c_compute(dtype)}", real, imaginary)


def _loops_over_pairs(k: Kernel, source: TensorValue, out: TensorValue) -> Nest:
    """Makes loops over complex elements and the first parts of their pairs of real elements.

    One of the tensors is complex. The other one has a last dim with the real and the imaginary part.
    """
    whole, parts = (source, out) if source.dtype in PARTS else (out, source)
    k.require(
        PARTS.get(whole.dtype) == parts.dtype,
        f"{name_of(source.dtype)} cannot be viewed as {name_of(out.dtype)}",
    )
    k.require_shape(parts, [*whole.sizes, 2])
    nest = Nest(2)
    for d, size in enumerate(whole.sizes):
        nest.push(size, source.strides[d], out.strides[d])
    return nest.sort_by(1).collapse()


def _view_as_real(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(1)
    nest = _loops_over_pairs(k, source, out)
    if nest.numel == 0:
        return
    k.read(source, "in")
    k.write(out)
    with nest.emit(k.code) as (at, to):
        second = plus(to, terms(str(out.strides[-1])))
        k.code.add(f"out[{to}] = {k.real_part(f'in[{at}]', source.dtype)};")
        k.code.add(f"out[{second}] = {k.imaginary_part(f'in[{at}]', source.dtype)};")


def _view_as_complex(k: Kernel) -> None:
    source, out = k.tensor(0), k.tensor(1)
    nest = _loops_over_pairs(k, source, out)
    if nest.numel == 0:
        return
    k.read(source, "in")
    k.write(out)
    with nest.emit(k.code) as (at, to):
        second = plus(at, terms(str(source.strides[-1])))
        k.code.add(f"out[{to}] = {k.complex_number(f'in[{at}]', f'in[{second}]', out.dtype)};")


COMPLEX_GENERATORS: Mapping[str, Generator] = {
    "aten::add.out": _binary("+", 3),
    "aten::add.Scalar_out": _with_number("+", 3),
    "aten::sub.out": _binary("-", 3),
    "aten::sub.Scalar_out": _with_number("-", 3),
    "aten::mul.out": _binary("*"),
    "aten::mul.Scalar_out": _with_number("*"),
    "aten::div.out": _binary("/"),
    "aten::div.Scalar_out": _with_number("/"),
    "aten::neg.out": _unary(lambda k, c, x: f"-{x}"),
    "aten::abs.out": _unary(_function("cabs"), to_part=True),
    "aten::angle.out": _unary(_function("carg"), to_part=True),
    "aten::exp.out": _unary(_function("cexp")),
    "aten::conj_physical.out": _unary(_function("conj")),
    "aten::_conj_physical.out": _unary(_function("conj")),
}
"""The generators for complex tensors of operators that also have real tensors."""

GENERATORS: Mapping[str, Generator] = {
    "aten::complex.out": _from_parts(_complex),
    "aten::polar.out": _from_parts(_polar),
    "aten::view_as_real_copy.out": _view_as_real,
    "aten::view_as_complex_copy.out": _view_as_complex,
}
