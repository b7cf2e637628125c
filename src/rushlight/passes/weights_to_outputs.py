"""A joint graph also returns the weights it has gradients for, so that a trainer can read them."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument

from rushlight.passes.program_pass import ExportedProgramPassBase, ExportedProgramPassResult


class WeightsToOutputs(ExportedProgramPassBase):
    """Appends trained parameters to the outputs, as kind TOKEN; other programs stay as they are."""

    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        program = exported_program
        signature = program.graph_signature
        trained = {
            spec.target for spec in signature.output_specs if spec.kind == OutputKind.GRADIENT_TO_PARAMETER
        }
        if not trained:
            return ExportedProgramPassResult(program, False)
        parameters = signature.inputs_to_parameters
        weights = [
            node
            for node in program.graph.nodes
            if node.op == "placeholder" and parameters.get(node.name) in trained
        ]
        output = program.graph.output_node()
        output.args = ((*output.args[0], *weights),)
        for node in weights:
            node.meta["weight_has_gradient"] = True
            signature.output_specs.append(OutputSpec(OutputKind.TOKEN, TensorArgument(node.name), None))
        program.graph_module.recompile()
        return ExportedProgramPassResult(program, True)
