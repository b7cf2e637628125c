"""Tests of the specs of planned graphs, and of the check of their offsets."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import export

from rushlight.compat.memory_checks import (
    Verifier,
    apply_algo,
    collect_specs_from_nodes,
    filter_nodes,
    get_node_tensor_specs,
    update_all_tensors_lifetime,
    update_tensor_lifetime,
)
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.edge import to_edge
from rushlight.ir import memory_ops
from rushlight.ir.errors import InternalError
from rushlight.ir.spec import TensorSpec
from rushlight.memory.algorithms import MemoryPlanningAlgorithmSuite, greedy, naive
from rushlight.memory.planning_pass import MemoryPlanningPass


class Chain(torch.nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(8))
        self.weight = torch.nn.Parameter(torch.ones(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return ((x * self.weight + self.total).exp() * 2).sin()


def planned(**options: Any) -> torch.export.ExportedProgram:
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(greedy, **options))
    return to_edge(export(Chain(), (torch.ones(8),))).to_executorch(config).exported_program()


@pytest.mark.parametrize("inputs", [True, False])
@pytest.mark.parametrize("outputs", [True, False])
def test_plans_pass_the_check(inputs: bool, outputs: bool) -> None:
    program = planned(alloc_graph_input=inputs, alloc_graph_output=outputs)
    verifier = Verifier(program.graph_module, inputs, outputs, True, program.graph_signature)
    assert verifier.verify_storage_reuse() > 0
    verifier.verify_graph_input_output()
    wrong = Verifier(program.graph_module, not inputs, outputs, True, program.graph_signature)
    with pytest.raises(AssertionError, match="Misallocate graph input"):
        wrong.verify_graph_input_output()


def test_results_of_elementwise_operators_may_replace_arguments_that_end_there() -> None:
    program = to_edge(export(Chain(), (torch.ones(8),))).to_executorch().exported_program()
    verifier = Verifier(program.graph_module, True, True, True, program.graph_signature)
    (sine,) = [node for node in program.graph.nodes if node.target is torch.ops.aten.sin.out]
    (source,), (result,) = map(get_node_tensor_specs, (sine.args[0], sine))
    assert result.mem_offset == source.mem_offset and Verifier.lifetime_overlap(source, result)
    assert verifier.verify_storage_reuse() > 0
    source.lifetime = [source.lifetime[0], len(program.graph.nodes)]
    with pytest.raises(InternalError, match="Unexpected storage overlap"):
        verifier.verify_storage_reuse()


def test_specs_that_are_alive_together_must_not_meet() -> None:
    program = planned()
    verifier = Verifier(program.graph_module, True, True, True, program.graph_signature)
    nodes = program.graph.nodes
    allocations = [spec for n in nodes if n.target is memory_ops.alloc for spec in get_node_tensor_specs(n)]
    user_input = next(n for n in nodes if n.name == "x").meta["spec"]
    first = next(spec for spec in allocations if Verifier.lifetime_overlap(spec, user_input))
    first.mem_offset = user_input.mem_offset
    with pytest.raises(InternalError, match="Unexpected storage overlap"):
        verifier.verify_storage_reuse()
    assert verifier.verify_storage_reuse(allow_lifetime_and_storage_overlap=True) > 0


def test_intervals() -> None:
    assert Verifier.has_overlap([1, 10], [2, 3]) and Verifier.has_overlap([2, 3], [3, 4])
    assert not Verifier.has_overlap([1, 2], [3, 4]) and not Verifier.has_overlap([5, 4], [1, 9])


def test_specs_are_chosen() -> None:
    program = planned()
    nodes, signature = list(program.graph.nodes), program.graph_signature
    every = set(collect_specs_from_nodes(nodes, signature, ignore_const=False))
    without_constants = set(collect_specs_from_nodes(nodes, signature))
    assert {spec.const for spec in every - without_constants} == {True}
    without_inputs = set(collect_specs_from_nodes(nodes, signature, ignore_graph_input=True))
    assert without_constants - without_inputs == {nodes_by_name(program)["x"].meta["spec"]}
    without_state = set(collect_specs_from_nodes(nodes, signature, ignore_mutable_buffers=True))
    assert nodes_by_name(program)["b_total"].meta["spec"] in without_constants - without_state
    with pytest.raises(InternalError, match="has no memory"):
        list(collect_specs_from_nodes(nodes, signature, ignore_out_var_node=False))


def nodes_by_name(program: torch.export.ExportedProgram) -> dict[str, torch.fx.Node]:
    return {node.name: node for node in program.graph.nodes}


def test_lifetimes_reach_to_the_last_use() -> None:
    program = planned()
    for spec in update_all_tensors_lifetime(program.graph_module, program.graph_signature):
        assert spec.lifetime[0] is not None
    nodes = list(program.graph.nodes)
    x = nodes_by_name(program)["x"]
    assert x.meta["spec"].lifetime == [0, max(nodes.index(user) for user in x.users)]
    assert nodes_by_name(program)["b_total"].meta["spec"].lifetime == [0, len(nodes) - 1]


def test_state_lives_from_the_first_to_the_last_node() -> None:
    program = planned()
    assert nodes_by_name(program)["b_total"].meta["spec"].lifetime == [0, len(program.graph.nodes) - 1]


def test_lifetimes_of_single_uses() -> None:
    program = planned()
    nodes, signature = nodes_by_name(program), program.graph_signature
    spec = TensorSpec(torch.float32, [2])
    update_tensor_lifetime(program.graph.output_node(), spec, 3, 9)
    assert spec.lifetime == [3, 3]
    update_tensor_lifetime(nodes["x"], spec, 5, 9, signature)
    assert spec.lifetime == [0, 5]
    update_tensor_lifetime(nodes["b_total"], spec, 1, 9, signature)
    assert spec.lifetime == [0, 9]


def test_memory_lives_as_long_as_what_lies_in_it() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(torch.ops.aten.neg.default, (x,))
    graph.output(y)
    base, inner = TensorSpec(torch.float32, [4]), TensorSpec(torch.float32, [2])
    inner.storage_base = base
    x.meta["spec"], y.meta["spec"] = base, inner
    update_all_tensors_lifetime(torch.fx.GraphModule({}, graph))
    assert inner.lifetime == [1, 2] and base.lifetime == [0, 2]


def test_algorithms_are_applied_to_graphs() -> None:
    program = planned()
    module, signature = program.graph_module, program.graph_signature
    small = apply_algo(MemoryPlanningAlgorithmSuite([greedy]), module, 16, signature)
    large = apply_algo(MemoryPlanningAlgorithmSuite([naive]), module, 16, signature)
    assert small[0] == 0 and small[1] < large[1]


def test_nodes_among_arguments() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    assert list(filter_nodes([1, x, [x, None], "x"])) == [x, x]
