"""Creates programs whose only instruction calls a lowered module."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

from torch._higher_order_ops.executorch_call_delegate import executorch_call_delegate
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, OutputKind, OutputSpec
from torch.fx import Graph, Node

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.executorch import ExecutorchProgramManager, lower_programs
from rushlight.delegate.lowered import LoweredBackendModule
from rushlight.ir import meta
from rushlight.ir.program import make_program

NAME = "lowered_module_0"


def write_lowered(lowered: LoweredBackendModule, **options: Any) -> ExecutorchProgramManager:
    """Compiles a program whose only instruction calls a lowered module.

    Args:
        lowered: the module.
        options: `memory_planning`, a memory planner (None means the default planner), and fields of
            `ExecutorchBackendConfig`.
    """
    planning = options.pop("memory_planning", None)
    config = ExecutorchBackendConfig(**{key: value for key, value in options.items() if value is not None})
    if planning is not None:
        config.memory_planning_pass = planning
    return lower_programs({"forward": program_around(lowered)}, config)


def program_around(lowered: LoweredBackendModule) -> ExportedProgram:
    """Returns an edge program that calls the lowered module and returns its results.

    The program has no constants and no state. They are in the lowered module.
    """
    original = lowered.original_module
    specs = [spec for spec in original.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
    placeholders = {node.name: node for node in original.graph.nodes if node.op == "placeholder"}
    graph = Graph()
    inputs = [_placeholder(graph, placeholders[spec.arg.name]) for spec in specs]
    call = graph.call_function(executorch_call_delegate, (graph.get_attr(NAME), *inputs))
    output = original.graph.output_node()
    results: list[Node] = []
    output_specs: list[OutputSpec] = []
    for spec, value in zip(original.graph_signature.output_specs, output.args[0], strict=True):
        if spec.kind is not OutputKind.USER_OUTPUT:
            continue
        result = graph.call_function(operator.getitem, (call, len(results)))
        if isinstance(value, Node) and meta.has_val(value):
            meta.set_val(result, meta.get_val(value))
        results.append(result)
        output_specs.append(OutputSpec(spec.kind, replace(spec.arg, name=result.name), None))
    meta.set_val(call, tuple(meta.get_val(result) for result in results))
    meta.set_debug_handle(call, 1)
    graph.output(tuple(results))
    return make_program(
        original,
        {NAME: lowered},
        graph,
        ExportGraphSignature(specs, output_specs),
        state_dict={},
        constants={},
    )


def _placeholder(graph: Graph, node: Node) -> Node:
    new = graph.placeholder(node.name)
    new.name = node.name
    meta.copy_all(node, new)
    return new
