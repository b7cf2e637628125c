"""Debug handles: the mapping between values of a graph and values of the runtime."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from rushlight.compat.inspector.debug_handles import (
    UNSET_DEBUG_HANDLE,
    IntermediateOutputCapturer,
    find_op_names,
    get_aot_debug_handle_to_op_name_mapping,
    map_runtime_aot_intermediate_outputs,
    merge_runtime_overlapping_debug_handles,
    propagate_back_debug_handle,
)
from rushlight.compat.inspector.graphs import FXOperatorGraph, OperatorGraph, OperatorNode, ValueNode
from rushlight.exir import to_edge
from rushlight.ir import meta


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.linear(x).to(x.dtype)
        return torch.split(torch.relu(x), 2, dim=1)


X = (torch.randn(2, 4),)


@pytest.mark.parametrize("strict", [False, True])
def test_the_exported_program_gets_the_handles_of_its_edge_nodes(strict: bool) -> None:
    model = Model().eval()
    exported = torch.export.export(model, X, strict=strict)
    graph = id(exported.graph)
    edge = to_edge(exported).exported_program()
    other = torch.export.export(model, X, strict=strict)
    assert propagate_back_debug_handle(exported, graph, edge)
    handles: dict[str, Any] = {node.name: meta.get_debug_handle(node) for node in exported.graph.nodes}
    assert handles["to"] == UNSET_DEBUG_HANDLE
    assert 0 < handles["linear"] < handles["relu"] < handles["split"]
    if not strict:  # the nodes of two strict exports refer to the same nodes of one capture
        assert not propagate_back_debug_handle(other, id(other.graph), edge)
        assert propagate_back_debug_handle(other, id(other.graph), edge, True)

    captured = IntermediateOutputCapturer(exported.module()).run_and_capture(*X)
    names = get_aot_debug_handle_to_op_name_mapping(exported.module())
    torch.testing.assert_close(captured[(handles["relu"],)], torch.relu(model.linear(*X)))
    assert not captured[(handles["relu"],)].requires_grad
    assert [part.shape for part in captured[(handles["split"],)]] == [(2, 2), (2, 2)]
    assert find_op_names((handles["split"], handles["relu"]), names) == ["relu", "split"]


def test_overlapping_events_are_joined() -> None:
    merged = merge_runtime_overlapping_debug_handles(
        {(1, 2): (0, "a", 1), (5, 5): (1, "b", 1), (2, 3): (2, "c", 1), (3, 1): (1, "d", 2)}
    )
    assert list(merged.values()) == [(1, "b", 1), (2, "c", 1)]
    assert {frozenset(handles) for handles in merged} == {frozenset({1, 2, 3}), frozenset({5})}


def test_an_event_is_paired_with_its_last_operators() -> None:
    values: dict[tuple[int, ...], Any] = {(handle,): handle for handle in range(1, 8)}
    recorded = {(1, 2, 3): ([0, 30], 1), (4, 5): ([40, 50], 2), (9, 6): (60, 1), (8,): (80, 1)}
    assert map_runtime_aot_intermediate_outputs(values, recorded) == {
        ((1, 2, 3), 3): ((1, 2, 3), 30),
        ((4, 5), 5): ((4, 5), 50),
        ((4, 5), 4): ((4, 5), 40),
        ((9, 6), 6): ((9, 6), 60),
    }
    with pytest.raises(ValueError, match="several events"):
        map_runtime_aot_intermediate_outputs({(1, 2): 3}, {(1,): (4, 1), (2,): (5, 1)})


def test_of_several_results_the_one_with_the_shape_and_dtype_is_taken() -> None:
    reference, mask = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool)
    value = torch.zeros(2, 3)
    pairs = map_runtime_aot_intermediate_outputs({(1,): reference}, {(1,): ([value, mask, torch.ones(2)], 1)})
    assert next(iter(pairs.values()))[1] is value
    several = [torch.ones(1), torch.ones(2)]
    pairs = map_runtime_aot_intermediate_outputs({(1,): several}, {(1,): ([several], 1)})
    assert next(iter(pairs.values()))[1] == tuple(several)
    with pytest.raises(TypeError, match="several results"):
        map_runtime_aot_intermediate_outputs({(1,): several}, {(1,): (value, 1)})


def test_a_graph_of_operators_has_inputs_constants_and_metadata() -> None:
    edge = to_edge(torch.export.export(Model().eval(), X)).exported_program()
    graph = FXOperatorGraph.gen_operator_graph(edge.graph_module)
    inputs, inside, outputs = graph.elements
    assert [element.graph_name for element in graph.elements] == ["inputs", "forward", "outputs"]
    assert [node.name for node in inputs.elements] == ["p_linear_weight_", "p_linear_bias_", "x_"]
    operators = {node.op: node for node in inside.elements if isinstance(node, OperatorNode)}
    relu = operators["aten.relu.default"]
    assert (relu.output_shapes, relu.named_args) == ([[2, 4]], ["self"])
    assert relu.metadata is not None and "relu" in relu.metadata["stack_trace"]
    assert relu.inputs == [operators["aten.addmm.default"]]
    split = operators["aten.split_with_sizes_copy.default"]
    assert split.inputs is not None
    assert [node.val for node in split.inputs if isinstance(node, ValueNode)] == [[2, 2], "1"]
    assert outputs.elements[0].inputs == [split, split]
    without = FXOperatorGraph.gen_operator_graph(edge.graph_module, skip_stack_trace=True)
    assert all("stack_trace" not in node.metadata for node in without.elements[1].elements if node.metadata)


def test_operators_may_be_grouped_by_module() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(torch.relu, (x,))
    relu.meta.update(source_fn_stack=[("act", torch.nn.ReLU)], nn_module_stack={"act": ("act", "ReLU")})
    graph.output((relu,))
    made = FXOperatorGraph.gen_operator_graph(torch.fx.GraphModule({}, graph), enable_module_hierarchy=True)
    (group,) = made.elements[1].elements
    assert isinstance(group, OperatorGraph)
    assert (group.graph_name, group.metadata, len(group.elements)) == ("act", {"module_type": "ReLU"}, 1)
    called = torch.fx.Graph()
    called.call_method("relu", (called.placeholder("x"),))
    with pytest.raises(ValueError, match="call_method of relu"):
        FXOperatorGraph.gen_operator_graph(torch.fx.GraphModule({}, called))
