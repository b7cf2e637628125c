"""The position of a kernel call among equal calls determines its node."""

from __future__ import annotations

from tests.devtools.inspector.hardswish import clamps, record
from torch.fx import Node

from rushlight.devtools.inspector.candidates import Candidates
from rushlight.devtools.inspector.events import Event
from rushlight.ir import meta


def _candidates_of(count: int) -> list[list[Node]]:
    """Returns the candidates of `count` recorded clamps."""
    _, found = record()
    graph = found.edge_programs["forward"].graph
    nodes = [node for node in graph.nodes if node.op == "call_function"]
    handle = next(meta.get_debug_handle(node) for node in nodes if "clamp" in node.name)
    events = [Event("native_call_clamp.out", debug_handles=handle) for _ in range(count)]
    return [candidates for _, candidates in Candidates(found, "forward", nodes, graph).of_events(events)]


def test_calls_of_both_clamps_have_their_own_node() -> None:
    names = [clamps(candidates) for candidates in _candidates_of(2)]
    assert names == [["aten_clamp_default"], ["aten_clamp_default_1"]]


def test_the_call_of_one_clamp_may_have_computed_each() -> None:
    (candidates,) = _candidates_of(1)
    assert clamps(candidates) == ["aten_clamp_default_1", "aten_clamp_default"]
    assert len(candidates) == 2
