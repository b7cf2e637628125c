"""A program with another graph has a signature with the new names."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.passes.support import edge_of

from rushlight.ir.errors import PassError
from rushlight.passes.rebuild import with_graph_module


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


def test_the_signature_follows_the_names() -> None:
    program = edge_of(Add(), torch.ones(2), torch.ones(2))
    module = copy.deepcopy(program.graph_module)
    for node in module.graph.nodes:
        if node.op != "output":
            node._rename(f"new_{node.name}")
    module.recompile()
    rebuilt = with_graph_module(program, module)
    rebuilt.validate()
    assert rebuilt.graph_signature.user_inputs == ("new_x", "new_y")
    assert rebuilt.graph_signature.user_outputs == ("new_aten_add_tensor",)
    assert program.graph_signature.user_inputs == ("x", "y")


@pytest.mark.parametrize(
    ("what", "message"), [("inputs", "inputs from 2 to 3"), ("outputs", "outputs from 1 to 2")]
)
def test_other_inputs_and_outputs_are_refused(what: str, message: str) -> None:
    program = edge_of(Add(), torch.ones(2), torch.ones(2))
    module = copy.deepcopy(program.graph_module)
    if what == "inputs":
        with module.graph.inserting_before(next(iter(module.graph.nodes))):
            module.graph.placeholder("z")
    else:
        output = module.graph.output_node()
        output.args = ((*output.args[0], output.args[0][0]),)  # type: ignore[misc, index]
    with pytest.raises(PassError, match=message):
        with_graph_module(program, module)
