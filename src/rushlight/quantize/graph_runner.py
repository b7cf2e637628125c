"""Runs graphs node by node. All values are kept, and each of them can be replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.node import map_arg

NodeValues = dict[Node, Any]


class GraphRunner:
    """Runs a float or quantized program, or parts of it.

    An operator that writes to an argument gets a copy of the argument. Later users of the argument read the
    result of the operator. The value of a node is therefore the value at the time when the node ran. Each run
    begins with the initial state of the program.
    """

    def __init__(self, program: ExportedProgram | GraphModule) -> None:
        module: Any = program.module() if isinstance(program, ExportedProgram) else program
        self.module: GraphModule = module
        self.nodes: list[Node] = list(module.graph.nodes)
        self.order = {node: index for index, node in enumerate(self.nodes)}
        self._interpreter = Interpreter(module)
        self._arguments = {node: _after_writes(node, self.order) for node in self.nodes}
        self._output = next(node for node in reversed(self.nodes) if node.op == "output")

    def run(self, inputs: Sequence[object]) -> NodeValues:
        """Computes the values of all nodes.

        Args:
            inputs: the positional arguments of the model.
        """
        flat = iter(self.module.graph.process_inputs(*inputs))
        values: NodeValues = {}
        with torch.no_grad():
            for node in self.nodes:
                values[node] = next(flat, None) if node.op == "placeholder" else self._call(node, values)
        return values

    def result(self, values: NodeValues) -> Any:
        """Returns the outputs of the model."""
        return self.module.graph.process_outputs(values[self._output])

    def part(self, node: Node, known: Callable[[Node], Any]) -> Any:
        """Computes the value of one node.

        Args:
            node: the node.
            known: a function that returns (value,) for a node with a known value, else None.
        """
        values: NodeValues = {}
        stack = [node]
        with torch.no_grad():
            while stack:
                top = stack[-1]
                if top in values:
                    stack.pop()
                    continue
                given = known(top)
                if given is not None:
                    values[top] = given[0]
                    continue
                missing = [n for n in self.inputs_of(top) if n not in values]
                if missing:
                    stack.extend(missing)
                else:
                    values[top] = self._call(top, values)
        return values[node]

    def again(self, values: NodeValues, replaced: NodeValues) -> NodeValues:
        """Repeats a run with new values for some nodes.

        Only nodes that depend on the replaced values are computed again.

        Args:
            values: the values of a run.
            replaced: the new values, by node.

        Returns:
            The values of all nodes.
        """
        changed: NodeValues = dict(replaced)
        view = _Overlay(changed, values)
        with torch.no_grad():
            for node in self.nodes:
                if node not in replaced and any(source in changed for source in self.inputs_of(node)):
                    changed[node] = self._call(node, view)
        return {**values, **changed}

    def inputs_of(self, node: Node) -> list[Node]:
        """Returns the nodes whose values a node reads."""
        return list(self._arguments[node].values())

    def _call(self, node: Node, values: Any) -> Any:
        if node.op == "call_module" and node.target == "_guards_fn":
            return None
        sources = self._arguments[node]
        written = _written(node)

        def value_of(name: Node) -> Any:
            value = values[sources[name]]
            return value.clone() if name in written else value

        args, kwargs = map_arg(node.args, value_of), map_arg(node.kwargs, value_of)
        return getattr(self._interpreter, node.op)(node.target, args, kwargs)


class _Overlay:
    """A mapping that reads from `first`, and from `second` if `first` has no such node."""

    def __init__(self, first: NodeValues, second: NodeValues) -> None:
        self._first, self._second = first, second

    def __getitem__(self, node: Node) -> Any:
        return self._first[node] if node in self._first else self._second[node]


def _written(node: Node) -> set[Node]:
    """The arguments that an operator writes to, for an operator that also returns them."""
    op = node.target
    if not isinstance(op, OpOverload) or not op._schema.is_mutable or not op._schema.returns:
        return set()
    return {
        arg
        for declared, arg in zip(op._schema.arguments, node.args, strict=False)
        if declared.alias_info is not None and declared.alias_info.is_write and isinstance(arg, Node)
    }


def _after_writes(node: Node, order: dict[Node, int]) -> dict[Node, Node]:
    """For each argument, the node with its current value: the argument or the last operator that wrote it."""
    arguments = {}
    for source in node.all_input_nodes:
        current, found = source, True
        while found:
            found = False
            for user in current.users:
                if user is not node and order[user] < order[node] and current in _written(user):
                    current, found = user, True
                    break
        arguments[source] = current
    return arguments
