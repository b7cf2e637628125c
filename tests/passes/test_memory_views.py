"""View copies of row-major tensors share their base's memory."""

from __future__ import annotations

from typing import Any

import torch
from tests.passes.support import edge_of

import rushlight
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.ir import memory_ops, meta
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.passes.memory_views import NormalizeViewBasesPass, UseMemoryViewsPass
from rushlight.passes.runner import run_passes
from rushlight.passes.spec_prop import SpecPropPass


class Views(torch.nn.Module):
    def forward(
        self, x: torch.Tensor, image: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        y = x.view(6, 4).view(2, 12)
        return torch.relu(y), image.relu().flatten(1) + 1, x.view(24)


def test_memory_views() -> None:
    image = torch.randn(1, 3, 4, 4).to(memory_format=torch.channels_last)
    program = edge_of(Views(), torch.randn(2, 3, 4), image)
    module = run_passes(
        program, [NormalizeViewBasesPass(), SpecPropPass(), UseMemoryViewsPass()]
    ).exported_program.graph_module
    by_name = {node.name: node for node in module.graph.nodes}
    assert by_name["aten_view_copy_default_1"].target is memory_ops.view
    assert by_name["aten_view_copy_default_1"].args[0].name == "x"
    outputs: Any = module.graph.output_node().args[0]
    assert outputs[2].target is not memory_ops.view  # the caller may own the memory of an output
    layouts = [node for node in module.graph.nodes if node.target is memory_ops.view]
    assert layouts and all(
        tuple(meta.get_spec(node.args[0]).dim_order) == tuple(range(len(node.args[0].meta["val"].shape)))
        for node in layouts
    )


class ViewInBranch(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def first(a: torch.Tensor) -> torch.Tensor:
            return a.view(12) * 2

        def second(a: torch.Tensor) -> torch.Tensor:
            return torch.full((12,), 0.5)

        result: torch.Tensor = torch.cond(x.max() > 1, first, second, (x,))
        return result


def test_a_branch_views_an_input_in_memory_of_the_caller() -> None:
    x = torch.arange(12.0).view(3, 4)
    program = torch.export.export(ViewInBranch(), (x,), strict=False)
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False))
    compiled = rushlight.compile(program, partitioner=(), backend_config=config)
    method = rushlight.load(compiled.buffer)
    for value in (x, x * 0):
        torch.testing.assert_close(method(value), ViewInBranch()(value))
