"""Shows graphs in Google's Model Explorer, with the names of ExecuTorch's `devtools.visualization`."""

from __future__ import annotations

import copy
import importlib
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule

from rushlight.compiler import EdgeProgramManager, ExecutorchProgramManager

Visualizable = ExportedProgram | EdgeProgramManager | ExecutorchProgramManager


def visualize(
    visualizable: Visualizable, reuse_server: bool = True, no_open_in_browser: bool = False, **kwargs: object
) -> None:
    """Shows a program.

    Args:
        visualizable: the program, or a manager, whose method `forward` is shown.
        reuse_server: show the graph in a running Model Explorer.
        no_open_in_browser: start the server without a browser.
        kwargs: arguments of Model Explorer's `visualize_from_config`.

    Raises:
        ModuleNotFoundError: the package ai-edge-model-explorer is not installed.
        TypeError: `visualizable` is not a program.
    """
    explorer = _explorer()
    config = explorer.config()
    config.add_model_from_pytorch(
        "Executorch",
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
    """Shows a graph, for example the result of a pass on the graph of a program."""
    program = copy.copy(_program(exported_program))
    program._graph_module = graph_module
    visualize(program, reuse_server, no_open_in_browser, **kwargs)


def visualize_model_explorer(**kwargs: object) -> None:
    """Calls Model Explorer's `visualize_from_config`."""
    _explorer().visualize_from_config(**kwargs)


def _program(visualizable: Visualizable) -> ExportedProgram:
    if isinstance(visualizable, ExportedProgram):
        return visualizable
    if isinstance(visualizable, (EdgeProgramManager, ExecutorchProgramManager)):
        return visualizable.exported_program()
    raise TypeError(f"a {type(visualizable).__name__} is not a program")


def _explorer() -> Any:
    try:
        return importlib.import_module("model_explorer")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "graphs are shown by Model Explorer, which is not installed: pip install ai-edge-model-explorer"
        ) from error
