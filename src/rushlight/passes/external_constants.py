"""Tags on constants that are stored outside the program file."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult

from rushlight.ir import meta

DEFAULT_TAG = "_default_external_constant"
_LIFTED = "_lifted_tensor"

TagOf = Callable[[Node], str | None]


def external_constants_pass(graph_module: GraphModule, gen_tag_fn: TagOf | None = None) -> PassResult:
    """Tags constant inputs with the name of their file; numbers of the program's own text stay inside."""
    changed = False
    for node in graph_module.graph.nodes:
        if node.op != "placeholder" or _LIFTED in node.name:
            continue
        if any(spec.const for spec in meta.tensor_specs(node)):
            tag = gen_tag_fn(node) if gen_tag_fn is not None else DEFAULT_TAG
            if tag is not None:
                meta.set_constant_tag(node, tag)
                changed = True
    return PassResult(graph_module, changed)


def delegate_external_constants_pass_unlifted(
    module: torch.nn.Module, gen_tag_fn: TagOf | None = None
) -> PassResult:
    """Tags the constants of a captured module, whose constants are still attributes, before it is exported
    again: a backend that takes such a constant over keeps it in the file of that name, and with it all other
    constants of the same delegate. Two files for one delegate are refused with CompileError."""
    changed = False
    for graph_module in module.modules():
        if isinstance(graph_module, GraphModule) and gen_tag_fn is not None:
            for node in graph_module.graph.nodes:
                if node.op == "get_attr":
                    meta.set_delegate_constant_tag(node, gen_tag_fn(node))
                    changed = True
    return PassResult(module, changed)


def external_mutable_weights_pass(graph_module: GraphModule, program: ExportedProgram) -> PassResult:
    """Tags parameters that have gradients."""
    signature = program.graph_signature
    trained = {
        spec.target for spec in signature.output_specs if spec.kind == OutputKind.GRADIENT_TO_PARAMETER
    }
    parameters = signature.inputs_to_parameters
    changed = False
    for node in graph_module.graph.nodes:
        if node.op == "placeholder" and parameters.get(node.name) in trained:
            meta.set_constant_tag(node, DEFAULT_TAG)
            changed = True
    return PassResult(graph_module, changed)
