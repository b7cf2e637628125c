"""New contents of buffers and of written inputs are copied back at the end of the graph."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.errors import InternalError
from rushlight.passes.program_pass import ExportedProgramPassBase, ExportedProgramPassResult

_MUTATIONS = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)


class WriteBackMutations(ExportedProgramPassBase):
    """Before: return (new_count, y), new_count: BUFFER_MUTATION of count
    Expected: copy_ = aten.copy_(b_count, new_count); return (copy_, y)

    A result that was computed in place in the buffer itself is not copied.
    """

    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        program = exported_program
        specs = program.graph_signature.output_specs
        if not any(spec.kind in _MUTATIONS for spec in specs):
            return ExportedProgramPassResult(program, False)
        owners = _owners(program)
        output = program.graph.output_node()
        results = list(output.args[0])
        for index, (spec, result) in enumerate(zip(specs, results, strict=True)):
            if spec.kind not in _MUTATIONS:
                continue
            owner = owners.get(str(spec.target))
            if owner is None or not isinstance(result, Node):
                raise InternalError(f"no input holds {spec.target}, which {result} is to be copied to")
            if _place_of(result) is owner:
                continue
            with program.graph.inserting_before(output):
                copied = program.graph.call_function(torch.ops.aten.copy_.default, (owner, result))
            meta.copy_origin(result, copied)
            meta.set_val(copied, meta.get_val(owner))
            results[index] = copied
            specs[index] = OutputSpec(spec.kind, TensorArgument(copied.name), spec.target)
        output.args = (tuple(results),)
        program.graph_module.recompile()
        return ExportedProgramPassResult(program, True)


def _owners(program: ExportedProgram) -> dict[str, Node]:
    """The placeholder of every buffer by qualified name, and of every input of the user by its own name."""
    owners = {}
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    for spec, node in zip(program.graph_signature.input_specs, placeholders, strict=True):
        owners[spec.arg.name if spec.kind == InputKind.USER_INPUT else str(spec.target)] = node
    return owners


def _place_of(node: Node) -> Node:
    """The node whose memory an in-place operator's result is."""
    while True:
        op = aten_op(node.target) if node.op == "call_function" else None
        if op is None or not op._schema.is_mutable or not op._schema.name.endswith("_"):
            return node
        target = node.args[0]
        assert isinstance(target, Node)
        node = target
