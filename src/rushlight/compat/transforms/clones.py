"""Removes clones that do not change the layout."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op, is_op
from rushlight.ir.quantization import dequantize_params, quantize_params
from rushlight.passes.base import GraphPass

aten = torch.ops.aten


class RemoveCloneOpsPass(GraphPass):
    """Removes clones that keep the dim order, and pairs of dequantize and quantize operators around them.

    Before: y = relu(clone(x)). Expected: y = relu(x)

    Args:
        preserve_input_output_copies: keep clones that copy an input of the graph to an output.
        eliminate_quant_dequant_pairs: remove dequantize and quantize nodes with equal parameters if only a
            clone was between them.
    """

    def __init__(
        self, preserve_input_output_copies: bool = False, eliminate_quant_dequant_pairs: bool = True
    ) -> None:
        super().__init__()
        self._preserve_input_output_copies = preserve_input_output_copies
        self._eliminate_quant_dequant_pairs = eliminate_quant_dequant_pairs

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        dequantized: list[Node] = []
        for node in list(module.graph.nodes):
            if not _is_clone(node) or _changes_dim_order(node):
                continue
            source = node.args[0]
            assert isinstance(source, Node)
            if self._preserve_input_output_copies and _copies_input_to_output(node, source):
                continue
            node.replace_all_uses_with(source)
            module.graph.erase_node(node)
            dequantized.append(source)
            changed = True
        if self._eliminate_quant_dequant_pairs:
            for node in dict.fromkeys(dequantized):
                _remove_pair(node)
        return changed


def _is_clone(node: Node) -> bool:
    if node.op != "call_function":
        return False
    return is_op(node, aten.clone.default) or str(aten_op(node.target)) == (
        "dim_order_ops._clone_dim_order.default"
    )


def _changes_dim_order(node: Node) -> bool:
    """Whether a clone changes the dim order."""
    source = meta.get_tensor(node.args[0])  # type: ignore[arg-type]
    result = meta.get_tensor(node)
    return source is not None and result is not None and source.dim_order() != result.dim_order()


def _copies_input_to_output(node: Node, source: Node) -> bool:
    return source.op == "placeholder" and any(user.op == "output" for user in node.users)


def _remove_pair(dequantize: Node) -> None:
    """Replaces quantize nodes that have the same parameters as a dequantize node by the node's input."""
    params = dequantize_params(dequantize)
    integers = dequantize.args[0] if params is not None else None
    if params is None or not isinstance(integers, Node):
        return
    for user in list(dequantize.users):
        if quantize_params(user) == params:
            user.replace_all_uses_with(integers)
            user.graph.erase_node(user)
