"""Runs a program node by node with torch, and records the values, also in the bodies of control flow."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import GraphModule, Interpreter, Node
from torch.utils import _pytree as pytree

from rushlight.ir.control_flow import COND, CONTROL_FLOW, MAP, WHILE_LOOP, is_control_flow

Values: TypeAlias = dict[Node, list[Any]]
"""The results of each node: one for each execution of the node. A node in the body of a loop has several."""

Replaced: TypeAlias = Mapping[Node, Mapping[tuple[int, int], torch.Tensor]]
"""The values that replace results of nodes, by node, execution and result index."""

_Body: TypeAlias = Callable[..., Any]


def run_graph(program: ExportedProgram, inputs: Sequence[object], replaced: Replaced) -> Values:
    """Runs a program node by node on the CPU, and returns the values of each call in the order of execution.

    The result has no values of control flow operators, and of operators in bodies that were not executed.

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
    values: Values = {}
    with torch.no_grad():
        _Recorder(program.graph_module, replaced, values).run(*arguments)
    return values


class _Recorder(Interpreter):
    """Records the value of each call right after the call. Copies it if a call of the graph may change it."""

    def __init__(self, module: GraphModule, replaced: Replaced, values: Values) -> None:
        super().__init__(module)
        self._values = values
        self._replaced = replaced
        self._is_changed = any(_may_write(node) for node in module.graph.nodes if node.op == "call_function")

    def run_node(self, n: Node) -> Any:
        if is_control_flow(n):
            args, _ = self.fetch_args_kwargs_from_env(n)
            bodies = [
                lambda *given, body=args[place]: _Recorder(body, self._replaced, self._values).run(*given)
                for place in CONTROL_FLOW[n.target]
            ]
            return _run_control_flow(n.target, bodies, args)
        value = super().run_node(n)
        if n.op == "call_function":
            executions = self._values.setdefault(n, [])
            execution = len(executions)
            executions.append(
                pytree.tree_map_only(torch.Tensor, torch.clone, value) if self._is_changed else value
            )
            given = self._replaced.get(n)
            if given:
                leaves, spec = pytree.tree_flatten(value)
                chosen = (given.get((execution, place), leaf) for place, leaf in enumerate(leaves))
                value = pytree.tree_unflatten(chosen, spec)
        return value


def _run_control_flow(target: object, bodies: Sequence[_Body], args: Sequence[Any]) -> list[Any]:
    """Returns the results of a control flow operator.

    Args:
        target: the operator.
        bodies: functions that run its bodies.
        args: the arguments of the operator.
    """
    if target is COND:
        predicate, *_, operands = args
        return list(bodies[0 if predicate else 1](*operands))
    if target is WHILE_LOOP:
        carried, extra = list(args[2]), args[3]
        while pytree.tree_leaves(bodies[0](*carried, *extra))[0]:
            carried = list(bodies[1](*carried, *extra))
        return carried
    carried, items, extra = ([], args[1], args[2]) if target is MAP else (list(args[1]), args[2], args[3])
    rows = []
    for index in range(len(items[0])):
        results = list(bodies[0](*carried, *(item[index] for item in items), *extra))
        carried, row = results[: len(carried)], results[len(carried) :]
        rows.append(row)
    return [*carried, *(torch.stack(column) for column in zip(*rows, strict=True))]


def _may_write(node: Node) -> bool:
    """Whether a call may write to its arguments. Functions without a schema may, except `getitem`."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return node.target is not operator.getitem and not is_control_flow(node)
    return bool(schema.is_mutable)
