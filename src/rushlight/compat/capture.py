"""`exir.capture`, an older API of ExecuTorch. New code uses torch.export and `to_edge` instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any, NamedTuple

import torch
from torch.export import ExportedProgram, export
from torch.fx import GraphModule

from rushlight.compiler import (
    CaptureConfig,
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
)
from rushlight.format.program import Program
from rushlight.ir.program import DynamicShapes
from rushlight.passes.base import AnyPass
from rushlight.passes.runner import run_passes


class CallSpec(NamedTuple):
    """The pytree specs of the arguments and of the results of a function."""

    in_spec: Any
    out_spec: Any


class CompileSpec(NamedTuple):
    """A method to export."""

    method_name: str
    callable: Any
    args: Any
    dynamic_shapes: Any


class _Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: object) -> Any:
        return self.function(*args)


class CapturedProgram:
    """An exported program of one method."""

    def __init__(self, exported_program: ExportedProgram) -> None:
        self.exported_program = exported_program

    @property
    def graph_module(self) -> GraphModule:
        """The graph of the program."""
        module: GraphModule = self.exported_program.graph_module
        return module

    def __call__(self, *args: object) -> Any:
        """Runs the program in eager mode."""
        return self.exported_program.module()(*args)

    def transform(self, *passes: AnyPass) -> CapturedProgram:
        """Runs passes, which replace the program. Returns this object."""
        self.exported_program = run_passes(self.exported_program, passes).exported_program
        return self

    def dump(self) -> None:
        """Prints the graph."""
        print(self.graph_module.graph)

    def to_edge(self, config: EdgeCompileConfig | None = None) -> EdgeProgram:
        """Converts the program to an edge program."""
        return EdgeProgram(to_edge(self.exported_program, compile_config=config))

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgram:
        """Raises a RuntimeError, because the program is not an edge program yet."""
        raise RuntimeError("Must run to_edge before to_executorch.")


class EdgeProgram(CapturedProgram):
    """An edge program of one method."""

    def __init__(self, manager: EdgeProgramManager) -> None:
        super().__init__(manager.exported_program())
        self._manager = manager

    def transform(self, *passes: AnyPass) -> EdgeProgram:
        """Runs passes, which replace the program. Returns this object."""
        self._manager = self._manager.transform(passes)
        self.exported_program = self._manager.exported_program()
        return self

    def to_executorch(self, config: ExecutorchBackendConfig | None = None) -> ExecutorchProgram:
        """Makes the program file."""
        return ExecutorchProgram(self._manager.to_executorch(config))


class ExecutorchProgram:
    """A program file with one method. It also has the other attributes of `ExecutorchProgramManager`.

    Attributes:
        exported_program: the program from which the file was made.
    """

    def __init__(self, manager: ExecutorchProgramManager) -> None:
        self._manager = manager
        self.exported_program = manager.exported_program()

    @property
    def program(self) -> Program:
        """The tables of the program file."""
        return self._manager.executorch_program

    @property
    def graph_module(self) -> GraphModule:
        """The graph of the method."""
        module: GraphModule = self.exported_program.graph_module
        return module

    def dump_graph_module(self) -> GraphModule:
        """Returns the graph of the method."""
        return self.graph_module

    def dump_exported_program(self) -> ExportedProgram:
        """Returns `exported_program`."""
        return self.exported_program

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._manager, name)


def capture(
    f: Callable[..., object],
    args: tuple[object, ...],
    config: CaptureConfig | None = None,
    dynamic_shapes: DynamicShapes = None,
) -> CapturedProgram:
    """Exports a module or a function.

    Args:
        f: the module or function.
        args: its example inputs.
        config: the options. Options that torch.export does not support raise an error.
        dynamic_shapes: the dynamic dimensions, in the format of torch.export.

    Returns:
        The exported program.

    Raises:
        ValueError: an option is not supported.
    """
    (config or CaptureConfig()).check(dynamic_shapes)
    module = f if isinstance(f, torch.nn.Module) else _Function(f)
    return CapturedProgram(export(module, args, dynamic_shapes=dynamic_shapes))


@contextmanager
def patch_forward(obj: torch.nn.Module, new_method: Callable[..., Any]) -> Iterator[None]:
    """Replaces the method `forward` of a module within the context, so that another method is exported.

    Args:
        obj: the module.
        new_method: another method of the module, or a function whose first parameter is the module.
    """
    bound = new_method if isinstance(new_method, MethodType) else MethodType(new_method, obj)
    before = obj.__dict__.get("forward")
    obj.forward = bound
    try:
        yield
    finally:
        if before is None:
            del obj.forward
        else:
            obj.forward = before
