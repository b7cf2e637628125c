"""Checks the references of native programs. Programs of files may be damaged."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, is_dataclass

from rushlight.compat.native.schema import (
    AffineGroup,
    ArgumentValue,
    BoolArg,
    FloatArg,
    Graph,
    GraphArg,
    IntArg,
    IntListArg,
    Method,
    Node,
    OpKind,
    OptionalTensorListArg,
    OutputValueKind,
    Program,
    TensorArg,
    TensorListArg,
)


def validate_program(program: Program, available_data_keys: Collection[str] | None = None) -> None:
    """Checks every method of a program.

    Args:
        program: the program.
        available_data_keys: the keys of the tensors; None if they are not known.

    Raises:
        ValueError: a reference has no target. The message names the method, the node and the value.
    """
    for method in program.methods:
        try:
            validate_method(method, available_data_keys)
        except ValueError as error:
            raise ValueError(f"method {method.name!r}: {error}") from error


def validate_method(method: Method, available_data_keys: Collection[str] | None = None) -> None:
    """Checks the graph of a method and the tensors of its placeholders.

    Args:
        method: the method.
        available_data_keys: the keys of the tensors; None if they are not known.

    Raises:
        ValueError: a reference has no target. The message names the node and the value.
    """
    constants, buffers = method.constants or [], method.mutable_buffers or []
    bound = [constant.name for constant in constants] + [buffer.name for buffer in buffers]
    validate_graph(method.graph, bound)
    described = {value.name for value in method.graph.tensor_values or []}
    for buffer in buffers:
        if buffer.name not in described:
            raise ValueError(
                f"mutable buffer {buffer.name!r} ({buffer.fqn}) missing tensor metadata in tensor_values"
            )
    for constant in constants:
        if available_data_keys is not None and constant.data_key not in available_data_keys:
            raise ValueError(
                f"constant {constant.name!r} has no tensor for the data key {constant.data_key!r}"
            )


def validate_graph(graph: Graph, defined_extra: Collection[str] = ()) -> None:
    """Checks that each value is defined once and before its use, and that inputs and outputs have metadata.

    Args:
        graph: the graph. The bodies of its control flow operators are checked too.
        defined_extra: the names of values that are defined outside of the graph.

    Raises:
        ValueError: a check failed. The message names the node and the value.
    """
    scope = _Scope()
    for name in graph.inputs or []:
        scope.define(name, "input")
    for name in sorted(defined_extra or ()):
        scope.define(name, "constant or buffer")
    names: set[str] = set()
    for node in graph.nodes:
        if node.name in names:
            raise ValueError(f"node {node.name!r}: duplicate node name")
        names.add(node.name)
        _check_node(node, scope)
    described = {value.name for value in graph.tensor_values or []}
    for name in graph.outputs or []:
        scope.check(name, "output")
    for kind, listed in (("input", graph.inputs), ("output", graph.outputs)):
        for name in listed or []:
            if name not in described:
                raise ValueError(f"{kind} {name!r} missing tensor metadata in tensor_values")


class _Scope:
    """The values of a graph that are defined so far."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def define(self, name: str, where: str) -> None:
        if name in self._names:
            raise ValueError(f"{where}: duplicate value definition {name!r}")
        self._names.add(name)

    def check(self, name: str, where: str) -> None:
        if name not in self._names:
            raise ValueError(f"{where}: unresolved value reference {name!r}")

    def has(self, name: str) -> bool:
        return name in self._names


def _check_node(node: Node, scope: _Scope) -> None:
    where = f"node {node.name!r}"
    for argument in node.inputs or []:
        value = argument.arg.value
        for name in _references(value, where):
            scope.check(name, where)
        if isinstance(value, GraphArg):
            try:
                validate_graph(value.graph)
            except ValueError as error:
                raise ValueError(f"{where}, body {value.name!r}: {error}") from error
    for output in node.outputs or []:
        if output.alias_of:
            scope.check(output.alias_of, f"{where}, the aliased argument of an output")
    if node.op_kind is OpKind.PLACEHOLDER:
        if not scope.has(node.name):
            raise ValueError(f"{where}: the placeholder is not a declared input or external binding")
        return
    for output in node.outputs or []:
        names = output.names or [] if output.kind is OutputValueKind.TENSOR_LIST else [output.name]
        for name in names:
            scope.define(name, where)


def _references(value: ArgumentValue, where: str) -> Iterator[str]:
    """Yields the names of the values to which an argument refers."""
    if isinstance(value, TensorArg):
        yield value.name
    elif isinstance(value, TensorListArg):
        yield from value.names
    elif isinstance(value, OptionalTensorListArg):
        _check_lengths(where, "OptionalTensorListArg names", value.names, "has_value", value.has_value)
        yield from (name for name, is_present in zip(value.names, value.has_value, strict=True) if is_present)
    elif isinstance(value, IntListArg):
        if value.refs is not None:
            _check_lengths(where, "IntListArg refs", value.refs, "values", value.values)
            yield from filter(None, value.refs)
    elif isinstance(value, (IntArg, FloatArg, BoolArg)) and value.ref:
        yield value.ref


def _check_lengths(
    where: str, one: str, items: Collection[object], other: str, others: Collection[object]
) -> None:
    if len(items) != len(others):
        raise ValueError(f"{where}: {one} length {len(items)} is not that of {other}, {len(others)}")


def collect_data_keys(program: Program) -> set[str]:
    """Returns the keys of all tensors to which a program refers, also those of scales and zero points."""
    return {key for method in program.methods for key in _data_keys(method)}


def _data_keys(item: object) -> Iterator[str]:
    """Yields the data keys in a table and in all tables below it."""
    if isinstance(item, (list, tuple)):
        for element in item:
            yield from _data_keys(element)
    elif is_dataclass(item):
        if isinstance(item, AffineGroup):
            yield item.scale_data_key
            if item.zero_point_data_key:
                yield item.zero_point_data_key
        for field in fields(item):
            value = getattr(item, field.name)
            if field.name == "data_key":
                yield value
            else:
                yield from _data_keys(value)
