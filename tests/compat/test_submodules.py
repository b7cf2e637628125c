"""Nodes of a graph are moved into a submodule."""

from __future__ import annotations

import operator

import pytest
import torch
from torch.export import export
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument
from torch.fx import Graph, GraphModule

from rushlight.compat.submodules import arrange_graph_outputs, create_submodule_from_nodes
from rushlight.exir import to_edge

INPUTS = (torch.randn(4, 3), torch.randn(4, 3))


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a, b = torch.split(x + y, 2)
        return torch.cat([a * b, a]) - y


@pytest.mark.parametrize(
    ("names", "results"),
    [
        (["add"], 1),
        (["add", "split_with_sizes_copy"], 2),
        (["mul", "cat"], 1),
        (["split_with_sizes_copy", "mul"], 2),
    ],
)
def test_nodes_move_into_a_submodule(names: list[str], results: int) -> None:
    program = to_edge(export(Net(), INPUTS)).exported_program()
    gm = program.graph_module
    nodes = [n for n in gm.graph.nodes if any(f"aten.{name}." in str(n.target) for name in names)]
    sub_gm, call = create_submodule_from_nodes(gm, nodes, "part")
    assert call.target == "fused_part" and gm.get_submodule("fused_part") is sub_gm
    returned = sub_gm.graph.output_node().args[0]
    assert isinstance(returned, list) and len(returned) == results == len(call.meta["val"])
    assert all(user.target is operator.getitem and "val" in user.meta for user in call.users)
    gm.recompile()
    torch.testing.assert_close(gm(*INPUTS)[0], Net()(*INPUTS))
    with pytest.raises(ValueError, match="at least one node"):
        create_submodule_from_nodes(gm, [], "none")


def test_a_list_that_leaves_a_submodule_is_opened() -> None:
    class First(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.split(x, 2)[0].neg()

    x = torch.randn(4)
    program = to_edge(export(First(), (x,))).exported_program()
    gm = program.graph_module
    nodes = [n for n in gm.graph.nodes if "split" in str(n.target)]
    sub_gm, call = create_submodule_from_nodes(gm, nodes, "part")
    returned = sub_gm.graph.output_node().args[0]
    assert isinstance(returned, list) and len(returned) == 2 == len(call.meta["val"])
    assert [user.args[1] for user in call.users] == [0]
    gm.recompile()
    torch.testing.assert_close(gm(x)[0], First()(x))


def test_new_values_of_buffers_come_first() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    nodes = [graph.call_function(op, (x, x)) for op in (torch.add, torch.mul, torch.sub)]
    graph.output(tuple(nodes))
    kinds = (OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION, OutputKind.USER_OUTPUT)
    specs = [OutputSpec(kind, TensorArgument(n.name), None) for kind, n in zip(kinds, nodes, strict=True)]
    parent = Graph()
    call = parent.call_module("part", (parent.placeholder("x"),))
    items = [parent.call_function(operator.getitem, (call, index)) for index in range(3)]
    module = GraphModule({}, graph)
    arrange_graph_outputs(module, specs, call)
    assert module.graph.output_node().args[0] == (nodes[1], nodes[0], nodes[2])
    assert specs[0].kind is OutputKind.BUFFER_MUTATION
    assert [item.args[1] for item in items] == [1, 0, 2]
