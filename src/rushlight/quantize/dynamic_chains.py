"""A pass that copies the operators of dynamic quantization for each user of the value."""

from __future__ import annotations

import operator

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torchao.quantization.pt2e.quantizer import is_valid_annotation

from rushlight.ir import meta

_qd = torch.ops.quantized_decomposed
_CHOOSE = (_qd.choose_qparams.tensor, _qd.choose_qparams_symmetric.tensor)
_QUANTIZE = (_qd.quantize_per_tensor.tensor, _qd.quantize_per_tensor.default)
_DEQUANTIZE = (_qd.dequantize_per_tensor.tensor, _qd.dequantize_per_tensor.default)


class DuplicateDynamicQuantChainPass(PassBase):
    """Copies the operators that quantize a value dynamically, so that each annotated user has its own chain.

    Backends that quantize activations at run time fuse such a chain with its user. Run this pass on the
    result of `convert_pt2e`.

    Before: s, z = choose_qparams(x); y = dequantize(quantize(x, s, z), s, z); a = f(y); b = g(y)
    After: f and g each have their own s, z and y
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module."""
        changed = False
        for node in list(graph_module.graph.nodes):
            chain = _chain_of(node)
            users = [user for user in node.users if is_valid_annotation(meta.get_annotation(user))]
            if chain is None:
                continue
            # Users without annotations, such as sym_size, keep the first chain.
            for user in users[1:]:
                user.replace_input_with(node, _copy_chain(graph_module.graph, chain, user))
                changed = True
        if changed:
            graph_module.recompile()
        return PassResult(graph_module, changed)


def _chain_of(dequantize: Node) -> list[Node] | None:
    """The nodes of a chain that ends at `dequantize`, or None.

    They are choose_qparams, two getitem nodes, quantize and dequantize.
    """
    quantize = dequantize.args[0] if dequantize.target in _DEQUANTIZE else None
    if not isinstance(quantize, Node) or quantize.target not in _QUANTIZE:
        return None
    items = [item for item in quantize.args[1:3] if isinstance(item, Node)]
    if len(items) != 2 or any(item.target is not operator.getitem for item in items):
        return None
    choose = items[0].args[0]
    if not isinstance(choose, Node) or choose.target not in _CHOOSE:
        return None
    return [choose, *items, quantize, dequantize]


def _copy_chain(graph: Graph, chain: list[Node], user: Node) -> Node:
    """Copies a chain in front of `user`, and returns the last node of the copy."""
    copies: dict[Node, Node] = {}
    with graph.inserting_before(user):
        for node in chain:
            copies[node] = graph.node_copy(node, lambda source: copies.get(source, source))
    return copies[chain[-1]]
