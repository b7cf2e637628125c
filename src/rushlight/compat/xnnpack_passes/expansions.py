"""Removes expansions that change nothing."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op
from rushlight.passes.base import GraphPass


class RemoveNoopExpandCopyPass(GraphPass):
    """Before: y = expand_copy(x, [2, 3]) of a [2, 3] x. Expected: x."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in list(module.graph.nodes):
            if not is_op(node, torch.ops.aten.expand_copy.default):
                continue
            source = node.args[0]
            assert isinstance(source, Node)
            before, after = meta.get_tensor(source), meta.get_tensor(node)
            if before is not None and after is not None and before.shape == after.shape:
                node.replace_all_uses_with(source)
                changed = True
        return changed
