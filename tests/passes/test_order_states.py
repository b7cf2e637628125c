"""Inputs for parameters and buffers are sorted as `torch.nn.Module` lists them."""

from __future__ import annotations

import copy
from typing import Any

import torch
from tests.passes.support import apply_to_program

from rushlight.ir.program import copy_program
from rushlight.passes.order_states import OrderStatesPass


class Part(torch.nn.Module):
    factor: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.scale = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("factor", torch.full((3,), 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) * self.scale


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Part(), Part()
        self.shift = torch.nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x) * self.second.factor * self.first.factor
        self.second.factor.add_(1)
        return self.second(y) + self.shift + torch.tensor([1.0, 2.0, 3.0])


def names(program: torch.export.ExportedProgram) -> list[str]:
    return [node.name for node in program.graph.find_nodes(op="placeholder")]


def test_order_states() -> None:
    net, x = Net(), torch.randn(2, 3)
    exported = torch.export.export(net, (x,), strict=True)
    expected = exported.run_decompositions({})
    assert names(exported) != names(expected)
    result: Any = apply_to_program(OrderStatesPass(), copy_program(exported))
    program = result.exported_program
    assert result.modified and names(program) == names(expected)
    assert [spec.arg.name for spec in program.graph_signature.input_specs] == names(program)
    wanted = copy.deepcopy(net)(x)
    torch.testing.assert_close(program.module()(x), wanted)


def test_sorted_states_stay() -> None:
    program = copy_program(torch.export.export(Net(), (torch.randn(2, 3),)).run_decompositions({}))
    assert not apply_to_program(OrderStatesPass(), program).modified
