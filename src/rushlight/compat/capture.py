"""`exir.capture`, which torch.export and `to_edge` have replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram, export
from torch.fx import GraphModule

from rushlight.compile import (
    CaptureConfig,
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
)


class _Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class CapturedProgram:
    """A program of one method and what may be made of it."""

    def __init__(self, exported_program: ExportedProgram) -> None:
        self.exported_program = exported_program

    @property
    def graph_module(self) -> GraphModule:
        """The graph."""
        module: GraphModule = self.exported_program.graph_module
        return module

    def to_edge(self, config: EdgeCompileConfig | None = None) -> EdgeProgram:
        """The edge program."""
        return EdgeProgram(to_edge(self.exported_program, compile_config=config))


class EdgeProgram(CapturedProgram):
    """An edge program of one method."""

    def __init__(self, manager: EdgeProgramManager) -> None:
        super().__init__(manager.exported_program())
        self._manager = manager

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgramManager:
        """The program file."""
        return self._manager.to_executorch(config)


def capture(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    config: CaptureConfig | None = None,
    constraints: Any = None,
    dynamic_shapes: Any = None,
) -> CapturedProgram:
    """Exports a module or a function. `config` and `constraints` are accepted, without effect."""
    module = f if isinstance(f, torch.nn.Module) else _Function(f)
    return CapturedProgram(export(module, args, dynamic_shapes=dynamic_shapes))
