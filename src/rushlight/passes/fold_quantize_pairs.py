"""Removes a dequantize node and the following quantize node if their parameters are equal."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir.quantization import dequantizes, is_inverse
from rushlight.passes.base import GraphPass


class FoldQuantizePairsPass(GraphPass):
    """Before: quantize(dequantize(q, s, z, ...), s, z, ...). Expected: q.

    A clone between the two nodes may be present.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            if not dequantizes(node):
                continue
            for user in _users_past_clones(node):
                if is_inverse(node, user):
                    user.replace_all_uses_with(node.args[0])
                    changed = True
        return changed


def _users_past_clones(node: Node) -> list[Node]:
    """Returns the users of a node. A clone that keeps the layout is replaced by the users of the clone."""
    users: list[Node] = []
    for user in node.users:
        is_plain = user.target is torch.ops.aten.clone.default and not user.kwargs
        users += _users_past_clones(user) if is_plain else [user]
    return users
