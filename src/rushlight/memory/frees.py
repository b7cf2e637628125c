"""Inserts calls that free tensors after their last use, if the runtime allocates them (unbounded sizes)."""

from __future__ import annotations

import operator
from collections import defaultdict

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.ir import memory_ops, meta
from rushlight.ir.facts import MethodProgram
from rushlight.ir.spec import TensorSpec
from rushlight.memory.alias_sets import Owner
from rushlight.memory.aliases import Ownership, find_aliases
from rushlight.passes.base import ProgramPass, graph_modules


class FreeUnboundedPass(ProgramPass):
    """Before:   y = relu(x, out=alloc); z = neg(y, out=alloc_1)
    Expected: y = relu(x, out=alloc); z = neg(y, out=alloc_1); free(alloc)
    where the sizes of y have no upper bound.
    """

    def rewrite(self, program: MethodProgram) -> bool:
        """Inserts the calls of `memory.free`."""
        return free_unbounded(program.graph_module, program.graph_signature)


def free_unbounded(graph_module: GraphModule, signature: ExportGraphSignature | None) -> bool:
    """Inserts a call of `memory.free` after the last use of each tensor that the runtime allocates.

    Inputs and outputs are not freed, because they belong to the caller.

    Args:
        graph_module: a graph of out variants with specs, which is changed in place.
        signature: its signature, or None.

    Returns:
        Whether a call was inserted.
    """
    specs = [spec for node in graph_module.graph.nodes for spec in meta.tensor_specs(node)]
    inner = [child for child in graph_modules(graph_module) if child is not graph_module]
    specs += [spec for child in inner for node in child.graph.nodes for spec in meta.tensor_specs(node)]
    if not any(spec.is_dynamic_unbound_tensor for spec in specs):
        return False
    aliases = find_aliases(graph_module, signature, Ownership())
    kept = {
        id(aliases.alias_sets.of(spec))
        for node in graph_module.graph.nodes
        if node.op in ("placeholder", "output")
        for value in ([node] if node.op == "placeholder" else pytree.tree_leaves(node.args))
        if isinstance(value, Node)
        for spec in meta.tensor_specs(value)
    }
    last_uses: dict[int, list[tuple[Node, TensorSpec]]] = defaultdict(list)
    for alias_set in aliases.alias_sets.all():
        if alias_set.owner is Owner.RUNTIME and id(alias_set) not in kept and alias_set.last >= 0:
            makers = [(aliases.makers[spec], spec) for spec in alias_set.offsets if spec in aliases.makers]
            last_uses[alias_set.last].append(makers[0])
    for step in aliases.timeline.steps:
        for maker, spec in last_uses.get(step.end, ()):
            _insert_free(step.node, maker, spec)
    if last_uses:
        for module in graph_modules(graph_module):
            module.recompile()
    return bool(last_uses)


def _insert_free(last: Node, maker: Node, spec: TensorSpec) -> None:
    """Inserts a call of `memory.free` for a tensor that `maker` computes, after the node `last`."""
    graph = last.graph
    if isinstance(meta.get_spec(maker), (list, tuple)):
        index = next(i for i, item in enumerate(meta.tensor_specs(maker)) if item is spec)
        with graph.inserting_after(last):
            maker = last = graph.call_function(operator.getitem, (maker, index))
        meta.set_spec(maker, spec)
    with graph.inserting_after(last):
        graph.call_function(memory_ops.free, (maker,))
