"""Passes constants that bodies of control flow read to these bodies as operands."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from rushlight.ir import meta
from rushlight.ir.constants import NewConstants
from rushlight.ir.control_flow import CONTROL_FLOW, is_control_flow
from rushlight.ir.fake import Evaluator
from rushlight.ir.program import copy_program
from rushlight.passes.base import graph_modules

Values = dict[torch.Tensor, Node]
"""For each constant the node that has its value in a graph."""


def lift_body_constants(program: ExportedProgram) -> ExportedProgram:
    """Makes operands of all constants that are attributes of bodies of control flow.

    torch cannot decompose a program in which a body has an attribute, for example because of
    `x[torch.tensor([1, 0])]` in a branch of `torch.cond`.

    Before: cond(p, true_graph, false_graph, (x,)), where true_graph reads _tensor_constant0
    Expected: cond(p, true_graph, false_graph, (x, constant)), where `constant` is a buffer of the program

    Args:
        program: the program; it is not changed.

    Returns:
        The changed copy, or the program itself if no body has a constant.
    """
    if not any(_constants_of(body) for body in _bodies(program.graph_module)):
        return program
    copied = copy_program(program)
    evaluator = Evaluator.of(copied.graph_module)
    inputs = NewConstants(copied)
    values: Values = {}
    for body in _bodies(copied.graph_module):
        for tensor, origin in _constants_of(body).items():
            if tensor not in values:
                values[tensor] = inputs.add("body_constant", tensor, evaluator.like(tensor), origin)
    _pass_operands(copied.graph_module, values)
    for module in graph_modules(copied.graph_module):
        module.recompile()
    return copied


def _bodies(module: GraphModule) -> list[GraphModule]:
    return [body for node in module.graph.nodes if is_control_flow(node) for body in _bodies_of(node, module)]


def _bodies_of(node: Node, owner: GraphModule) -> Iterator[GraphModule]:
    for position in CONTROL_FLOW[node.target]:
        body = owner.get_submodule(str(node.args[position].target))  # type: ignore[union-attr]
        assert isinstance(body, GraphModule)
        yield body


def _constants_of(body: GraphModule) -> dict[torch.Tensor, Node]:
    """Returns the constants that a body and the bodies in it read, each with the first node that reads it."""
    found: dict[torch.Tensor, Node] = {}
    for module in graph_modules(body):
        for node in module.graph.find_nodes(op="get_attr"):
            value = getattr(module, str(node.target), None)
            if isinstance(value, torch.Tensor):
                found.setdefault(value, node)
    return found


def _pass_operands(module: GraphModule, values: Values) -> None:
    """Appends the constants of each body to the operands of its node, and to the inputs of the body."""
    for node in module.graph.nodes:
        if not is_control_flow(node):
            continue
        bodies = list(_bodies_of(node, module))
        used = list(dict.fromkeys(tensor for body in bodies for tensor in _constants_of(body)))
        *rest, operands = node.args
        node.args = (*rest, (*operands, *(values[tensor] for tensor in used)))
        for body in bodies:
            _read_inputs(body, {tensor: _add_input(body, values[tensor]) for tensor in used})


def _add_input(body: GraphModule, outer: Node) -> Node:
    last = next((n for n in reversed(body.graph.nodes) if n.op == "placeholder"), None)
    place = body.graph.inserting_after(last) if last else body.graph.inserting_before(None)
    with place:
        node = body.graph.placeholder(outer.name)
    meta.copy_all(outer, node)
    return node


def _read_inputs(body: GraphModule, values: Values) -> None:
    names = set()
    for node in list(body.graph.find_nodes(op="get_attr")):
        value = getattr(body, str(node.target), None)
        if isinstance(value, torch.Tensor):
            node.replace_all_uses_with(values[value])
            body.graph.erase_node(node)
            names.add(str(node.target))
    for name in names:
        delattr(body, name)
    _pass_operands(body, values)
