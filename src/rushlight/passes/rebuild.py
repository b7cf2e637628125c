"""Replaces the graph module of an exported program, and updates the names in its signature."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    InputSpec,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import GraphModule, Node

from rushlight.ir import meta
from rushlight.ir.errors import PassError
from rushlight.ir.facts import MethodProgram
from rushlight.ir.program import make_program


def with_graph_module(program: ExportedProgram, module: GraphModule) -> MethodProgram:
    """Returns `program` with `module` as its graph. Inputs and outputs must correspond one to one.

    Raises:
        PassError: the numbers of inputs or outputs differ.
    """
    new = make_program(program, module, module.graph, _signature(program.graph_signature, module))
    meta.copy_graph_meta(module, new.graph_module)
    return new


def _signature(old: ExportGraphSignature, module: GraphModule) -> ExportGraphSignature:
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    if len(placeholders) != len(old.input_specs):
        raise PassError(
            f"a pass changed the number of inputs from {len(old.input_specs)} to {len(placeholders)}"
        )
    inputs = [
        InputSpec(spec.kind, _renamed(spec.arg, node), spec.target, spec.persistent)
        for spec, node in zip(old.input_specs, placeholders, strict=True)
    ]
    results = module.graph.output_node().args[0]
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    if len(results) != len(old.output_specs):
        raise PassError(
            f"a pass changed the number of outputs from {len(old.output_specs)} to {len(results)}"
        )
    outputs = [
        OutputSpec(spec.kind, _argument_of(spec.arg, result), spec.target)
        for spec, result in zip(old.output_specs, results, strict=True)
    ]
    return ExportGraphSignature(inputs, outputs)


def _renamed(argument: object, node: Node) -> Any:
    if isinstance(argument, ConstantArgument) or not hasattr(argument, "name"):
        return argument
    changed = copy.copy(argument)
    changed.name = node.name
    return changed


def _argument_of(old: object, result: Any) -> ArgumentSpec:
    if not isinstance(result, Node):
        return ConstantArgument(name=getattr(old, "name", ""), value=result)
    val = meta.find_val(result)
    if isinstance(val, torch.SymInt):
        return SymIntArgument(result.name)
    if isinstance(val, torch.SymFloat):
        return SymFloatArgument(result.name)
    if isinstance(val, torch.SymBool):
        return SymBoolArgument(result.name)
    return TensorArgument(result.name)
