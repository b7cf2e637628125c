"""Instructions with a number as result: arithmetic on sizes and loop counters, and elements as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rushlight.aot_c.dtypes import BOOL, DOUBLE, FLOATING, LONG
from rushlight.aot_c.errors import Unsupported
from rushlight.aot_c.kernel import Kernel
from rushlight.aot_c.values import Number, TensorValue


@dataclass(frozen=True)
class Scalar:
    """The value that an instruction assigns to its result.

    Attributes:
        kind: `int`, `double` or `bool`.
        text: the C expression of the value.
        fails: the C condition under which the method fails; empty if it cannot fail.
    """

    kind: str
    text: str
    fails: str = ""


Rule = Callable[[Kernel], Scalar]
"""Writes the result of an instruction. The kernel collects the helpers and headers."""


def _numbers(k: Kernel, count: int) -> list[Number]:
    return [k.number(i) for i in range(count)]


def _is_double(numbers: Sequence[Number]) -> bool:
    return any(number.kind == "double" for number in numbers)


def _arithmetic(helper: str, operator: str) -> Rule:
    def rule(k: Kernel) -> Scalar:
        a, b = _numbers(k, 2)
        if _is_double((a, b)):
            return Scalar("double", f"{k.constant(a, DOUBLE)} {operator} {k.constant(b, DOUBLE)}")
        return Scalar("int", k.call(helper, k.constant(a, LONG), k.constant(b, LONG)))

    return rule


def _zero(k: Kernel, divisor: Number) -> str:
    if divisor.value is None:
        return f"{divisor.name} == 0"
    return "" if divisor.value != 0 else "true"


def _floordiv(k: Kernel) -> Scalar:
    a, b = _numbers(k, 2)
    if _is_double((a, b)):
        k.headers.add("math.h")
        text = f"floor({k.constant(a, DOUBLE)} / {k.constant(b, DOUBLE)})"
        return Scalar("double", text, _zero(k, b))
    return Scalar("int", k.call("floor_div", k.constant(a, LONG), k.constant(b, LONG)), _zero(k, b))


def _mod(k: Kernel) -> Scalar:
    a, b = _numbers(k, 2)
    if _is_double((a, b)):
        text = k.call("floor_remainder_double", k.constant(a, DOUBLE), k.constant(b, DOUBLE))
        return Scalar("double", text, _zero(k, b))
    return Scalar("int", k.call("floor_mod", k.constant(a, LONG), k.constant(b, LONG)), _zero(k, b))


def _truediv(k: Kernel) -> Scalar:
    a, b = _numbers(k, 2)
    return Scalar("double", f"{k.constant(a, DOUBLE)} / {k.constant(b, DOUBLE)}")


def _pow(k: Kernel) -> Scalar:
    a, b = _numbers(k, 2)
    if not _is_double((a, b)) and b.value is not None and b.value >= 0:
        return Scalar("int", k.call("integer_pow", k.constant(a, LONG), k.constant(b, LONG)))
    raise Unsupported(
        "a power of numbers is supported only for integers and a constant exponent of at least 0"
    )


def _neg(k: Kernel) -> Scalar:
    (a,) = _numbers(k, 1)
    if a.kind == "double":
        return Scalar("double", f"-({k.constant(a, DOUBLE)})")
    return Scalar("int", k.call("wrap_neg", k.constant(a, LONG)))


def _compare(operator: str) -> Rule:
    def rule(k: Kernel) -> Scalar:
        a, b = _numbers(k, 2)
        compute = DOUBLE if _is_double((a, b)) else LONG
        return Scalar("bool", f"{k.constant(a, compute)} {operator} {k.constant(b, compute)}")

    return rule


def _extreme(operator: str) -> Rule:
    """Returns the second operand if `first operator second` is true, else the first operand."""

    def rule(k: Kernel) -> Scalar:
        a, b = _numbers(k, 2)
        is_double = _is_double((a, b))
        x, y = (k.constant(number, DOUBLE if is_double else LONG) for number in (a, b))
        return Scalar("double" if is_double else "int", f"{x} {operator} {y} ? {y} : {x}")

    return rule


def _to_integer(function: str) -> Rule:
    def rule(k: Kernel) -> Scalar:
        (a,) = _numbers(k, 1)
        if a.kind != "double":
            return Scalar("int", k.constant(a, LONG))
        k.headers.add("math.h")
        x = k.constant(a, DOUBLE)
        rounded = f"({x} - remainder({x}, 1.0))" if function == "round" else f"{function}({x})"
        return Scalar("int", f"(int64_t){rounded}", f"!({rounded} >= -0x1p63 && {rounded} < 0x1p63)")

    return rule


def _sym_float(k: Kernel) -> Scalar:
    return Scalar("double", k.constant(k.number(0), DOUBLE))


def _sym_not(k: Kernel) -> Scalar:
    return Scalar("bool", f"!{k.number(0).to(BOOL)}")


def _sym_ite(k: Kernel) -> Scalar:
    condition, a, b = _numbers(k, 3)
    if a.kind != b.kind:
        raise Unsupported("both results of sym_ite must have the same type")
    compute = {"double": DOUBLE, "int": LONG, "bool": BOOL}[a.kind]
    return Scalar(a.kind, f"{condition.to(BOOL)} ? {k.constant(a, compute)} : {k.constant(b, compute)}")


def _size(k: Kernel) -> Scalar:
    tensor, dim = k.tensor(0), k.integer(1)
    k.require(tensor.rank > 0 and -tensor.rank <= dim < tensor.rank, "the dim is out of range")
    return Scalar("int", str(tensor.sizes[dim]))


def _stride(k: Kernel) -> Scalar:
    tensor, dim = k.tensor(0), k.integer(1)
    k.require(tensor.rank > 0 and -tensor.rank <= dim < tensor.rank, "the dim is out of range")
    return Scalar("int", str(tensor.strides[dim]))


def _numel(k: Kernel) -> Scalar:
    return Scalar("int", str(k.tensor(0).numel))


def _item(k: Kernel) -> Scalar:
    tensor = k.tensor(0)
    k.require(tensor.numel == 1, "the tensor does not have exactly one element")
    element = f"({tensor.pointer})[0]"
    if tensor.dtype in FLOATING:
        return Scalar("double", k.load(element, tensor.dtype, DOUBLE))
    if tensor.dtype == BOOL:
        return Scalar("bool", f"{element} != 0")
    return Scalar("int", f"(int64_t){element}")


def is_false(k: Kernel, condition: Number | TensorValue) -> str:
    """Writes the condition under which a jump is taken. A tensor is true if all of its elements are true."""
    if isinstance(condition, Number):
        return "!" + condition.to(BOOL)
    k.require(condition.item_size == 1, "the elements of the condition are not bytes")
    elements = [f"({condition.pointer})[{i}] == 0" for i in range(condition.numel)]
    if len(elements) > 16:
        raise Unsupported(f"a condition of {len(elements)} elements is not supported")
    return " || ".join(elements) or "false"


RULES: dict[str, Rule] = {
    "executorch_prim::add.Scalar": _arithmetic("wrap_add", "+"),
    "executorch_prim::sub.Scalar": _arithmetic("wrap_sub", "-"),
    "executorch_prim::mul.Scalar": _arithmetic("wrap_mul", "*"),
    "executorch_prim::floordiv.Scalar": _floordiv,
    "executorch_prim::floordiv.int": _floordiv,
    "executorch_prim::mod.Scalar": _mod,
    "executorch_prim::mod.int": _mod,
    "executorch_prim::truediv.Scalar": _truediv,
    "executorch_prim::pow.Scalar": _pow,
    "executorch_prim::neg.Scalar": _neg,
    "executorch_prim::eq.Scalar": _compare("=="),
    "executorch_prim::ne.Scalar": _compare("!="),
    "executorch_prim::lt.Scalar": _compare("<"),
    "executorch_prim::le.Scalar": _compare("<="),
    "executorch_prim::gt.Scalar": _compare(">"),
    "executorch_prim::ge.Scalar": _compare(">="),
    "executorch_prim::sym_max.Scalar": _extreme("<"),
    "executorch_prim::sym_min.Scalar": _extreme(">"),
    "executorch_prim::ceil.Scalar": _to_integer("ceil"),
    "executorch_prim::round.Scalar": _to_integer("round"),
    "executorch_prim::trunc.Scalar": _to_integer("trunc"),
    "executorch_prim::sym_int.Scalar": _to_integer("trunc"),
    "executorch_prim::sym_float.Scalar": _sym_float,
    "executorch_prim::sym_not.Scalar": _sym_not,
    "executorch_prim::sym_ite.Scalar": _sym_ite,
    "aten::sym_size.int": _size,
    "aten::sym_stride.int": _stride,
    "aten::sym_numel": _numel,
    "aten::sym_storage_offset": lambda k: Scalar("int", "0"),
    "aten::_local_scalar_dense": _item,
}
"""For each operator whose result is a number, the rule that writes the result."""
