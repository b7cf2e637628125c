"""Inserts copies of outputs that share bytes with a tensor that the program overwrites."""

from __future__ import annotations

import torch
from torch.export.graph_signature import ExportGraphSignature, OutputKind
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.ir import memory_ops, meta
from rushlight.ir.constants import updated_inputs
from rushlight.ir.control_flow import COND
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.out_variants import returns_first_argument
from rushlight.ir.spec import TensorSpec
from rushlight.memory.alias_sets import AliasSet
from rushlight.memory.aliases import Aliases

MUTATIONS = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)


def separate_outputs(
    graph_module: GraphModule, signature: ExportGraphSignature, aliases: Aliases, copy_views: bool
) -> int:
    """Copies outputs whose bytes the program overwrites at its end.

    Two kinds of outputs are copied: user outputs that may share bytes with a written buffer or input, and new
    contents of a buffer that may share bytes with a buffer which is written before it.

    Args:
        graph_module: a graph of out variants with specs, which is changed in place.
        signature: its signature.
        aliases: the alias analysis of the graph.
        copy_views: also copy user outputs that are views or results of `cond`, because the caller provides
            separate memory for outputs. The result of a `cond` refers to the bytes of a branch.

    Returns:
        The number of copies.
    """
    output = graph_module.graph.output_node()
    leaves, tree = pytree.tree_flatten(output.args)
    owners = owners_of_mutations(graph_module, signature)
    mutated = [aliases.alias_sets.of(spec) for owner in owners.values() for spec in meta.tensor_specs(owner)]
    written: list[AliasSet] = []
    chosen = _results_of_branches(graph_module, aliases) if copy_views else []
    copies = 0
    for index, leaf in enumerate(leaves):
        if not isinstance(leaf, Node) or not isinstance(meta.get_spec(leaf), TensorSpec):
            continue
        owner = owners.get(index)
        if owner is None:
            is_view = leaf.target is memory_ops.view
            if _may_be_in(leaf, [*mutated, *chosen], aliases) or (is_view and copy_views):
                leaves[index] = _copy(leaf)
                copies += 1
        else:
            if place_of(leaf) is not owner and _may_be_in(leaf, written, aliases):
                leaves[index] = _copy(leaf)
                copies += 1
            written.append(aliases.alias_sets.of(meta.get_spec(owner)))
    if copies:
        output.args = pytree.tree_unflatten(leaves, tree)
        graph_module.recompile()
    return copies


def owners_of_mutations(graph_module: GraphModule, signature: ExportGraphSignature) -> dict[int, Node]:
    """Returns the placeholder that each output updates, by output index. User outputs have no entry."""
    placeholders = {node.name: node for node in graph_module.graph.find_nodes(op="placeholder")}
    return {index: placeholders[name] for index, name in updated_inputs(signature).items()}


def place_of(node: Node) -> Node:
    """Returns the node whose memory an in-place operator overwrites, or `node` itself for other operators."""
    while True:
        op = aten_op(node.target) if node.op == "call_function" else None
        if op is None or not returns_first_argument(op):
            return node
        target = node.args[0]
        assert isinstance(target, Node)
        node = target


def _results_of_branches(graph_module: GraphModule, aliases: Aliases) -> list[AliasSet]:
    """Returns the alias sets of the results of `cond` nodes."""
    nodes = [node for node in graph_module.graph.nodes if node.target is COND]
    return [aliases.alias_sets.of(spec) for node in nodes for spec in meta.tensor_specs(node)]


def _may_be_in(node: Node, alias_sets: list[AliasSet], aliases: Aliases) -> bool:
    if not alias_sets:
        return False
    return any(alias_set in alias_sets for alias_set in aliases.alias_sets_of(meta.get_spec(node)))


def _copy(node: Node) -> Node:
    """Inserts a copy of `node` right after it."""
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
