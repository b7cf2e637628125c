"""Helpers that only exist for compatibility with ExecuTorch."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import model_explorer
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
    folder = tmp_path / "new" / "folder"
    path = save_pte_program(program, "linear", str(folder))
    assert path == str(folder / "linear.pte")
    (data,) = folder.glob("*.ptd")
    method = Runtime.get().load_program(path, data_path=data).load_method("forward")
    assert method.execute([X])[0].shape == (1, 2)
    with pytest.raises(OSError, match="nowhere"):
        save_pte_program(program, str(tmp_path / "nowhere" / "linear.pte"))
    with pytest.raises(ValueError, match=r"torch\.nn\.Module, not builtin"):
        export_to_edge(torch.relu, (X,))  # type: ignore[arg-type]


def test_visualize(program: ExecutorchProgramManager, monkeypatch: pytest.MonkeyPatch) -> None:
    """Model Explorer gets the graph of the program. Its server is not started."""
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(model_explorer, "visualize_from_config", lambda **options: shown.append(options))
    visualize(program, no_open_in_browser=True)
    assert shown[0]["no_open_in_browser"] is True
    config = shown[0]["config"]
    assert config.reuse_server_host == "localhost"
    exported = program.exported_program()
    assert _shown_nodes(config) == {node.name for node in exported.graph.nodes}
    graph_module = copy.deepcopy(exported.graph_module)
    (output,) = graph_module.graph.find_nodes(op="output")
    output.name = "renamed"
    visualize_graph(graph_module, program, reuse_server=False)
    assert "renamed" in _shown_nodes(shown[1]["config"]) and not shown[1]["config"].reuse_server_host
    with pytest.raises(TypeError, match="int is not a program"):
        visualize(3)  # type: ignore[arg-type]


def _shown_nodes(config: Any) -> set[str]:
    (graph,) = config.graphs_list[0]["graphs"]
    return {node.id for node in graph.nodes}


def test_visualize_with_clusters(program: ExecutorchProgramManager, tmp_path: Path) -> None:
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
