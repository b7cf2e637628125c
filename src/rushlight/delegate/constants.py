"""Which constants go with which part."""

from __future__ import annotations

from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.ir import meta


def _tags_of_users(node: Node) -> set[str]:
    return {tag for user in node.users if (tag := meta.get_delegation_tag(user)) is not None}


def tag_constant_data(edge_program: ExportedProgram) -> None:
    """Gives every parameter, constant and buffer that never changes the tag of a part that uses it.

    Call it after all other nodes are tagged. A constant that several parts use goes to each of them.
    """
    signature = edge_program.graph_signature
    changed = set(signature.buffers_to_mutate.values())
    buffers = signature.inputs_to_buffers
    names = (
        signature.inputs_to_parameters.keys()
        | buffers.keys()
        | signature.inputs_to_lifted_tensor_constants.keys()
    )
    for node in edge_program.graph.nodes:
        if node.op == "placeholder" and node.name in names and buffers.get(node.name) not in changed:
            if tags := _tags_of_users(node):
                meta.set_delegation_tag(node, min(tags))


def tag_mutated_buffer(edge_program: ExportedProgram) -> None:
    """Gives every buffer that changes the tag of the part that uses it, so that the delegate owns its state.

    Call it after all other nodes are tagged. Lowering refuses a buffer that is used outside that part too.
    """
    signature = edge_program.graph_signature
    changed = set(signature.buffers_to_mutate.values())
    for node in edge_program.graph.nodes:
        if node.op == "placeholder" and signature.inputs_to_buffers.get(node.name) in changed:
            if tags := _tags_of_users(node):
                meta.set_delegation_tag(node, min(tags))
