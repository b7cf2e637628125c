"""The lists of passes for ExecuTorch's users lower graphs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import edge_of
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from rushlight.compat.lowering_passes import edge_to_executorch_passes
from rushlight.compiler.config import EdgeCompileConfig, ExecutorchBackendConfig
from rushlight.ir import memory_ops, meta

aten = torch.ops.aten


class Flat(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + 1).view(6) * 2


@pytest.mark.parametrize("removes_views", [True, False])
def test_the_list_of_passes_lowers_a_graph_to_out_variants(removes_views: bool) -> None:
    class Rename(PassBase):
        def call(self, graph_module: torch.fx.GraphModule) -> PassResult:
            names.extend(node.name for node in graph_module.graph.nodes)
            return PassResult(graph_module, False)

    names: list[str] = []
    module = edge_of(Flat(), torch.ones(2, 3)).graph_module
    config = ExecutorchBackendConfig(
        passes=[Rename()], remove_view_copy=removes_views, sym_shape_eval_pass={}, propagate_device_config={}
    )
    passes = edge_to_executorch_passes(config, "forward")
    assert passes[0] is config.passes[0] and passes[-1] is config.to_out_var_pass
    for step in passes:
        result: Any = step(module)  # type: ignore[operator]
        module = result.graph_module
    assert "aten_add_tensor" in names
    targets = [node.target for node in module.graph.nodes if node.op == "call_function"]
    assert aten.add.out in targets
    assert (memory_ops.view in targets) is removes_views
    assert (aten.view_copy.out in targets) is not removes_views
    assert all(meta.has_spec(node) for node in module.graph.nodes if node.target is aten.add.out)
    skipped = edge_to_executorch_passes(
        ExecutorchBackendConfig(), None, EdgeCompileConfig(_skip_dim_order=True)
    )
    assert len(skipped) == len(edge_to_executorch_passes(ExecutorchBackendConfig())) - 1
