"""The smallest distance chooses between values that nothing else distinguishes."""

from __future__ import annotations

import torch
from tests.devtools.inspector.hardswish import INPUT, record
from torch.fx import Node

from rushlight.devtools.inspector.events import Event
from rushlight.devtools.inspector.matching import Matching, arrange, differences
from rushlight.devtools.inspector.run_graph import run_graph


def _matching() -> tuple[Matching, dict[str, Node]]:
    _, found = record()
    values = run_graph(found.edge_programs["forward"], [INPUT], {})
    return Matching({node: found[0] for node, found in values.items()}), {node.name: node for node in values}


def test_the_closest_of_equal_operators_is_chosen() -> None:
    matching, nodes = _matching()
    candidates = [nodes["aten_clamp_default_1"], nodes["aten_clamp_default"]]
    for value, name in (
        ([[0.0, 3.0, 8.0]], "aten_clamp_default"),
        ([[0.0, 3.0, 6.0]], "aten_clamp_default_1"),
    ):
        event = Event("native_call_clamp.out", debug_handles=1, debug_data=[torch.tensor(value)])
        (pair,) = matching.of_step(event, candidates)
        assert pair.node is nodes[name]


def test_the_last_operator_is_chosen_without_regard_to_distances() -> None:
    matching, nodes = _matching()
    candidates = [nodes["aten_div_tensor"], nodes["aten_clamp_default"]]
    event = Event("Elementwise", debug_handles=1, debug_data=[torch.tensor([[0.0, 3.0, 8.0]])])
    (pair,) = matching.of_step(event, candidates)
    assert pair.node is nodes["aten_div_tensor"]


def test_outputs_of_a_delegate_call_follow_its_inputs() -> None:
    matching, nodes = _matching()
    event = Event("DELEGATE_CALL", debug_handles=[1], debug_data=[INPUT, torch.ones(1, 3)])
    (pair,) = matching.of_delegate_call(event, [nodes["aten_div_tensor"]])
    assert pair.node is nodes["aten_div_tensor"] and torch.equal(pair.runtime, torch.ones(1, 3))
    assert list(matching.of_delegate_call(event, [None])) == []


def test_images_with_channels_last_have_the_order_of_the_reference() -> None:
    reference = torch.randn(1, 3, 2, 4)
    found = arrange(reference.permute(0, 2, 3, 1).contiguous(), reference)
    assert found is not None and torch.equal(found, reference)
    assert arrange(torch.ones(5), reference) is None


def test_a_masked_square_matrix_is_not_transposed() -> None:
    reference = torch.randn(1, 4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
    found = arrange(reference.clone(), reference)
    assert found is not None and torch.equal(found, reference)


def test_equal_infinities_have_no_difference() -> None:
    inf, nan = torch.inf, torch.nan
    a, b = torch.tensor([inf, -inf, inf, nan, nan, 1.0]), torch.tensor([inf, inf, 1.0, nan, 1.0, 3.0])
    assert differences(a, b).tolist() == [0.0, inf, inf, 0.0, inf, 2.0]
