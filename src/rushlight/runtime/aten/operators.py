"""Finds and calls torch's operators: out variants, or functional overloads if there is no out variant."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload

from rushlight.ir import custom_ops, quantized_ops
from rushlight.runtime.errors import OperatorMissingError

# Operators on scalars of the program, by name.
PRIMS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "truediv": operator.truediv,
    "mod": operator.mod,
    "pow": operator.pow,
    "neg": operator.neg,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "sym_float": float,
    "sym_int": int,
    "sym_not": operator.not_,
    "sym_max": max,
    "sym_min": min,
    "sym_ite": lambda condition, then, otherwise: then if condition else otherwise,
}

_DISPATCH_KEYS = (
    torch._C.DispatchKey.CPU,
    torch._C.DispatchKey.CompositeImplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
)


# The import of these modules registers operators and their reference implementations with torch.
_DEFINING = (custom_ops, quantized_ops)


@cache
def find_operator(name: str, overload: str) -> OpOverload:
    """Returns the given overload, or the functional overload with the same arguments.

    Args:
        name: the operator, such as "aten::add".
        overload: the overload, such as "out".

    Raises:
        OperatorMissingError: torch implements neither of them.
    """
    library, _, base = name.partition("::")
    packet = getattr(getattr(torch.ops, library), base, None)
    full_name = f"{name}.{overload}" if overload else name
    if packet is None:
        raise OperatorMissingError(
            f"torch has no operator {name}: import the module that registers it with torch.library"
        )
    named = getattr(packet, overload or "default", None)
    if named is not None and _has_kernel(named):
        return _overload(named)
    for candidate in packet.overloads():
        functional = getattr(packet, candidate)
        if (
            not outs(functional)
            and not _returns_arguments(functional)
            and _has_kernel(functional)
            and _is_functional_form(functional, named, overload)
        ):
            return _overload(functional)
    raise OperatorMissingError(
        f"neither {full_name} nor a functional overload with the same arguments has an implementation in "
        f"torch: register one with torch.library.impl"
    )


def _overload(op: object) -> OpOverload:
    assert isinstance(op, OpOverload)
    return op


def _has_kernel(op: object) -> bool:
    # torch has packets without kernels, such as aten::gt, whose attributes are of other types.
    try:
        return isinstance(op, OpOverload) and any(
            op.has_kernel_for_dispatch_key(key) for key in _DISPATCH_KEYS
        )
    except RuntimeError:
        return False


def _returns_arguments(op: OpOverload) -> bool:
    """Returns whether a result is an argument that the operator writes."""
    return any(result.alias_info is not None and result.alias_info.is_write for result in op._schema.returns)


def _is_functional_form(functional: OpOverload, named: OpOverload | None, overload: str) -> bool:
    if named is None:
        return functional._overloadname == (overload.removesuffix("out").removesuffix("_") or "default")
    wanted = [_kind(a) for a in named._schema.arguments if not a.is_out]
    return wanted == [_kind(a) for a in functional._schema.arguments]


def _kind(argument: torch._C.Argument) -> tuple[str, str, bool]:
    """Returns the name and the type of an argument, and whether the operator writes it."""
    return argument.name, str(argument.type), _is_written(argument)


def _is_written(argument: torch._C.Argument) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def check(name: str, overload: str) -> None:
    """Checks that ATen mode can run an operator.

    Raises:
        OperatorMissingError: the operator does not exist, or has no implementation.
    """
    library, _, base = name.partition("::")
    if library == "executorch_prim":
        if base not in PRIMS and base not in ("et_view", "et_copy_index"):
            raise OperatorMissingError(f"the runtime has no operator {name}")
    elif library not in ("dim_order_ops", "et_copy"):
        find_operator(name, overload)


def outs(op: OpOverload) -> list[int]:
    """Returns the positions of the out arguments."""
    return [i for i, argument in enumerate(op._schema.arguments) if argument.is_out]


def roles(op: OpOverload, args: list[int]) -> tuple[list[int], list[int], tuple[int, ...]]:
    """Returns the values that a kernel call reads and writes.

    If `op` is a functional overload, the call has its arguments, and then its results or the out arguments of
    the overload that it replaces.

    Args:
        op: the operator.
        args: the indices of the values of the call.

    Returns:
        The values that are read, the values that are written, and the positions in the first list of values
        that are also written. Results come before arguments that are also read.
    """
    positions = outs(op)
    read = [i for i in range(len(op._schema.arguments)) if i not in positions]
    written = [i for i in read if _is_written(op._schema.arguments[i])]
    return (
        [args[i] for i in read],
        results(op, args) + [args[i] for i in written],
        tuple(read.index(i) for i in written),
    )


def results(op: OpOverload, args: list[int]) -> list[int]:
    """Returns the values of a kernel call that receive results.

    These are the out arguments, or the values after all arguments.

    Args:
        op: the operator.
        args: the indices of the values of the call.
    """
    positions = outs(op)
    if positions or _returns_arguments(op):
        return [args[i] for i in positions]
    count = len(op._schema.arguments)
    return args[count : count + len(op._schema.returns)]


def call(op: OpOverload, given: list[object], outs: list[object]) -> Any:
    """Calls an operator with the values of a kernel call.

    Args:
        op: the operator.
        given: the arguments in the order of the schema, without the out arguments. Dtypes, layouts and memory
            formats are given as numbers.
        outs: an empty tensor, or a list of empty tensors, for each out argument. They have the dtypes of the
            program. A functional overload ignores them.

    Returns:
        The out arguments of an out variant, or the results of a functional overload.
    """
    positional: list[object] = []
    keywords: dict[str, object] = {}
    values = iter(given)
    out_values = iter(outs)
    written: list[object] = []
    for argument in op._schema.arguments:
        if argument.is_out:
            keywords[argument.name] = value = next(out_values)
            written.append(value)
            continue
        value = next(values)
        if argument.kwarg_only:
            keywords[argument.name] = value
        else:
            positional.append(value)
    result = op(*positional, **keywords)
    if not written:
        return result
    return written[0] if len(written) == 1 else tuple(written)
