"""A dequantization followed by the same quantization is nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from rushlight.ir.edge_ops import aten_op
from rushlight.passes.base import GraphPass

_LIBRARY = "quantized_decomposed"
_PAIRS = {
    "dequantize_per_tensor": "quantize_per_tensor",
    "dequantize_per_channel": "quantize_per_channel",
}


class FoldQuantizePairsPass(GraphPass):
    """Before: quantize(dequantize(q, s, z, ...), s, z, ...), perhaps with a clone between. Expected: q."""

    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            quantize = _PAIRS.get(_quantized_name(node.target))
            if quantize is None:
                continue
            for user in _users_past_clones(node):
                same = _quantized_name(user.target) == quantize and user.args[1:] == node.args[1:]
                if same:
                    user.replace_all_uses_with(node.args[0])
                    changed = True
        return changed


def _users_past_clones(node: Node) -> list[Node]:
    """Users, and in the place of clones that keep the layout, theirs."""
    users: list[Node] = []
    for user in node.users:
        is_plain = user.target is torch.ops.aten.clone.default and not user.kwargs
        users += _users_past_clones(user) if is_plain else [user]
    return users


def _quantized_name(target: Any) -> str:
    op = aten_op(target)
    if op is None or op.namespace != _LIBRARY:
        return ""
    return op._schema.name.split("::")[1]
