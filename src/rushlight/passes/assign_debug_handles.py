"""Assigns a debug handle to each operator; operators derived from one exported operator share a handle."""

from __future__ import annotations

from torch.fx import GraphModule
from typing_extensions import override

from rushlight.ir import meta
from rushlight.passes.base import ModulePass, graph_modules


class AssignDebugHandlesPass(ModulePass):
    """Numbers nodes from 1 in graph order. Nodes of the same origin share a number. Existing handles stay."""

    @override
    def rewrite_all(self, graph_module: GraphModule) -> bool:
        handles: dict[str, int] = {}
        taken = 0
        nodes = [
            node
            for module in graph_modules(graph_module)
            for node in module.graph.nodes
            if node.op not in ("placeholder", "output")
        ]
        for node in nodes:
            handle = meta.get_debug_handle(node)
            if isinstance(handle, int):
                taken = max(taken, handle)
        changed = False
        for node in nodes:
            if meta.get_debug_handle(node):
                continue
            origin = meta.origin_of(node)
            if origin not in handles:
                taken += 1
                handles[origin] = taken
            meta.set_debug_handle(node, handles[origin])
            changed = True
        return changed
