"""Finds and calls torch's operators: out variants, or functional overloads instead."""

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

# Arithmetic on the program's scalars.
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


# Importing these modules defines operators and their reference implementations.
_DEFINING = (custom_ops, quantized_ops)


@cache
def find_operator(name: str, overload: str) -> OpOverload:
    """Returns the overload to call: the named one, or the functional overload with the same arguments.

    Args:
        name: the operator, such as "aten::add".
        overload: the overload, such as "out".

    Raises:
        OperatorMissingError: torch has no implementation of either.
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
        if not _written(functional) and _has_kernel(functional) and _stands_for(functional, named, overload):
            return _overload(functional)
    raise OperatorMissingError(
        f"neither {full_name} nor a functional overload of the same arguments has an implementation in "
        f"torch: give it one with torch.library.impl"
    )


def _overload(op: object) -> OpOverload:
    assert isinstance(op, OpOverload)
    return op


def _has_kernel(op: OpOverload) -> bool:
    return any(op.has_kernel_for_dispatch_key(key) for key in _DISPATCH_KEYS)


def _written(op: OpOverload) -> list[str]:
    return [a.name for a in op._schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def _stands_for(functional: OpOverload, named: OpOverload | None, overload: str) -> bool:
    if named is None:
        return functional._overloadname == (overload.removesuffix("out").removesuffix("_") or "default")
    outs = _written(named)
    wanted = [(a.name, str(a.type)) for a in named._schema.arguments if a.name not in outs]
    return wanted == [(a.name, str(a.type)) for a in functional._schema.arguments]


def check(name: str, overload: str) -> None:
    """Checks that an operator exists.

    Raises:
        OperatorMissingError: it does not exist.
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
    """Returns which values a kernel call reads and writes.

    The arguments of a functional overload are followed by its results, or by the outs of the overload that it
    replaces.

    Args:
        op: the operator.
        args: the indices of the values of the call.

    Returns:
        The values that are read, those that are written, and the positions of the read ones that are also
        written.
    """
    arguments = op._schema.arguments
    count = len(arguments)
    positions = outs(op)
    if positions:
        return (
            [args[i] for i in range(count) if i not in positions],
            [args[i] for i in positions],
            (),
        )
    in_place = tuple(
        i for i, item in enumerate(arguments) if item.alias_info is not None and item.alias_info.is_write
    )
    if in_place:
        return args[:count], [args[i] for i in in_place], in_place
    return args[:count], args[count : count + len(op._schema.returns)], ()


def call(op: OpOverload, given: list[object], outs: list[object]) -> Any:
    """Calls `op` with the values of a kernel call.

    given: its arguments in the schema's order, without the out arguments; dtypes, layouts and memory formats
    as their numbers. outs: for each out argument an empty tensor, or a list of empty tensors, of the dtype
    that the program wants; a functional overload ignores them.
    Returns the results: of an out variant its outs, whatever it returns itself.
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
