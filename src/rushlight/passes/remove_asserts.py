"""Removes run-time assertions from the graph. The runtime checks the bounds of shapes itself."""

from __future__ import annotations

import torch
from torch.fx import GraphModule
from typing_extensions import override

from rushlight.passes.base import GraphPass

METADATA_ASSERTS = frozenset({torch.ops.aten._assert_tensor_metadata.default})

ALL_ASSERTS = METADATA_ASSERTS | {
    torch.ops.aten._assert_async.msg,
    torch.ops.aten._assert_scalar.default,
    torch.ops.aten.sym_constrain_range.default,
    torch.ops.aten.sym_constrain_range_for_size.default,
}


class RemoveAssertsPass(GraphPass):
    """Erases calls of `targets` and all nodes that only these calls used."""

    def __init__(self, targets: frozenset[object] = ALL_ASSERTS) -> None:
        super().__init__()
        self._targets = targets

    @override
    def rewrite(self, module: GraphModule) -> bool:
        found = [
            node for node in module.graph.nodes if node.op == "call_function" and node.target in self._targets
        ]
        for node in found:
            module.graph.erase_node(node)
        return bool(found)
