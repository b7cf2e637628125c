"""Elementwise operators: broadcasting, dtype promotion, and a C expression that computes each element.

Example: `mul` of int64[2, 3] and float32[3], which is broadcast.

    static void mul_0(const i64 *restrict a, const f32 *restrict b, f32 *restrict out) {
      for (ptrdiff_t i = 0; i < 2; ++i) {
        for (ptrdiff_t j = 0; j < 3; ++j) {
          const float x = (float)a[3 * i + j];
          const float y = b[j];
          out[3 * i + j] = x * y;
        }
      }
    }
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from rushlight.aot_c.dtypes import (
    BOOL,
    FLOATING,
    LONG,
    PARTS,
    c_compute,
    compute_type,
    float_result,
    is_integral,
    name_of,
    narrows,
    result_type,
)
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.kernel import Generator, Kernel
from rushlight.aot_c.loops import Nest
from rushlight.aot_c.values import Number, TensorValue
from rushlight.format.program import ScalarType

Expression = Callable[..., str]

"""Writes an element of the result: (kernel, compute type, names of the operands) -> C expression."""

_LOCALS = "xyzw"

_POINTERS = "abcd"


def broadcast(tensors: Sequence[TensorValue]) -> list[int]:
    """Returns the shape to which the tensors broadcast."""
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
    """Raises Unsupported if torch does not write results of dtype `source` to a tensor of dtype `target`."""
    loses_part = source in PARTS and target not in PARTS
    loses_fraction = source in FLOATING and target not in FLOATING and target not in PARTS
    loses = loses_part or loses_fraction or (source != BOOL and target == BOOL)
    k.require(not loses, f"results of {name_of(source)} cannot be written to a tensor of {name_of(target)}")


def common_type(*operands: TensorValue | Number) -> ScalarType:
    """Returns the dtype to which torch promotes the operands."""
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
        common: the dtype to which the operands are promoted; the expression has its compute type.
        expression: writes an element of the result.
        is_bool: whether the expression has the type bool.
        result: the type of the expression if it is not the compute type.
        keeps_numbers: whether operands of rank 0 keep their precision in floating-point arithmetic.
        floating: whether the operator supports only floating-point numbers.
        checks: whether the dtype of the result must be able to hold `common`.
        suffix: the suffix of the pointer names, for a kernel with several loops.
    """
    compute = compute_type(common)
    k.require(not (floating and compute == LONG), "the operator supports only floating-point numbers")
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


def unary(expression: Expression, **options: Any) -> Generator:
    """For operators with the arguments (in, out), computed in the dtype of the input."""

    def generate(k: Kernel) -> None:
        x = k.tensor(0)
        elementwise(k, [x], k.tensor(1), x.dtype, expression, **options)

    return generate


def unary_float(expression: Expression) -> Generator:
    """For operators with the arguments (in, out). The result is floating-point, also for integers."""

    def generate(k: Kernel) -> None:
        x = k.tensor(0)
        elementwise(k, [x], k.tensor(1), float_result(x.dtype), expression, floating=True)

    return generate


def binary(expression: Expression, *, to_float: bool = False, **options: Any) -> Generator:
    """For operators with the arguments (a, b, out)."""

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
    """For operators with the arguments (a, number, out).

    The number is converted to the common dtype, or with `exact` to the compute type of the common dtype.
    """

    def generate(k: Kernel) -> None:
        a = k.tensor(0)
        number = k.number_value(k.number(1), "number")
        common = common_type(a, number)
        common = float_result(common) if to_float else common
        y = k.number_in(number, compute_type(common) if exact else common)
        elementwise(k, [a], k.tensor(2), common, lambda k, c, x: expression(k, c, x, y), **options)

    return generate


def function(name: str) -> Expression:
    """Returns the expression of a call of a function of math.h."""
    return lambda k, c, *x: k.math(name, c, *x)
