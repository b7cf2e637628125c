"""Every operator gets a debug handle."""

from __future__ import annotations

from typing import Any

import torch
from tests.passes.support import Build, apply

from rushlight.compiler.edge import to_edge
from rushlight.ir import meta
from rushlight.passes.assign_debug_handles import AssignDebugHandlesPass
from rushlight.passes.base import graph_modules

aten = torch.ops.aten


class Branches(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.first(x), lambda x: self.last(x), (x,))


def test_the_bodies_of_control_flow_share_no_handles() -> None:
    """Both branches have an operator `linear`, which is decomposed."""
    program = to_edge(torch.export.export(Branches(), (torch.ones(1, 4),))).exported_program()
    found = [
        {meta.get_debug_handle(node) for node in module.graph.nodes if node.op == "call_function"}
        for module in graph_modules(program.graph_module)
    ]
    assert [len(handles) for handles in found] == [4, 1, 1] and len(set().union(*found)) == 6


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
