"""A program for training also returns the weights that have gradients."""

from __future__ import annotations

import torch
from tests.passes.support import edge_of
from torch.export import export
from torch.export.experimental import _export_forward_backward
from torch.export.graph_signature import OutputKind

from rushlight.passes.weights_to_outputs import WeightsToOutputsPass


class Loss(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.scale = torch.nn.Buffer(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.weight * self.scale).sum()


def test_trained_weights_are_outputs() -> None:
    program = _export_forward_backward(export(Loss(), (torch.ones(3),)))
    before = len(program.graph_signature.output_specs)
    result = WeightsToOutputsPass()(program)
    assert result.modified
    specs = result.exported_program.graph_signature.output_specs
    outputs = result.exported_program.graph.output_node().args[0]
    assert len(specs) == len(outputs) == before + 1
    assert specs[-1].kind == OutputKind.TOKEN and outputs[-1].name == specs[-1].arg.name == "p_weight"


def test_programs_without_gradients_stay() -> None:
    assert not WeightsToOutputsPass()(edge_of(torch.nn.Linear(3, 2), torch.ones(1, 3))).modified
