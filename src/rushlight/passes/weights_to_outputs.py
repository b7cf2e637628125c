"""Adds the trained weights of a joint graph to its outputs, so that a trainer can read them."""

from __future__ import annotations

from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument
from typing_extensions import override

from rushlight.ir.facts import MethodProgram
from rushlight.passes.base import ProgramPass


class WeightsToOutputsPass(ProgramPass):
    """Appends trained parameters to the outputs, with the kind TOKEN. Other programs are not changed."""

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        signature = program.graph_signature
        trained = {
            spec.target for spec in signature.output_specs if spec.kind == OutputKind.GRADIENT_TO_PARAMETER
        }
        if not trained:
            return False
        parameters = signature.inputs_to_parameters
        weights = [
            node
            for node in program.graph.nodes
            if node.op == "placeholder" and parameters.get(node.name) in trained
        ]
        output = program.graph.output_node()
        output.args = ((*output.args[0], *weights),)
        for node in weights:
            signature.output_specs.append(OutputSpec(OutputKind.TOKEN, TensorArgument(node.name), None))
        return True
