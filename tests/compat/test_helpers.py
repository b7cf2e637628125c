"""Helpers that exist for ExecuTorch's names alone."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch

from rushlight.compat.export_util import export_to_edge, export_to_exec_prog, save_pte_program
from rushlight.compat.visualization import visualize, visualize_graph, visualize_with_clusters
from rushlight.exir import ExecutorchBackendConfig, ExecutorchProgramManager
from rushlight.runtime import Runtime

X = torch.ones(1, 3)


@pytest.fixture(scope="module")
def program() -> ExecutorchProgramManager:
    config = ExecutorchBackendConfig(external_constants=True)
    return export_to_exec_prog(torch.nn.Linear(3, 2), (X,), backend_config=config)


def test_export_and_save(program: ExecutorchProgramManager, tmp_path: Path) -> None:
    path = save_pte_program(program, "linear", str(tmp_path))
    assert path == str(tmp_path / "linear.pte")
    (data,) = tmp_path.glob("*.ptd")
    method = Runtime.get().load_program(path, data_path=data).load_method("forward")
    assert method.execute([X])[0].shape == (1, 2)
    with pytest.raises(OSError, match="nowhere"):
        save_pte_program(program, str(tmp_path / "nowhere" / "linear.pte"))
    with pytest.raises(ValueError, match=r"torch\.nn\.Module, not builtin"):
        export_to_edge(torch.relu, (X,))  # type: ignore[arg-type]


def test_visualize(program: ExecutorchProgramManager, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []

    class Config:
        def __init__(self) -> None:
            self.programs: list[Any] = []
            self.reuses = False

        def add_model_from_pytorch(self, name: str, exported_program: Any, settings: Any) -> None:
            self.programs.append(exported_program)

        def set_reuse_server(self) -> None:
            self.reuses = True

    explorer = types.ModuleType("model_explorer")
    explorer.config = Config  # type: ignore[attr-defined]
    explorer.consts = types.SimpleNamespace(DEFAULT_SETTINGS={})  # type: ignore[attr-defined]
    explorer.visualize_from_config = lambda **options: shown.append(options)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "model_explorer", explorer)
    visualize(program, no_open_in_browser=True)
    config = shown[0]["config"]
    assert config.programs == [program.exported_program()] and config.reuses
    assert shown[0]["no_open_in_browser"] is True
    graph_module = program.exported_program().graph_module
    visualize_graph(graph_module, program, reuse_server=False)
    assert shown[1]["config"].programs[0].graph_module is graph_module
    with pytest.raises(TypeError, match="int is not a program"):
        visualize(3)  # type: ignore[arg-type]


def test_visualize_with_clusters(
    program: ExecutorchProgramManager, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The graph has the nodes that Model Explorer's adapter makes: their identifiers are the nodes' names."""

    class Config:
        def __init__(self) -> None:
            self.graphs_list: list[Any] = []

        def add_model_from_pytorch(self, name: str, exported_program: Any, settings: Any) -> None:
            nodes = [
                types.SimpleNamespace(id=node.name, namespace="m") for node in exported_program.graph.nodes
            ]
            self.graphs_list.append({"graphs": [types.SimpleNamespace(nodes=nodes)]})

        def get_transferrable_data(self) -> dict[str, Any]:
            (graph,) = self.graphs_list[0]["graphs"]
            graphs = [{"id": "g", "nodes": [vars(node) for node in graph.nodes]}]
            return {"graphs_list": json.dumps([json.dumps({"graphs": graphs})])}

    explorer = types.ModuleType("model_explorer")
    explorer.config = Config  # type: ignore[attr-defined]
    explorer.consts = types.SimpleNamespace(DEFAULT_SETTINGS={})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "model_explorer", explorer)
    exported = program.exported_program()
    placeholders = [node.name for node in exported.graph.nodes if node.op == "placeholder"]
    visualize_with_clusters(
        exported,
        str(tmp_path / "graph.json"),
        get_node_partition_name=lambda node: None if node.op == "placeholder" else "tag/1",
        get_node_qdq_cluster_name=lambda node: "c" if node.op == "output" else None,
    )
    written = json.loads((tmp_path / "graph.json").read_text())
    assert written["label"] == "Executorch"
    assert written["graphsWithLevel"] == [{"graph": written["graphs"][0], "level": 0}]
    groups = {node["id"]: node["namespace"] for node in written["graphs"][0]["nodes"]}
    assert {name for name, group in groups.items() if group == ""} == set(placeholders)
    assert groups["output"] == "partition 0 (tag:1)/cluster (c)"
    assert set(groups.values()) == {"", "partition 0 (tag:1)", "partition 0 (tag:1)/cluster (c)"}


def test_visualize_needs_model_explorer(
    program: ExecutorchProgramManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "model_explorer", None)
    with pytest.raises(ModuleNotFoundError, match="pip install ai-edge-model-explorer"):
        visualize(program)
