"""Bodies of control flow get arguments in the layouts of their export."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import apply, calls
from torch import nn
from torch._higher_order_ops.while_loop import while_loop
from torch.fx import GraphModule

import rushlight
from rushlight.passes.functional_views import FunctionalViewsPass
from rushlight.passes.settle_body_layouts import SettleBodyLayoutsPass


class Branches(nn.Module):
    """Its operand has channels-last strides until the view becomes a copy."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turned = x.transpose(2, 1)
        operand = turned + 1
        result: torch.Tensor = torch.cond(
            operand.mean() < 0.1, lambda a: torch.sigmoid(a), lambda a: a * 2 * turned, (operand,)
        )
        return result * 3


class Loop(nn.Module):
    """The body captures a tensor with the same strides."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        captured = x.transpose(2, 1) + 1
        _, total = while_loop(
            lambda i, total: i < 3,
            lambda i, total: (i + 1, total + captured),
            (torch.zeros((), dtype=torch.int64), torch.zeros(2, 2, 2, 1)),
        )
        result: torch.Tensor = total
        return result


class Ends(nn.Module):
    """A view inside a branch is the result of the branch."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.cond(
            x.mean() < 0.1, lambda a: (a + 1).transpose(2, 1), lambda a: (a * 2).transpose(2, 1), (x,)
        )
        return result * 3


def layouts_of_copies(module: GraphModule) -> list[Any]:
    return [
        node.kwargs["memory_format"]
        for node in module.graph.nodes
        if node.target is torch.ops.aten.clone.default
    ]


def test_an_operand_in_another_layout_is_copied() -> None:
    x = torch.randn(2, 2, 2, 1)
    program = torch.export.export(Branches(), (x,)).run_decompositions()
    module = apply(FunctionalViewsPass(), program.graph_module).graph_module
    result = apply(SettleBodyLayoutsPass(), module)
    assert result.modified
    assert layouts_of_copies(result.graph_module) == [torch.channels_last]
    again = apply(SettleBodyLayoutsPass(), result.graph_module)
    assert not again.modified
    assert calls(again.graph_module) == calls(result.graph_module)


@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        (Branches, (2, 2, 2, 1)),
        (Branches, (2, 2, 2, 3)),
        (Loop, (2, 2, 2, 1)),
        (Ends, (2, 2, 2, 1)),
        (Ends, (2, 2, 2, 3)),
    ],
)
def test_results_are_those_of_the_model(kind: type[nn.Module], lowered: bool, shape: tuple[int, ...]) -> None:
    model = kind()
    for offset in (-2.0, 2.0):
        x = torch.randn(shape) + offset
        program = rushlight.compile(model, (x,), partitioner=None if lowered else ())
        torch.testing.assert_close(torch.as_tensor(rushlight.load(program)(x)), model(x))
