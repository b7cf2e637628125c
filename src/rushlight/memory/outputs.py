"""Outputs that need bytes of their own: copies put in where an output would share another tensor's."""

from __future__ import annotations

import torch
from torch.export.graph_signature import ExportGraphSignature, OutputKind
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.ir import memory_ops, meta
from rushlight.ir.spec import TensorSpec

MUTATIONS = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)


def separate_outputs(
    graph_module: GraphModule, signature: ExportGraphSignature | None, copy_views: bool
) -> int:
    """Copy user outputs that are a written buffer or input, or a view of one, for it changes under them.

    With `copy_views`, also views of anything, for the caller gives outputs bytes of their own.
    Returns how many copies were put in.
    """
    graph = graph_module.graph
    output = graph.output_node()
    leaves, tree = pytree.tree_flatten(output.args)
    mutated: set[str] = set()
    user = [True] * len(leaves)
    if signature is not None:
        written = [spec for spec in signature.output_specs if spec.kind in MUTATIONS]
        targets = {str(spec.target) for spec in written}
        owners = {**signature.inputs_to_buffers, **signature.inputs_to_parameters}
        mutated = {name for name, target in owners.items() if target in targets} | targets
        for index, spec in enumerate(signature.output_specs[: len(leaves)]):
            user[index] = spec.kind not in MUTATIONS
    copies = 0
    for index, leaf in enumerate(leaves):
        if not user[index] or not isinstance(leaf, Node):
            continue
        is_view = leaf.target is memory_ops.view
        if _root(leaf).name in mutated or (is_view and copy_views):
            leaves[index] = _copy(leaf)
            copies += 1
    if copies:
        output.args = pytree.tree_unflatten(leaves, tree)
        graph_module.recompile()
    return copies


def _root(node: Node) -> Node:
    while node.op == "call_function" and node.target is memory_ops.view:
        base = node.args[0]
        assert isinstance(base, Node)
        node = base
    return node


def _copy(node: Node) -> Node:
    """A node right after `node` that copies it."""
    source = meta.get_spec(node)
    assert isinstance(source, TensorSpec)
    spec = TensorSpec(source.dtype, source.shape, source.layout, source.is_sparse)
    spec.stride, spec.dim_order = source.stride, source.dim_order
    spec.shape_dynamism = source.shape_dynamism
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
