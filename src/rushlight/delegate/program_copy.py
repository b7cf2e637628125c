"""Copies exported programs without their weights."""

from __future__ import annotations

import copy
from collections.abc import Callable

from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node

from rushlight.ir.program import copy_call_graph, copy_signature, lazy_module, make_program


def copy_graph_module(module: GraphModule) -> GraphModule:
    """Copies a graph module with its node names and metadata (metadata dicts one level deep).

    Control-flow branches are copied too. Lowered modules, parameters and buffers are shared.
    """
    graph = Graph(tracer_cls=getattr(module.graph, "_tracer_cls", None))
    graph._codegen = copy.copy(module.graph._codegen)
    mapping: dict[Node, Node] = {}
    for node in module.graph.nodes:
        mapping[node] = copy_node(graph, node, mapping.__getitem__)
    attributes = {}
    for name, child in module.named_children():
        attributes[name] = copy_graph_module(child) if isinstance(child, GraphModule) else child
    result = lazy_module(module, graph)
    for name, child in attributes.items():
        setattr(result, name, child)
    result.meta.update(module.meta)
    return result


def copy_node(graph: Graph, node: Node, argument: Callable[[Node], Node]) -> Node:
    """Copies `node` to the end of `graph` with the same name, also if torch.fx would choose another name."""
    new = graph.node_copy(node, argument)
    new.name = node.name
    return new


def copy_program(program: ExportedProgram) -> ExportedProgram:
    """Copies a program, so that it can be changed. The tensors are shared."""
    module = copy_graph_module(program.graph_module)
    return make_program(program, module, module.graph, copy_signature(program.graph_signature))


def rebuild_program(program: ExportedProgram, module: GraphModule) -> ExportedProgram:
    """Returns `program` with another graph module, and with copies of its signature and tables of tensors."""
    return ExportedProgram(
        root=module,
        graph=module.graph,
        graph_signature=copy.deepcopy(program.graph_signature),
        state_dict=dict(program.state_dict),
        range_constraints=dict(program.range_constraints),
        module_call_graph=copy_call_graph(program.module_call_graph),
        example_inputs=program.example_inputs,
        constants=dict(program.constants),
        verifiers=[program.verifier],
    )
