"""The constants of an exported program, and the values computed from constants alone.

A constant is a parameter, buffer or lifted tensor that the program never changes. A placeholder reads it. A
node whose inputs are all constants may be computed ahead of time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    TensorArgument,
)
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.facts import shared_placeholders

_STORED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_CHANGES = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.GRADIENT_TO_PARAMETER)


def changed_targets(signature: ExportGraphSignature) -> set[str]:
    """Returns the qualified names of the parameters and buffers that the program writes or trains."""
    return {str(spec.target) for spec in signature.output_specs if spec.kind in _CHANGES}


def updated_inputs(signature: ExportGraphSignature) -> dict[int, str]:
    """Returns the name of the placeholder that each output updates, by output index.

    Outputs of the user have no entry. A buffer and an input of the user may have the same name.
    """
    stored = {spec.target: spec.arg.name for spec in signature.input_specs if spec.kind in _STORED}
    found = {}
    for index, spec in enumerate(signature.output_specs):
        if spec.kind is OutputKind.USER_INPUT_MUTATION:
            found[index] = str(spec.target)
        elif spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION):
            found[index] = stored[spec.target]
    return found


def stored_tensor(program: ExportedProgram, spec: InputSpec) -> torch.Tensor | None:
    """Returns the tensor of an input spec; None for an input of the user."""
    if spec.kind not in _STORED or spec.target is None:
        return None
    value = program.state_dict.get(spec.target)
    if value is None:
        value = program.constants.get(spec.target)
    return value if isinstance(value, torch.Tensor) else None


def constant_inputs(program: ExportedProgram) -> dict[str, torch.Tensor]:
    """Returns the tensors of all constant placeholders, by placeholder name. No method writes them."""
    changed = changed_targets(program.graph_signature)
    others = written_in_place(program.graph) | shared_placeholders(program).keys()
    found = {}
    for spec in program.graph_signature.input_specs:
        tensor = stored_tensor(program, spec)
        if tensor is not None and spec.target not in changed and spec.arg.name not in others:
            found[spec.arg.name] = tensor
    return found


def written_in_place(graph: Graph) -> set[str]:
    """Returns the names of the placeholders that operators write in place, directly or through a view."""
    origins: dict[Node, frozenset[str]] = {}
    written: set[str] = set()
    for node in graph.nodes:
        if node.op == "placeholder":
            origins[node] = frozenset({node.name})
            continue
        schema = node.target._schema if isinstance(node.target, OpOverload) else None
        sources = [origins.get(source, frozenset()) for source in node.all_input_nodes]
        if node.target is operator.getitem or (schema and any(r.alias_info for r in schema.returns)):
            origins[node] = frozenset().union(*sources)
        if schema and schema.is_mutable:
            written |= _written_arguments(node, schema, origins)
    return written


def _written_arguments(
    node: Node, schema: torch.FunctionSchema, origins: dict[Node, frozenset[str]]
) -> set[str]:
    written: set[str] = set()
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
        for item in given if isinstance(given, (list, tuple)) else [given]:
            if isinstance(item, Node):
                written |= origins.get(item, frozenset())
    return written


def is_graph_of(program: ExportedProgram, graph: Graph) -> bool:
    """Returns whether `graph` is the program's main graph or a copy of it.

    The body of a control flow operator is not, although its placeholders may have the same names.
    """
    names = [node.name for node in graph.nodes if node.op == "placeholder"]
    return names == [spec.arg.name for spec in program.graph_signature.input_specs]


def constants_of_graph(program: ExportedProgram, graph: Graph) -> dict[str, torch.Tensor]:
    """Returns the tensors of the constant placeholders of a graph, by placeholder name.

    The placeholders of a control flow body are not constants: each call may pass another tensor.
    """
    return constant_inputs(program) if is_graph_of(program, graph) else {}


class Constants:
    """The constant nodes of a graph and their values. A value is computed when it is first read.

    Args:
        stored: the tensors of the constant placeholders of the graph, by name.
        graph: the graph.
        folds: returns whether a node with constant inputs is constant; with None, only placeholders are.
    """

    def __init__(
        self,
        stored: Mapping[str, torch.Tensor],
        graph: Graph,
        folds: Callable[[Node], bool] | None = None,
    ) -> None:
        self._values: dict[Node, Any] = {}
        self._computed: set[Node] = set()
        for node in graph.nodes:
            if node.op == "placeholder" and node.name in stored:
                self._values[node] = stored[node.name].detach()
            elif folds is not None and node.op == "call_function":
                if all(map(self.is_constant, node.all_input_nodes)) and folds(node):
                    self._computed.add(node)

    def is_stored(self, node: object) -> bool:
        """Returns whether a node is a placeholder of a stored constant."""
        return self.is_constant(node) and node not in self._computed

    def is_constant(self, node: object) -> bool:
        """Returns whether a node depends only on constants."""
        return isinstance(node, Node) and (node in self._values or node in self._computed)

    def value(self, node: object) -> torch.Tensor | None:
        """Returns the tensor of a constant node; None for other values and for nodes with several results."""
        if not isinstance(node, Node) or not self.is_constant(node):
            return None
        self._compute(node)
        value = self._values[node]
        return value if isinstance(value, torch.Tensor) else None

    def add(self, node: Node, value: torch.Tensor) -> None:
        """Registers a placeholder that was added to the graph after this object was made."""
        self._values[node] = value

    def _compute(self, node: Node) -> None:
        """Computes the value of a constant node and of all constant nodes that it reads."""
        pending = [node]
        while pending:
            current = pending[-1]
            missing = [source for source in current.all_input_nodes if source not in self._values]
            if missing and current not in self._values:
                pending.extend(missing)
                continue
            pending.pop()
            if current in self._values:
                continue
            target: Any = aten_op(current.target) or current.target
            args, kwargs = map_arg((current.args, current.kwargs), self._values.__getitem__)
            with torch.no_grad():
                self._values[current] = target(*args, **kwargs)


class NewConstants:
    """Adds buffers to a program, and placeholders that read them before the first input of the user."""

    def __init__(self, program: ExportedProgram) -> None:
        specs = program.graph_signature.input_specs
        self._program = program
        self._position = next(
            (i for i, spec in enumerate(specs) if spec.kind == InputKind.USER_INPUT), len(specs)
        )
        placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
        nodes = iter(program.graph.nodes)
        after = placeholders[self._position] if self._position < len(placeholders) else None
        if after is None:
            after = next((node for node in nodes if node.op != "placeholder"), None)
        assert after is not None
        self._before: Node = after

    def add(
        self, name: str, tensor: torch.Tensor, val: torch.Tensor, origin: Node, first: int | None = None
    ) -> Node:
        """Adds a buffer and its placeholder.

        Args:
            name: the name of both; a number is appended that makes the name unique.
            tensor: the buffer.
            val: the fake tensor of the placeholder.
            origin: the node whose source line the placeholder gets.
            first: the least number to append; by default the number of inputs in front of the placeholder.

        Returns:
            The placeholder.
        """
        program = self._program
        number = self._position if first is None else first
        while f"{name}{number}" in program.state_dict:
            number += 1
        unique = f"{name}{number}"
        with program.graph.inserting_before(self._before):
            node: Node = program.graph.placeholder(unique)
        spec = InputSpec(InputKind.BUFFER, TensorArgument(node.name), unique, persistent=True)
        program.graph_signature.input_specs.insert(self._position, spec)
        program.state_dict[unique] = tensor
        self._position += 1
        meta.copy_origin(origin, node)
        meta.set_val(node, val)
        return node
