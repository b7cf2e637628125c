"""Shows graphs in Google's Model Explorer, as ExecuTorch's `devtools.visualization` does."""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from rushlight.compiler import EdgeProgramManager, ExecutorchProgramManager
from rushlight.ir import meta

Visualizable = ExportedProgram | EdgeProgramManager | ExecutorchProgramManager


_LABEL = "Executorch"


def visualize(
    visualizable: Visualizable, reuse_server: bool = True, no_open_in_browser: bool = False, **kwargs: object
) -> None:
    """Shows a program.

    Args:
        visualizable: the program, or a manager with the method `forward`.
        reuse_server: show the graph in a Model Explorer that is already running.
        no_open_in_browser: start the server without opening a browser.
        kwargs: arguments of Model Explorer's `visualize_from_config`.

    Raises:
        ModuleNotFoundError: the package ai-edge-model-explorer is not installed.
        TypeError: `visualizable` is not a program.
    """
    explorer = _explorer()
    config = explorer.config()
    config.add_model_from_pytorch(
        _LABEL,
        exported_program=_program(visualizable),
        settings=explorer.consts.DEFAULT_SETTINGS,
    )
    if reuse_server:
        config.set_reuse_server()
    visualize_model_explorer(config=config, no_open_in_browser=no_open_in_browser, **kwargs)


def visualize_graph(
    graph_module: GraphModule,
    exported_program: Visualizable,
    reuse_server: bool = True,
    no_open_in_browser: bool = False,
    **kwargs: object,
) -> None:
    """Shows a graph, for example the result of a pass.

    Args:
        graph_module: the graph.
        exported_program: the program from which the graph was made.
        reuse_server: the option of `visualize`.
        no_open_in_browser: the option of `visualize`.
        kwargs: arguments of Model Explorer's `visualize_from_config`.
    """
    program = copy.copy(_program(exported_program))
    program._graph_module = graph_module
    visualize(program, reuse_server, no_open_in_browser, **kwargs)


def visualize_with_clusters(
    exported_program: ExportedProgram,
    json_file_name: str | None = None,
    no_open_in_browser: bool = False,
    reuse_server: bool = False,
    get_node_partition_name: Callable[[Node], str | None] = meta.get_delegation_tag,
    get_node_qdq_cluster_name: Callable[[Node], str | None] = meta.get_cluster,
    **kwargs: object,
) -> None:
    """Shows a program with its nodes grouped by partition, and within a partition by cluster.

    Args:
        exported_program: the program.
        json_file_name: write the graph to this file instead of showing it. Model Explorer can open the file.
        no_open_in_browser: start the server without opening a browser.
        reuse_server: show the graph in a Model Explorer that is already running.
        get_node_partition_name: returns the name of a node's partition, or None. By default, this is the
            delegation tag.
        get_node_qdq_cluster_name: returns the name of a node's cluster of quantized operators, or None. By
            default, this is `node.meta["cluster"]`.
        kwargs: arguments of Model Explorer's `visualize_from_config`.

    Raises:
        ModuleNotFoundError: the package ai-edge-model-explorer is not installed.
    """
    explorer = _explorer()
    config = explorer.config()
    config.add_model_from_pytorch(
        _LABEL, exported_program=exported_program, settings=explorer.consts.DEFAULT_SETTINGS
    )
    numbers: dict[str, int] = {}
    groups: dict[str, str] = {}
    for node in exported_program.graph.nodes:
        part, cluster = get_node_partition_name(node), get_node_qdq_cluster_name(node)
        levels = []
        if part is not None:
            levels.append(f"partition {numbers.setdefault(part, len(numbers))} ({part})")
        if cluster is not None:
            levels.append(f"cluster ({cluster})")
        groups[node.name] = "/".join(level.replace("/", ":") for level in levels)
    for shown in config.graphs_list[-1]["graphs"][0].nodes:
        shown.namespace = groups.get(shown.id, "")
    if json_file_name is not None:
        _write_graphs(config, json_file_name)
        return
    if reuse_server:
        config.set_reuse_server()
    visualize_model_explorer(config=config, no_open_in_browser=no_open_in_browser, **kwargs)


def _write_graphs(config: Any, path: str) -> None:
    """Writes the graphs of a configuration to a file in the format of Model Explorer."""
    graphs = json.loads(json.loads(config.get_transferrable_data()["graphs_list"])[0])["graphs"]
    labelled = [{**graph, "collectionLabel": _LABEL} for graph in graphs]
    levels = [{"graph": graph, "level": level} for level, graph in enumerate(labelled)]
    Path(path).write_text(json.dumps({"label": _LABEL, "graphs": labelled, "graphsWithLevel": levels}))


def visualize_model_explorer(**kwargs: object) -> None:
    """Calls Model Explorer's `visualize_from_config`."""
    _explorer().visualize_from_config(**kwargs)


def _program(visualizable: Visualizable) -> ExportedProgram:
    if isinstance(visualizable, ExportedProgram):
        return visualizable
    if isinstance(visualizable, (EdgeProgramManager, ExecutorchProgramManager)):
        return visualizable.exported_program()
    raise TypeError(f"a {type(visualizable).__name__} is not a program")


def _explorer() -> ModuleType:
    try:
        return importlib.import_module("model_explorer")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "graphs are shown by Model Explorer, which is not installed: pip install ai-edge-model-explorer"
        ) from error
