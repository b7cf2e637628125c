"""A submodule of a program becomes a program, which owns the constants with its tag."""

from __future__ import annotations

import operator

import pytest
import torch
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node

from rushlight.compat.submodule_programs import (
    arrange_graph_placeholders,
    create_exported_program_from_submodule,
)
from rushlight.compat.submodules import create_submodule_from_nodes
from rushlight.exir import to_edge

X = torch.ones(2, 2)


class Net(torch.nn.Module):
    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((2, 2), 3.0))
        self.register_buffer("state", torch.zeros(2, 2))
        self.offset = torch.ones(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.mul(x + self.offset, self.weight)
        self.state.add_(y)
        return y.sin()


def divided(tagged: tuple[str, ...]) -> tuple[ExportedProgram, torch.fx.GraphModule, Node]:
    """Moves all nodes except for the sine into a submodule, after setting the tag of some placeholders."""
    program = to_edge(export(Net(), (X,))).exported_program()
    nodes = [n for n in program.graph.nodes if n.op == "call_function" and "sin" not in str(n.target)]
    for node in program.graph.nodes:
        if any(part in node.name for part in tagged) and node.op == "placeholder":
            node.meta["delegation_tag"] = "part"
    sub, call = create_submodule_from_nodes(program.graph_module, nodes, "part")
    # The verifier and users read the names of outputs, which are now getitem nodes.
    results = program.graph.output_node().args[0]
    for spec, node in zip(program.graph_signature.output_specs, results, strict=True):  # type: ignore[arg-type]
        spec.arg.name = node.name  # type: ignore[union-attr]
    return program, sub, call


def test_program_owns_tagged_constants_and_their_mutations() -> None:
    program, sub, call = divided(("weight", "state"))
    part, inputs, outputs = create_exported_program_from_submodule(sub, program, "part", call, False)
    assert [spec.kind for spec in part.graph_signature.input_specs] == [
        InputKind.PARAMETER,
        InputKind.BUFFER,
        InputKind.USER_INPUT,
        InputKind.USER_INPUT,
    ]
    kinds = [spec.kind for spec in part.graph_signature.output_specs]
    assert kinds == [OutputKind.BUFFER_MUTATION, OutputKind.USER_OUTPUT]
    assert list(part.graph_signature.buffers_to_mutate.values()) == ["state"]
    assert sorted(part.state_dict) == ["state", "weight"] and not part.constants
    assert sorted(inputs) == ["b_state", "p_weight"]
    assert [spec.target for spec in outputs.values()] == ["state"]
    # The call reads the results at their new places.
    getitems = {node.args[1]: node.name for node in call.users if node.target is operator.getitem}
    assert getitems[0] in outputs and "sin" in str(next(iter(part_users(call, 1))).target)


def part_users(call: Node, index: int) -> list[Node]:
    (item,) = (node for node in call.users if node.args[1] == index)
    return list(item.users)


def test_program_of_a_control_flow_body_owns_nothing() -> None:
    program, sub, call = divided(("weight", "state"))
    part, inputs, outputs = create_exported_program_from_submodule(sub, program, "part", call, True)
    assert {spec.kind for spec in part.graph_signature.input_specs} == {InputKind.USER_INPUT}
    assert {spec.kind for spec in part.graph_signature.output_specs} == {OutputKind.USER_OUTPUT}
    assert not inputs and not outputs and not part.state_dict


def test_placeholders_with_the_tag_are_first() -> None:
    program, sub, _ = divided(("offset", "weight"))
    before = [node.name for node in sub.graph.nodes if node.op == "placeholder"]
    assert arrange_graph_placeholders(sub, program, "part") is sub
    after = [node.name for node in sub.graph.nodes if node.op == "placeholder"]
    assert sorted(before) == sorted(after) and after[0] == "p_weight" and "offset" in after[1]
    assert [n for n in after if n in after[2:]] == [n for n in before if n in after[2:]]


def test_new_value_that_is_also_a_result_is_refused() -> None:
    program, sub, call = divided(("state",))
    specs = program.graph_signature.output_specs
    (mutation,) = (spec for spec in specs if spec.kind == OutputKind.BUFFER_MUTATION)
    (result,) = (spec for spec in specs if spec.kind == OutputKind.USER_OUTPUT)
    result.arg.name = mutation.arg.name  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="buffer state.*remove the tag"):
        create_exported_program_from_submodule(sub, program, "part", call, False)
