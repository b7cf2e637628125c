"""Removes a dequantize node together with a following quantize node of the same parameters."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir.quantization import dequantizes, is_inverse
from rushlight.passes.base import GraphPass


class FoldQuantizePairsPass(GraphPass):
    """Before: quantize(dequantize(q, s, z, ...), s, z, ...), perhaps with a clone between. Expected: q."""

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
    """The users of a node; a clone that keeps the layout is replaced by its own users."""
    users: list[Node] = []
    for user in node.users:
        is_plain = user.target is torch.ops.aten.clone.default and not user.kwargs
        users += _users_past_clones(user) if is_plain else [user]
    return users
