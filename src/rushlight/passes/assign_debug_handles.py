"""Assigns a debug handle to each operator; operators derived from one exported operator share a handle."""

from __future__ import annotations

from torch.fx import GraphModule
from typing_extensions import override

from rushlight.ir import meta
from rushlight.passes.base import ModulePass, graph_modules


class AssignDebugHandlesPass(ModulePass):
    """Numbers nodes from 1 in graph order. Existing handles stay.

    Nodes of one graph module with the same origin share a number. Origins in different modules may have equal
    names, such as those of both branches of a condition.
    """

    @override
    def rewrite_all(self, graph_module: GraphModule) -> bool:
        handles: dict[tuple[int, str], int] = {}
        taken = 0
        nodes = [
            (place, node)
            for place, module in enumerate(graph_modules(graph_module))
            for node in module.graph.nodes
            if node.op not in ("placeholder", "output")
        ]
        for _, node in nodes:
            handle = meta.get_debug_handle(node)
            if isinstance(handle, int):
                taken = max(taken, handle)
        changed = False
        for place, node in nodes:
            if meta.get_debug_handle(node):
                continue
            origin = (place, meta.origin_of(node))
            if origin not in handles:
                taken += 1
                handles[origin] = taken
            meta.set_debug_handle(node, handles[origin])
            changed = True
        return changed
