"""Assignments to the attribute `data` of a tensor, which torch.export does not record."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Graph, Node

from rushlight.frontend.diagnosis import place_of
from rushlight.ir.errors import ExportError
from rushlight.ir.program import copy_program, rename_outputs

# torch calls this operator before it assigns. Its arguments are the tensor and the new data.
_CHECK = torch.ops.aten._has_compatible_shallow_copy_type.default


def apply_data_assignments(program: ExportedProgram) -> ExportedProgram:
    """Replaces a tensor by its new data in all nodes after an assignment `x.data = y`.

    Views that were made before the assignment keep the old data, as in eager PyTorch. torch refuses
    assignments in bodies of control flow.

    Before: x = mul(a, 2); check(x, y); relu(x)
    Expected: x = mul(a, 2); relu(y)

    Args:
        program: the program; it is not changed.

    Returns:
        The changed copy, or the program itself if it has no such assignment.

    Raises:
        ExportError: the tensor is an input, a parameter or a buffer. The message has the user's source line.
    """
    checks = _checks(program.graph)
    for check in checks:
        tensor, _ = _arguments(check)
        if tensor.op != "call_function":
            raise ExportError(
                f"{place_of(check)}: torch.export does not record the assignment to the data of "
                f"{tensor.name!r}, which is an input, a parameter or a buffer: change its values with copy_()"
            )
    if not checks:
        return program
    copied = copy_program(program)
    # The last assignment comes first, so that no replaced tensor is replaced again.
    for check in reversed(_checks(copied.graph)):
        tensor, data = _arguments(check)
        nodes = list(copied.graph.nodes)
        for node in nodes[nodes.index(check) + 1 :]:
            node.replace_input_with(tensor, data)
        copied.graph.erase_node(check)
    copied.graph_module.recompile()
    rename_outputs(copied)
    return copied


def _checks(graph: Graph) -> list[Node]:
    return list(graph.find_nodes(op="call_function", target=_CHECK))


def _arguments(check: Node) -> tuple[Node, Node]:
    tensor, data = check.args
    assert isinstance(tensor, Node)
    assert isinstance(data, Node)
    return tensor, data
