"""Exported programs without the values of their weights."""

from __future__ import annotations

import copy

from torch._guards import detect_fake_mode
from torch.export import ExportedProgram

from rushlight.ir import meta
from rushlight.ir.program import copy_call_graph, copy_graph_module, program_around


def get_fake_program(real_exported_program: ExportedProgram) -> ExportedProgram:
    """Returns a copy of a program in which parameters and buffers are fake tensors.

    Both programs share the constants.

    Raises:
        AssertionError: the inputs of the graph have no fake tensors.
    """
    inputs = real_exported_program.graph.find_nodes(op="placeholder")
    mode = detect_fake_mode([meta.find_val(node) for node in inputs])
    if mode is None:
        raise AssertionError(
            f"the inputs of the graph have no fake tensors: {[node.name for node in inputs]}"
        )
    program = program_around(
        copy_graph_module(real_exported_program.graph_module),
        copy.deepcopy(real_exported_program.graph_signature),
        state_dict={
            name: mode.from_tensor(tensor, static_shapes=True)
            for name, tensor in real_exported_program.state_dict.items()
        },
        range_constraints=dict(real_exported_program.range_constraints),
        module_call_graph=copy_call_graph(real_exported_program.module_call_graph),
        example_inputs=real_exported_program.example_inputs,
        constants=real_exported_program.constants,
        verifiers=[real_exported_program.verifier],
    )
    program._constants = real_exported_program.constants
    return program


def update_to_real_program(
    fake_exported_program: ExportedProgram, real_exported_program: ExportedProgram
) -> None:
    """Copies the parameters and buffers of the original program into a fake program."""
    fake_exported_program.state_dict.update(real_exported_program.state_dict)
