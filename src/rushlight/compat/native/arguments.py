"""Converts the arguments of FX nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node

from rushlight.compat.native.schema import (
    Argument,
    ArgumentValue,
    BoolArg,
    BoolListArg,
    FloatArg,
    FloatListArg,
    Graph,
    GraphArg,
    IntArg,
    IntListArg,
    NamedArgument,
    NoneArg,
    OptionalTensorListArg,
    OutputValueKind,
    ScalarTypeArg,
    StringArg,
    TensorArg,
    TensorListArg,
)
from rushlight.compat.native.values import scalar_type_of, serialize_operator
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.sym import plain_size

Bodies = Mapping[str, Graph]
"""The bodies of control flow operators, by the name of the get_attr node."""


def kind_of(val: object) -> OutputValueKind:
    """Returns the type of a value: a number, or else a tensor.

    Args:
        val: the value metadata of a node.
    """
    if isinstance(val, bool | torch.SymBool):
        return OutputValueKind.BOOL
    if isinstance(val, int | torch.SymInt):
        return OutputValueKind.INT
    if isinstance(val, float | torch.SymFloat):
        return OutputValueKind.FLOAT
    return OutputValueKind.TENSOR


def argument_value(
    value: object, subgraph_map: Bodies | None = None, declared: torch.JitType | None = None
) -> ArgumentValue:
    """Converts one argument.

    Args:
        value: the argument in the FX graph.
        subgraph_map: the bodies of control flow operators.
        declared: the type of the parameter in the schema of the operator, which determines the type of an
            empty list; None if it is not known.

    Raises:
        ValueError: the format has no argument of this type.
    """
    if isinstance(value, Node):
        return _reference(value, subgraph_map or {})
    if isinstance(value, (list, tuple)):
        return _list(value, subgraph_map or {}, declared)
    if isinstance(value, torch.SymInt):
        value = plain_size(value)
    if value is None:
        return NoneArg()
    if isinstance(value, bool):
        return BoolArg(value)
    if isinstance(value, int):
        return IntArg(value)
    if isinstance(value, float):
        return FloatArg(value)
    if isinstance(value, str):
        return StringArg(value)
    if isinstance(value, torch.dtype):
        return ScalarTypeArg(scalar_type_of(value))
    if isinstance(value, torch.memory_format | torch.device | torch.layout):
        return StringArg(str(value))
    if isinstance(value, torch.SymInt):
        raise ValueError(f"the symbolic size {value} is not the result of a node")
    raise ValueError(f"native graphs have no arguments of type {type(value).__name__}: {value!r}")


def _reference(node: Node, bodies: Bodies) -> ArgumentValue:
    if node.name in bodies:
        return GraphArg(node.name, bodies[node.name])
    kind = kind_of(meta.find_val(node))
    if kind is OutputValueKind.BOOL:
        return BoolArg(False, node.name)
    if kind is OutputValueKind.INT:
        return IntArg(0, node.name)
    if kind is OutputValueKind.FLOAT:
        return FloatArg(0.0, node.name)
    return TensorArg(node.name)


def _list(items: Sequence[object], bodies: Bodies, declared: torch.JitType | None) -> ArgumentValue:
    if not items:
        return _empty_list(declared)
    values = [argument_value(item, bodies) for item in items]
    types = {type(value) for value in values}
    has_references = any(getattr(value, "ref", None) for value in values)
    if types == {TensorArg}:
        return TensorListArg([value.name for value in values if isinstance(value, TensorArg)])
    if types <= {TensorArg, NoneArg}:
        names = [value.name if isinstance(value, TensorArg) else "" for value in values]
        return OptionalTensorListArg(names, [isinstance(value, TensorArg) for value in values])
    if types == {IntArg}:
        numbers = [value for value in values if isinstance(value, IntArg)]
        references = [value.ref or "" for value in numbers] if has_references else None
        return IntListArg([value.value for value in numbers], references)
    if types == {BoolArg} and not has_references:
        return BoolListArg([value.value for value in values if isinstance(value, BoolArg)])
    if types <= {IntArg, FloatArg} and not has_references:
        return FloatListArg([float(value.value) for value in values if isinstance(value, IntArg | FloatArg)])
    if GraphArg in types:
        raise ValueError(
            f"a list contains the body of a control flow operator: {list(items)}; a body must be an argument"
        )
    raise ValueError(f"native graphs have no lists of such elements: {list(items)!r}")


def _empty_list(declared: torch.JitType | None) -> ArgumentValue:
    """Returns an empty list of the type in the schema, such as `int[]` or `Tensor?[]`."""
    element = declared.getElementType() if isinstance(declared, torch.OptionalType) else declared
    element = element.getElementType() if isinstance(element, torch.ListType) else None
    if isinstance(element, torch.OptionalType) and isinstance(element.getElementType(), torch.TensorType):
        return OptionalTensorListArg([], [])
    if isinstance(element, torch.TensorType):
        return TensorListArg([])
    if isinstance(element, torch.BoolType):
        return BoolListArg([])
    if isinstance(element, torch.FloatType):
        return FloatListArg([])
    if isinstance(element, torch.IntType):
        return IntListArg([])
    raise ValueError(f"the type of an empty list is not known: the schema has the type {declared}")


def named_arguments(node: Node, subgraph_map: Bodies | None = None) -> list[NamedArgument]:
    """Converts the arguments of a call. Parameters of an operator that the call omits have their defaults.

    Args:
        node: a node that calls an operator or a function.
        subgraph_map: the bodies of control flow operators.

    Returns:
        The arguments in the order of the operator's parameters.

    Raises:
        ValueError: the format has no argument of this type. The message names the node and the parameter.
    """
    op = aten_op(node.target)
    if op is None:
        given = [(None, value) for value in node.args] + list(node.kwargs.items())
        return [NamedArgument(_argument(node, name, value, subgraph_map), name) for name, value in given]
    return [
        NamedArgument(
            _argument(node, parameter.name, value, subgraph_map, parameter.type),
            parameter.name,
            parameter.alias_info is not None and parameter.alias_info.is_write,
        )
        for parameter, value in _bound(node, op)
    ]


def _argument(
    node: Node,
    name: str | None,
    value: object,
    subgraph_map: Bodies | None,
    declared: torch.JitType | None = None,
) -> Argument:
    try:
        return Argument(argument_value(value, subgraph_map, declared))
    except ValueError as error:
        parameter = "" if name is None else f", parameter {name}"
        raise ValueError(
            f"node {node.name} ({serialize_operator(node.target)}){parameter}: {error}"
        ) from error


def _bound(node: Node, op: OpOverload) -> Iterator[tuple[Any, object]]:
    """Yields the parameters of an operator with the arguments of a call or the defaults."""
    for index, parameter in enumerate(op._schema.arguments):
        if index < len(node.args):
            yield parameter, node.args[index]
        elif parameter.name in node.kwargs:
            yield parameter, node.kwargs[parameter.name]
        elif parameter.has_default_value():
            yield parameter, parameter.default_value


def aliased_argument(node: Node) -> str | None:
    """Returns the name of the argument whose memory a result of a call uses; None if there is none.

    Args:
        node: a call. The schema of its operator says which argument a view or an in-place operator returns.
    """
    op = aten_op(node.target)
    if op is None:
        return None
    for result in op._schema.returns:
        shared = set(result.alias_info.before_set) if result.alias_info is not None else set()
        for parameter, value in _bound(node, op):
            if parameter.alias_info is not None and isinstance(value, Node):
                if shared & set(parameter.alias_info.before_set):
                    return value.name
    return None
