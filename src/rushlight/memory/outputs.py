"""Outputs that need bytes of their own: copies put in where an output would share another tensor's."""

from __future__ import annotations

import torch
from torch.export.graph_signature import ExportGraphSignature, OutputKind
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.ir import memory_ops, meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.spec import TensorSpec
from rushlight.memory.aliases import Aliases
from rushlight.memory.storage import Storage

MUTATIONS = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)


def separate_outputs(
    graph_module: GraphModule, signature: ExportGraphSignature | None, aliases: Aliases, copy_views: bool
) -> int:
    """Copy results that lie in bytes which the program overwrites at its end, before it does so.

    These are user outputs that may lie in a written buffer or input, and new contents of one buffer that may
    lie in another which is written earlier. With `copy_views`, user outputs are copied as well that are views
    of anything, for the caller gives outputs bytes of their own. Returns how many copies were put in.
    """
    output = graph_module.graph.output_node()
    leaves, tree = pytree.tree_flatten(output.args)
    kinds = [spec.kind for spec in signature.output_specs] if signature is not None else []
    user = [index >= len(kinds) or kinds[index] not in MUTATIONS for index in range(len(leaves))]
    mutated = _storages_of_mutated(graph_module, signature, aliases)
    written: list[Storage] = []
    copies = 0
    for index, leaf in enumerate(leaves):
        if not isinstance(leaf, Node) or not isinstance(meta.get_spec(leaf), TensorSpec):
            continue
        if user[index]:
            is_view = leaf.target is memory_ops.view
            if _lies_in(leaf, mutated, aliases) or (is_view and copy_views):
                leaves[index] = _copy(leaf)
                copies += 1
        elif _is_write_back(leaf):
            owner, new = leaf.args
            assert isinstance(owner, Node) and isinstance(new, Node)
            if _lies_in(new, written, aliases):
                leaf.args = (owner, _copy(new))
                copies += 1
            written.append(aliases.storages.of(meta.get_spec(owner)))
    if copies:
        output.args = pytree.tree_unflatten(leaves, tree)
        graph_module.recompile()
    return copies


def _storages_of_mutated(
    graph_module: GraphModule, signature: ExportGraphSignature | None, aliases: Aliases
) -> list[Storage]:
    """The storages of the buffers, parameters and inputs that the program writes."""
    if signature is None:
        return []
    targets = {str(spec.target) for spec in signature.output_specs if spec.kind in MUTATIONS}
    owners = {**signature.inputs_to_buffers, **signature.inputs_to_parameters}
    names = {name for name, target in owners.items() if target in targets} | targets
    found: list[Storage] = []
    for node in graph_module.graph.nodes:
        if node.op == "placeholder" and node.name in names:
            found.extend(aliases.storages.of(spec) for spec in meta.tensor_specs(node))
    return found


def _lies_in(node: Node, storages: list[Storage], aliases: Aliases) -> bool:
    if not storages:
        return False
    return any(storage in storages for storage in aliases.storages_of(meta.get_spec(node)))


def _is_write_back(node: Node) -> bool:
    return node.op == "call_function" and aten_op(node.target) is torch.ops.aten.copy_.default


def _copy(node: Node) -> Node:
    """A node right after `node` that copies it."""
    source = meta.get_spec(node)
    assert isinstance(source, TensorSpec)
    spec = TensorSpec(source.dtype, source.shape, source.layout, source.is_sparse)
    spec.stride, spec.dim_order = source.stride, source.dim_order
    spec.shape_dynamism = source.shape_dynamism
    spec.realign(source.alignment)
    value = meta.get_val(node)
    after = node
    if node.op == "placeholder":
        after = [n for n in node.graph.nodes if n.op == "placeholder"][-1]
    with node.graph.inserting_after(after):
        out = node.graph.call_function(memory_ops.alloc, ((tuple(value.shape), source.dtype),))
    with node.graph.inserting_after(out):
        copy = node.graph.call_function(torch.ops.aten.clone.out, (node,), {"out": out})
    for new in (out, copy):
        meta.set_val(new, value)
        meta.set_spec(new, spec)
        meta.copy_origin(node, new)
    return copy
