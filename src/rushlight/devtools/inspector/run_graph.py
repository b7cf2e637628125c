"""Runs a program node by node with torch, and records the values."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Interpreter, Node
from torch.utils import _pytree as pytree

Replaced: TypeAlias = Mapping[Node, Mapping[int, torch.Tensor]]
"""The values that replace results of nodes, by node and result index."""


def run_graph(program: ExportedProgram, inputs: Sequence[object], replaced: Replaced) -> dict[Node, Any]:
    """Runs a program node by node on the CPU, and returns the value of each call in the graph's order.

    Args:
        program: an exported or edge program.
        inputs: the flat user inputs.
        replaced: the values that later nodes read instead of the computed values.

    Raises:
        ValueError: the number of inputs is wrong.
    """
    specs = program.graph_signature.input_specs
    wanted = sum(spec.kind is InputKind.USER_INPUT for spec in specs)
    given = list(inputs)
    if len(given) != wanted:
        raise ValueError(f"the program has {wanted} inputs, but {len(given)} are given")
    arguments: list[object] = []
    for spec in specs:
        if spec.kind is InputKind.USER_INPUT:
            value = given.pop(0)
        elif spec.target in program.state_dict:
            value = program.state_dict[spec.target]
        else:
            value = program.constants.get(str(spec.target))
        arguments.append(value.clone() if isinstance(value, torch.Tensor) else value)
    recorder = _Recorder(program.graph_module, replaced)
    with torch.no_grad():
        recorder.run(*arguments)
    return recorder.values


class _Recorder(Interpreter):
    """Records the value of each call right after the call. Copies it if a call of the graph may change it."""

    def __init__(self, module: torch.fx.GraphModule, replaced: Replaced) -> None:
        super().__init__(module)
        self.values: dict[Node, Any] = {}
        self._replaced = replaced
        self._is_changed = any(_may_write(node) for node in module.graph.nodes if node.op == "call_function")

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if n.op == "call_function":
            self.values[n] = (
                pytree.tree_map_only(torch.Tensor, torch.clone, value) if self._is_changed else value
            )
            given = self._replaced.get(n)
            if given:
                leaves, spec = pytree.tree_flatten(value)
                chosen = (given.get(place, leaf) for place, leaf in enumerate(leaves))
                value = pytree.tree_unflatten(chosen, spec)
        return value


def _may_write(node: Node) -> bool:
    """Whether a call may write to its arguments. Functions without a schema may, except `getitem`."""
    schema = getattr(node.target, "_schema", None)
    return node.target is not operator.getitem if schema is None else bool(schema.is_mutable)
