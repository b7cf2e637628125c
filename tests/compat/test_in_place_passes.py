"""Passes that change the given graph module."""

from __future__ import annotations

import torch
import torch.ao.quantization.fx._decomposed
from torch.export import export
from torch.fx import Graph, GraphModule

from rushlight.compat.in_place_passes import FoldRedundantDequantizeQuantizePass, NormalizeViewCopyBasePass

qd = torch.ops.quantized_decomposed
VIEW = torch.ops.aten.view_copy.default


def test_a_pair_that_does_nothing_leaves_the_graph() -> None:
    graph = Graph()
    source = graph.placeholder("q")
    parameters = (0.25, 3, -128, 127, torch.int8)
    floats = graph.call_function(qd.dequantize_per_tensor.default, (source, *parameters))
    graph.output(graph.call_function(qd.quantize_per_tensor.default, (floats, *parameters)))
    module = GraphModule({}, graph)
    result = FoldRedundantDequantizeQuantizePass()(module)
    assert result is not None and result.modified and result.graph_module is module
    assert list(module.graph.nodes)[-1].args == (source,)
    again = FoldRedundantDequantizeQuantizePass()(module)
    assert again is not None and not again.modified


class Views(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return VIEW(VIEW(VIEW(x, [3, 10]), [2, 15]), [5, 6])


def test_views_of_views_read_the_first_base() -> None:
    module = export(Views(), (torch.ones(30),)).graph_module
    result = NormalizeViewCopyBasePass()(module)
    assert result is not None and result.graph_module is module
    views = [node for node in module.graph.nodes if node.target is VIEW]
    assert len(views) == 3 and {node.args[0] for node in views} == {next(iter(module.graph.nodes))}
