"""The constant nodes of a program, and their values."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.ir.constants import Constants, constant_inputs, constants_of_graph


class Net(torch.nn.Module):
    """A parameter, a mutable buffer, a constant buffer and a lifted constant."""

    count: torch.Tensor
    table: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        self.register_buffer("count", torch.zeros(2))
        self.register_buffer("table", torch.tensor([3.0, 4.0]))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.count.add_(1)
        doubled = torch.unbind(self.weight * 2)
        return x + doubled[0] + self.count, self.table + torch.tensor([5.0, 6.0])


def program() -> ExportedProgram:
    return torch.export.export(Net(), (torch.ones(2),)).run_decompositions({})


def by_target(exported: ExportedProgram) -> dict[str, Node]:
    """Returns the placeholder of each stored tensor by the name of the tensor."""
    nodes = {node.name: node for node in exported.graph.nodes}
    return {str(spec.target): nodes[spec.arg.name] for spec in exported.graph_signature.input_specs}


def everything(node: Node) -> bool:
    return True


def test_stored_tensors_that_nothing_changes() -> None:
    exported = program()
    constants = Constants(constant_inputs(exported), exported.graph)
    nodes = by_target(exported)
    value = constants.value(nodes["weight"])
    assert value is not None and value.tolist() == [1.0, 2.0] and not value.requires_grad
    assert constants.is_stored(nodes["table"])
    assert not constants.is_constant(nodes["count"]) and constants.value(nodes["count"]) is None
    assert not constants.is_constant(None) and constants.value("weight") is None
    computed = [node for node in exported.graph.nodes if node.op == "call_function"]
    assert not any(map(constants.is_constant, computed))


def test_values_that_follow_from_constants() -> None:
    exported = program()
    constants = Constants(constant_inputs(exported), exported.graph, everything)
    (output,) = (node for node in exported.graph.nodes if node.op == "output")
    first, second = output.args[0][-2:]
    assert not constants.is_constant(first) and constants.value(first) is None
    value = constants.value(second)
    assert constants.is_constant(second) and not constants.is_stored(second)
    assert value is not None and value.tolist() == [8.0, 10.0]


def test_items_of_an_operator_with_several_results() -> None:
    exported = program()
    constants = Constants(constant_inputs(exported), exported.graph, everything)
    items = [node for node in exported.graph.nodes if getattr(node.target, "__name__", "") == "getitem"]
    for node in items or [n for n in exported.graph.nodes if "select" in n.name]:
        value = constants.value(node)
        assert value is not None and float(value) in (2.0, 4.0)


def test_a_predicate_limits_what_follows() -> None:
    exported = program()
    constants = Constants(constant_inputs(exported), exported.graph, lambda node: "mul" in node.name)
    found = {node.name for node in exported.graph.nodes if constants.is_constant(node)}
    computed = {name for name in found if not constants.is_stored(_named(exported, name))}
    assert computed == {"mul"}


def _named(exported: ExportedProgram, name: str) -> Node:
    return next(node for node in exported.graph.nodes if node.name == name)


def test_a_long_chain() -> None:
    graph = torch.fx.Graph()
    node = graph.placeholder("x")
    for _ in range(3000):
        node = graph.call_function(torch.ops.aten.add.Scalar, (node, 1))
    constants = Constants({"x": torch.zeros(())}, graph, everything)
    value = constants.value(node)
    assert value is not None and float(value) == 3000


def test_a_placeholder_that_the_graph_has_got_since() -> None:
    graph = torch.fx.Graph()
    constants = Constants({}, graph, everything)
    node = graph.placeholder("x")
    assert constants.value(node) is None
    constants.add(node, torch.ones(1))
    assert constants.is_stored(node) and constants.value(node) is not None


def test_placeholders_of_bodies_are_no_constants() -> None:
    exported = program()
    body = torch.fx.Graph()
    body.placeholder("p_weight")
    assert constants_of_graph(exported, body) == {}
    assert constants_of_graph(exported, exported.graph).keys() == constant_inputs(exported).keys()
