"""Marks constants that are stored in data files instead of the program file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.facts import MethodProgram, stored_targets
from rushlight.passes.base import ProgramPass

DEFAULT_TAG = "_default_external_constant"
_LIFTED = "_lifted_tensor"

TagOf = Callable[[Node], str | None]


class MoveConstantsToFilesPass(ProgramPass):
    """Chooses a data file for each constant that is not stored in the program file.

    Args:
        file_of: returns the file name (without suffix) for the constant of a placeholder, or None for the
            program file. `default_file` stores all constants in one file. If `file_of` is None, this pass
            moves no constants.
        trained: whether parameters with gradients are stored in the default file.
    """

    def __init__(self, file_of: TagOf | None, trained: bool) -> None:
        self._file_of = file_of
        self._trained = trained

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        files: dict[Node, str] = {}
        if self._file_of is not None:
            files.update(_chosen(program.graph_module, self._file_of))
        if self._trained:
            files.update(dict.fromkeys(_trained_parameters(program.graph_module, program), DEFAULT_TAG))
        targets = stored_targets(program)
        moved = {targets[node.name]: file for node, file in files.items() if node.name in targets}
        known = program.facts.constant_files
        program.facts = replace(program.facts, constant_files={**known, **moved})
        return bool(moved)


def default_file(node: Node) -> str:
    """Returns the name of the single file for all constants."""
    return DEFAULT_TAG


def external_constants_pass(gm: GraphModule, gen_tag_fn: TagOf | None = None) -> PassResult:
    """Tags constant placeholders with the name of their file; numbers in the program's text are not moved."""
    chosen = _chosen(gm, gen_tag_fn or default_file)
    for node, tag in chosen.items():
        meta.set_constant_tag(node, tag)
    return PassResult(gm, bool(chosen))


def _chosen(graph_module: GraphModule, file_of: TagOf) -> dict[Node, str]:
    """Returns the data file of each constant that is not stored in the program file."""
    constants = [
        node
        for node in graph_module.graph.find_nodes(op="placeholder")
        if _LIFTED not in node.name and any(spec.const for spec in meta.tensor_specs(node))
    ]
    return {node: file for node in constants if (file := file_of(node)) is not None}


def delegate_external_constants_pass_unlifted(
    module: torch.nn.Module, gen_tag_fn: TagOf | None = None
) -> PassResult:
    """Tags constants of a captured module before the module is exported again. They are still attributes.

    If a backend stores a tagged constant, it stores all constants of the same delegate in the file with this
    name. Two file names for one delegate raise a CompileError.
    """
    changed = False
    for graph_module in module.modules():
        if isinstance(graph_module, GraphModule) and gen_tag_fn is not None:
            for node in graph_module.graph.nodes:
                if node.op == "get_attr":
                    meta.set_delegate_constant_tag(node, gen_tag_fn(node))
                    changed = True
    return PassResult(module, changed)


def external_mutable_weights_pass(gm: GraphModule, ep: ExportedProgram) -> PassResult:
    """Tags parameters that have gradients."""
    trained = _trained_parameters(gm, ep)
    for node in trained:
        meta.set_constant_tag(node, DEFAULT_TAG)
    return PassResult(gm, bool(trained))


def _trained_parameters(graph_module: GraphModule, program: ExportedProgram) -> list[Node]:
    signature = program.graph_signature
    trained = {
        spec.target for spec in signature.output_specs if spec.kind == OutputKind.GRADIENT_TO_PARAMETER
    }
    parameters = signature.inputs_to_parameters
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    return [node for node in placeholders if parameters.get(node.name) in trained]
