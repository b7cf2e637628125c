"""Arguments of an operator by name, as a node gives them. Schemas are read once per operator."""

from __future__ import annotations

from functools import cache

from torch._ops import OpOverload
from torch.fx import Node

from rushlight.ir import out_variants


@cache
def positions(op: OpOverload) -> dict[str, int]:
    """Schema position by argument name."""
    return {argument.name: position for position, argument in enumerate(op._schema.arguments)}


@cache
def written_names(op: OpOverload) -> tuple[str, ...]:
    """The arguments that the operator writes."""
    return tuple(argument.name for argument in out_variants.written_arguments(op._schema))


def argument(op: OpOverload, node: Node, name: str) -> object:
    """What the node gives for the argument, None if it leaves it out."""
    if name in node.kwargs:
        return node.kwargs[name]
    position = positions(op).get(name)
    return node.args[position] if position is not None and position < len(node.args) else None
