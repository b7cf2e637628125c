"""The adapter for Model Explorer: graphs of a program with modules and steps inside delegates."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import rushlight
from rushlight.devtools.model_explorer.main import RushlightAdapter


@pytest.mark.parametrize("delegated", [False, True])
def test_graphs(delegated: bool, tmp_path: Path) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh())
    partitioner = None if delegated else ()
    program = rushlight.compile(net, (torch.randn(2, 4),), partitioner=partitioner, generate_etrecord=True)
    program.save(tmp_path / "net.pte")
    program.get_etrecord().save(tmp_path / "net.etrecord")
    adapter = RushlightAdapter()
    assert adapter.metadata.fileExts == ["pte"]
    (graph,) = adapter.convert(str(tmp_path / "net.pte"), {})["graphs"]
    assert graph.id == "forward"
    spaces = {node.namespace for node in graph.nodes}
    assert any(space.startswith("CpuBackend 0/") if delegated else space == "0" for space in spaces)
    assert {source.sourceNodeId for node in graph.nodes for source in node.incomingEdges} >= {"0"}
    facts = {fact.key: fact.value for node in graph.nodes for fact in node.attrs}
    assert "aten.tanh.default" in facts["operators"] or "tanh" in facts["operators"]
