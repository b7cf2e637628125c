"""Constants that are stored outside the program file get tags."""

from __future__ import annotations

import torch
from tests.passes.support import edge_of
from torch.export import export
from torch.export.experimental import _export_forward_backward

from rushlight.ir import meta
from rushlight.ir.facts import facts_of
from rushlight.passes.base import AnyPass
from rushlight.passes.move_constants_to_files import (
    DEFAULT_TAG,
    MoveConstantsToFilesPass,
    default_file,
    delegate_external_constants_pass_unlifted,
    external_constants_pass,
    external_mutable_weights_pass,
)
from rushlight.passes.runner import run_passes
from rushlight.passes.spec_prop import MarkConstantsPass, SpecPropPass


class Shift(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x)
        return y + torch.tensor([1.0, 2.0])


def test_parameters_are_tagged_and_numbers_of_the_text_are_not() -> None:
    program = edge_of(Shift(), torch.ones(1, 3))
    program = run_passes(program, [SpecPropPass(), MarkConstantsPass()]).exported_program
    result = external_constants_pass(
        program.graph_module, lambda node: "weights" if "weight" in node.name else None
    )
    assert result.modified
    tagged = {node.name for node in program.graph.nodes if meta.get_constant_tag(node) == "weights"}
    assert tagged == {"p_linear_weight"}
    external_constants_pass(program.graph_module)
    tagged = {node.name for node in program.graph.nodes if meta.get_constant_tag(node) == DEFAULT_TAG}
    assert tagged == {"p_linear_weight", "p_linear_bias"}


def test_constants_for_a_backend_are_tagged_before_they_are_lifted() -> None:
    captured = export(torch.nn.Linear(3, 2), (torch.ones(1, 3),)).module()
    result = delegate_external_constants_pass_unlifted(
        captured, lambda node: "weights" if "weight" in str(node.target) else None
    )
    assert result.modified
    assert isinstance(captured, torch.fx.GraphModule)
    tags = {
        str(node.target): meta.get_delegate_constant_tag(node)
        for node in captured.graph.nodes
        if node.op == "get_attr"
    }
    assert tags == {"weight": "weights", "bias": None}


def test_files_are_facts_of_the_program() -> None:
    passes: list[AnyPass] = [
        SpecPropPass(),
        MarkConstantsPass(),
        MoveConstantsToFilesPass(default_file, trained=False),
    ]
    program = run_passes(edge_of(Shift(), torch.ones(1, 3)), passes).exported_program
    assert facts_of(program).constant_files == {
        "linear.weight": DEFAULT_TAG,
        "linear.bias": DEFAULT_TAG,
    }


class Loss(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.frozen = torch.nn.Buffer(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.weight * self.frozen).sum()


def test_parameters_with_gradients_are_tagged() -> None:
    program = _export_forward_backward(export(Loss(), (torch.ones(3),)))
    assert external_mutable_weights_pass(program.graph_module, program).modified
    tagged = [node.name for node in program.graph.nodes if meta.get_constant_tag(node) == DEFAULT_TAG]
    assert tagged == ["p_weight"]
