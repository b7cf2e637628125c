"""From a functional operator to the overload that writes its results into tensors given by the caller."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch._ops import OpOverload

from rushlight.ir import quantized_ops as _quantized_ops  # noqa: F401  (defines its out variants)
from rushlight.ir.errors import MissingOutVariantError

# What a factory's out tensor already says.
_TENSOR_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})


@dataclass(frozen=True)
class OutVariant:
    """An out overload: the written arguments in order; `is_list` if the one out is a tensor list."""

    op: OpOverload
    outs: tuple[str, ...]
    is_list: bool

    @property
    def argument_names(self) -> frozenset[str]:
        """The names of the arguments that are not outs."""
        return frozenset(arg.name for arg in self.op._schema.arguments) - frozenset(self.outs)


def written_arguments(schema: torch._C.FunctionSchema) -> tuple[torch._C.Argument, ...]:
    """The arguments that the operator writes."""
    return tuple(arg for arg in schema.arguments if arg.alias_info is not None and arg.alias_info.is_write)


def is_out_variant(op: OpOverload) -> bool:
    """Whether `op` writes only into keyword-only out tensors."""
    written = written_arguments(op._schema)
    return bool(written) and all(arg.kwarg_only for arg in written)


def _signature(args: list[torch._C.Argument]) -> list[tuple[str, str]]:
    return [(arg.name, str(arg.type)) for arg in args]


@cache
def find_out_variant(op: OpOverload) -> OutVariant | None:
    """The out overload of `op`, None if none is registered."""
    namespace, name = op._schema.name.split("::")
    packet = getattr(getattr(torch.ops, namespace), name)
    wanted = _signature(op._schema.arguments)
    for overload_name in packet.overloads():
        candidate = getattr(packet, overload_name)
        if not is_out_variant(candidate):
            continue
        outs = written_arguments(candidate._schema)
        out_names = {arg.name for arg in outs}
        rest = _signature([arg for arg in candidate._schema.arguments if arg.name not in out_names])
        missing = [item for item in wanted if item not in rest]
        kept = [item for item in wanted if item in rest]
        if kept == rest and all(name in _TENSOR_OPTIONS for name, _ in missing):
            is_list = len(outs) == 1 and isinstance(outs[0].type, torch.ListType)
            return OutVariant(candidate, tuple(arg.name for arg in outs), is_list)
    return None


def out_variant(op: OpOverload) -> OutVariant:
    """The out overload of `op`; raises MissingOutVariantError if none is registered."""
    result = find_out_variant(op)
    if result is None:
        raise MissingOutVariantError(
            f"operator {op} has no out variant; register an overload of the same name that takes the same "
            "arguments and `*, Tensor(a!) out`"
        )
    return result
