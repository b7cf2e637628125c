"""Every operator gets a debug handle."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply

from rushlight.ir import meta
from rushlight.passes.assign_debug_handles import AssignDebugHandlesPass

aten = torch.ops.aten


def test_debug_handles_are_shared_by_origin() -> None:
    build = Build()
    x = build.input("x", 2)
    nodes = [build.call(aten.neg.default, x) for _ in range(3)]
    for node, origin in zip(nodes, ("linear", "linear", "relu"), strict=True):
        meta.set_origin(node, origin)
    module = build.finish(*nodes)
    numbered = apply(AssignDebugHandlesPass(), module).graph_module
    found = numbered.graph.find_nodes(op="call_function", target=aten.neg.default)
    assert [meta.get_debug_handle(node) for node in found] == [1, 1, 2]
    meta.set_debug_handle(found[0], 9)
    found[2].meta.pop("debug_handle")
    again = apply(AssignDebugHandlesPass(), numbered).graph_module
    found = again.graph.find_nodes(op="call_function", target=aten.neg.default)
    assert [meta.get_debug_handle(node) for node in found] == [9, 1, 10]
