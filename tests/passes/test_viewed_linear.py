"""Decomposed linear layers with several batch dimensions are restored."""

from __future__ import annotations

import pytest
import torch
from torch.export import Dim, export
from torch.fx import GraphModule

from rushlight.exir import to_edge
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import eliminate_dead_code
from rushlight.passes.viewed_linear import restore_linear, viewed_linear


def edge_graph(model: torch.nn.Module, shape: tuple[int, ...], **options: object) -> GraphModule:
    program = export(model, (torch.randn(shape),), **options)  # type: ignore[arg-type]
    return to_edge(program).exported_program().graph_module


BATCHES = Dim("a", min=2, max=5), Dim("b", min=2, max=5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dims", [BATCHES, (BATCHES[0], BATCHES[0])])
def test_a_layer_with_dynamic_batches(bias: bool, dims: tuple[Dim, Dim]) -> None:
    sizes = (dict(enumerate(dims)),)
    module = edge_graph(
        torch.nn.Linear(3, 4, bias), (3, 5 if dims == BATCHES else 3, 3), dynamic_shapes=sizes
    )
    evaluator = Evaluator.of(module)
    (found,) = filter(None, map(viewed_linear, list(module.graph.nodes)))
    linear = restore_linear(evaluator, found)
    eliminate_dead_code(module.graph)
    module.recompile()
    assert "view_copy" not in module.code and linear.meta["val"].shape[2] == 4
    x, weight, *vector = torch.randn(3, 3, 3), torch.randn(4, 3), *([torch.randn(4)] if bias else [])
    (result,) = module(weight, *vector, x)
    torch.testing.assert_close(result, torch.nn.functional.linear(x, weight, *vector))


class Turned(torch.nn.Module):
    """A product whose views permute the batch dimensions."""

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return (x.reshape(6, 3) @ weight.t()).reshape(3, 2, 4)


def test_other_views_stay() -> None:
    program = export(Turned(), (torch.randn(2, 3, 3), torch.randn(4, 3)))
    graph = to_edge(program).exported_program().graph
    assert not any(map(viewed_linear, graph.nodes))
