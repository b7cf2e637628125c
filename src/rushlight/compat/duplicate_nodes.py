"""Copies nodes with several users, so that each user has its own copy, which a partition can contain."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument
from torch.fx import GraphModule, Node

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.errors import CompileError
from rushlight.passes.base import GraphPass

_DEQUANTIZE = frozenset(
    {
        torch.ops.quantized_decomposed.dequantize_per_tensor.default,
        torch.ops.quantized_decomposed.dequantize_per_tensor.tensor,
        torch.ops.quantized_decomposed.dequantize_per_channel.default,
    }
)


class DuplicateDequantNodePass(GraphPass):
    """Gives each user of a dequantize node a separate copy of the node.

    Before: y = dequantize(q); a = f(y); b = g(y)
    Expected: y = dequantize(q); a = f(y); y_1 = dequantize(q); b = g(y_1)
    """

    def rewrite(self, module: GraphModule) -> bool:
        """Runs the pass on one graph. Returns whether the graph changed."""
        changed = False
        for node in list(module.graph.nodes):
            if node.op == "call_function" and aten_op(node.target) in _DEQUANTIZE:
                for user in list(node.users)[1:]:
                    with module.graph.inserting_before(user):
                        user.replace_input_with(node, module.graph.node_copy(node))
                    changed = True
        return changed


def duplicate_constant_node(exported_program: ExportedProgram, candidate_node: str) -> set[str]:
    """Copies a parameter, constant or buffer for each user except the first, in place.

    Args:
        exported_program: the program.
        candidate_node: the name of the placeholder.

    Returns:
        The names of the copies, `<name>_copy_<n>`. The set is empty if no placeholder has the name, or if the
        placeholder has only one user.

    Raises:
        CompileError: the placeholder is a user input or a mutable buffer.
    """
    graph = exported_program.graph
    signature = exported_program.graph_signature
    node = next((n for n in graph.nodes if n.op == "placeholder" and n.name == candidate_node), None)
    if node is None:
        return set()
    at = next(i for i, spec in enumerate(signature.input_specs) if spec.arg.name == node.name)
    spec = signature.input_specs[at]
    if spec.target is None or spec.kind not in (
        InputKind.PARAMETER,
        InputKind.BUFFER,
        InputKind.CONSTANT_TENSOR,
    ):
        raise CompileError(f"placeholder {node.name} is a user input; only constants can be copied")
    if spec.target in signature.buffers_to_mutate.values():
        raise CompileError(f"buffer {spec.target} is mutable, so that it cannot be copied")
    tensors = exported_program.state_dict if spec.target in exported_program.state_dict else None
    tensors = exported_program.constants if tensors is None else tensors
    added: list[InputSpec] = []
    for index, user in enumerate(list(node.users)[1:]):
        name = f"{node.name}_copy_{index}"
        added.append(replace(spec, arg=TensorArgument(name), target=name))
        tensors[name] = copy.deepcopy(tensors[spec.target])
        user.replace_input_with(node, _copy_placeholder(node, name))
    signature.input_specs[at:at] = added
    return {item.arg.name for item in added}


def _copy_placeholder(node: Node, name: str) -> Node:
    with node.graph.inserting_before(node):
        new = node.graph.placeholder(name)
    new.name = name
    meta.copy_all(node, new)
    return new
