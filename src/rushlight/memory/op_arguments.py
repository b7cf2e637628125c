"""Reads the arguments of a node by name. Each operator schema is read only once."""

from __future__ import annotations

from functools import cache

from torch._ops import OpOverload
from torch.fx import Node

from rushlight.ir import out_variants


@cache
def positions(op: OpOverload) -> dict[str, int]:
    """Returns the position of each argument in the schema, by name."""
    return {argument.name: position for position, argument in enumerate(op._schema.arguments)}


@cache
def _read_positions(op: OpOverload) -> tuple[tuple[int, str], ...]:
    """Returns the position and name of each argument that the operator does not write."""
    written = written_names(op)
    return tuple(
        (position, argument.name)
        for position, argument in enumerate(op._schema.arguments)
        if argument.name not in written
    )


@cache
def written_names(op: OpOverload) -> tuple[str, ...]:
    """Returns the names of the arguments that the operator writes."""
    return tuple(argument.name for argument in out_variants.written_arguments(op._schema))


@cache
def result_names(op: OpOverload) -> tuple[str, ...]:
    """Returns the names of the written arguments that the results are, in the order of the results."""
    return tuple(argument.name for argument in out_variants.result_arguments(op._schema))


def argument(op: OpOverload, node: Node, name: str) -> object:
    """Returns the value of an argument of a node; None if the node does not pass this argument."""
    if name in node.kwargs:
        return node.kwargs[name]
    position = positions(op).get(name)
    return node.args[position] if position is not None and position < len(node.args) else None


def tensor_arguments(op: OpOverload, node: Node) -> list[tuple[str, Node]]:
    """Returns (argument name, node) for the tensor arguments that the operator only reads.

    Each item of a list is a separate entry.
    """
    found: list[tuple[str, Node]] = []
    args, kwargs = node.args, node.kwargs
    for position, name in _read_positions(op):
        given = args[position] if position < len(args) else kwargs.get(name)
        if isinstance(given, Node):
            found.append((name, given))
        elif isinstance(given, (list, tuple)):
            found.extend((name, item) for item in given if isinstance(item, Node))
    return found
