"""Finds the out variant of a functional operator: the overload that writes into tensors of the caller."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch._ops import OpOverload, OpOverloadPacket

from rushlight.ir import quantized_ops as _quantized_ops  # noqa: F401  (defines its out variants)
from rushlight.ir.errors import MissingOutVariantError

# Arguments of factory functions that out variants do not have, because the out tensor defines them.
_TENSOR_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})


@dataclass(frozen=True)
class OutVariant:
    """An out overload.

    Attributes:
        op: the operator.
        outs: the names of the arguments that it writes, in order.
        is_list: whether its only out argument is a list of tensors.
    """

    op: OpOverload
    outs: tuple[str, ...]
    is_list: bool

    @property
    def argument_names(self) -> frozenset[str]:
        """The names of all arguments except the outs."""
        return frozenset(arg.name for arg in self.op._schema.arguments) - frozenset(self.outs)


def written_arguments(schema: torch._C.FunctionSchema) -> tuple[torch._C.Argument, ...]:
    """Returns the arguments that the operator writes into."""
    return tuple(arg for arg in schema.arguments if arg.alias_info is not None and arg.alias_info.is_write)


def result_arguments(schema: torch._C.FunctionSchema) -> tuple[torch._C.Argument, ...]:
    """Returns the written arguments that the results are: the out arguments, if the operator has any.

    The results of an in-place operator are the other arguments that it writes.
    """
    written = written_arguments(schema)
    return tuple(arg for arg in written if arg.kwarg_only) or written


def is_out_variant(op: OpOverload) -> bool:
    """Returns whether `op` writes its results into keyword-only out tensors.

    The operator may also change other arguments.
    """
    return any(arg.kwarg_only for arg in written_arguments(op._schema))


def returns_first_argument(op: OpOverload) -> bool:
    """Returns whether `op` is an in-place operator, which changes its first argument and returns it."""
    schema = op._schema
    return (
        schema.is_mutable and schema.name.endswith("_") and bool(schema.returns) and not has_new_results(op)
    )


def has_new_results(op: OpOverload) -> bool:
    """Returns whether `op` returns values that are not its arguments."""
    return any(result.alias_info is None or not result.alias_info.is_write for result in op._schema.returns)


def _signature(args: list[torch._C.Argument]) -> list[tuple[str, str, bool]]:
    """Returns the name and the type of each argument, and whether the operator writes it."""
    return [(arg.name, str(arg.type), arg.alias_info is not None and arg.alias_info.is_write) for arg in args]


def find_out_variant(op: OpOverload) -> OutVariant | None:
    """Returns the out overload of `op`; None if no out overload is registered."""
    namespace, name = op._schema.name.split("::")
    packet = getattr(getattr(torch.ops, namespace), name)
    return _search(op, packet, tuple(packet.overloads()))


@cache
def _search(op: OpOverload, packet: OpOverloadPacket, overloads: tuple[str, ...]) -> OutVariant | None:
    """Returns the first overload that is an out variant of `op`.

    `overloads` is part of the cache key, because more overloads may be registered. An overload with all
    arguments is preferred to an overload without the arguments for dtype and layout.
    """
    wanted = _signature(op._schema.arguments)
    without_options: OutVariant | None = None
    for overload_name in overloads:
        candidate = getattr(packet, overload_name)
        if not is_out_variant(candidate):
            continue
        outs = result_arguments(candidate._schema)
        out_names = {arg.name for arg in outs}
        rest = _signature([arg for arg in candidate._schema.arguments if arg.name not in out_names])
        missing = [item for item in wanted if item not in rest]
        kept = [item for item in wanted if item in rest]
        if kept == rest and all(name in _TENSOR_OPTIONS for name, _, _ in missing):
            is_list = len(outs) == 1 and isinstance(outs[0].type, torch.ListType)
            found = OutVariant(candidate, tuple(arg.name for arg in outs), is_list)
            if not missing:
                return found
            without_options = without_options or found
    return without_options


def wanted_out_variant(schema: torch._C.FunctionSchema) -> str:
    """Returns advice for the user: the kernel and the schema to register as out variant of the operator."""
    if not schema.returns or any(str(item.type) not in ("Tensor", "List[Tensor]") for item in schema.returns):
        return "return only tensors; otherwise the operator cannot have an out variant"
    name, _, rest = out_schema(schema).partition("(")
    return f'register a kernel for {name}, and its schema: torch.library.define("{name}", "({rest}")'


def out_schema(schema: torch._C.FunctionSchema) -> str:
    """Returns the schema of a possible out variant of a functional operator."""
    name, _, rest = str(schema).partition("(")
    arguments = rest[: rest.rindex(") -> ")]
    returns = [str(result.type) for result in schema.returns]
    keyword_only = any(argument.kwarg_only for argument in schema.arguments)
    names = ["out"] if len(returns) == 1 else [f"out{index}" for index in range(len(returns))]
    first = ord("a") + len(written_arguments(schema))
    letters = [chr(first + index) for index in range(len(returns))]
    marked = [_marked(kind, letter) for kind, letter in zip(returns, letters, strict=True)]
    outs = ", ".join(f"{kind} {out}" for kind, out in zip(marked, names, strict=True))
    head = f"{arguments}, " if arguments else ""
    result = ", ".join(marked) if len(returns) == 1 else f"({', '.join(marked)})"
    if any("[]" in kind for kind in marked):
        result = "()"
    return f"{name.split('.')[0]}.out({head}{'' if keyword_only else '*, '}{outs}) -> {result}"


def _marked(kind: str, letter: str) -> str:
    """Marks a type as written: `Tensor` becomes `Tensor(a!)`."""
    return kind.replace("List[Tensor]", "Tensor[]").replace("Tensor", f"Tensor({letter}!)", 1)


def out_variant(op: OpOverload) -> OutVariant:
    """Returns the out overload of `op`.

    Raises:
        MissingOutVariantError: no out overload is registered.
    """
    result = find_out_variant(op)
    if result is None:
        raise MissingOutVariantError(f"operator {op} has no out variant: {wanted_out_variant(op._schema)}")
    return result
