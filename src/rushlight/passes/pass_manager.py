"""Pass managers under the names that users of the field write."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult
from torch.fx.passes.infra.pass_manager import PassManager as FxPassManager
from torch.fx.passes.infra.pass_manager import pass_result_wrapper

from rushlight.ir.errors import PassError
from rushlight.passes.program_pass import ExportedProgramPassBase, ExportedProgramPassResult
from rushlight.passes.rebuild import with_graph_module

PassType = Callable[[GraphModule], PassResult | None]


class PassManager(FxPassManager):
    """Runs graph passes in order, `steps` times or until nothing changes.

    A function that returns nothing counts as having changed the graph.
    """

    def __init__(
        self,
        passes: PassType | list[PassType] | list[list[PassType]] | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
        steps: int = 1,
    ) -> None:
        super().__init__(
            passes=[_with_result(item) for item in flatten(passes)],
            run_checks_after_each_pass=run_checks_after_each_pass,
            suppress_check_failures=suppress_check_failures,
            steps=steps,
        )

    def check(self, module: torch.nn.Module) -> None:
        """Raises PassError for a node that no dialect has: a call of a method or of a module."""
        if isinstance(module, GraphModule):
            _check_calls(module)


class ExportedProgramPassManager:
    """Runs passes over a program: those over graph modules and those over exported programs, in order."""

    def __init__(
        self,
        passes: Any = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
        steps: int = 1,
    ) -> None:
        self.passes: list[Any] = flatten(passes)
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self.steps = steps

    def add_pass(self, item: Any) -> None:
        self.passes.append(item)

    def __call__(
        self, exported_program: ExportedProgram, override_verifiers: Any = None
    ) -> ExportedProgramPassResult:
        """Runs the passes; graph passes act on the program's graph module."""
        program = exported_program
        modified = False
        for _ in range(self.steps):
            changed = False
            for item in self.passes:
                program, one = _run(item, program, override_verifiers)
                changed |= one
            modified |= changed
            if not changed:
                break
        return ExportedProgramPassResult(program, modified)


def _run(item: Any, program: ExportedProgram, verifiers: Any) -> tuple[ExportedProgram, bool]:
    if isinstance(item, ExportedProgramPassBase):
        result = item(program)
        return result.exported_program, result.modified
    if isinstance(item, ExportedProgramPassManager):
        nested = item(program, verifiers)
        return nested.exported_program, nested.modified
    set_program = getattr(item, "set_exported_program", None)
    if callable(set_program):
        set_program(program)
    graph_result = item(program.graph_module)
    if graph_result is None:
        raise PassError(
            f"pass {getattr(item, '__name__', type(item).__name__)} returned None, not a PassResult"
        )
    if not graph_result.modified:
        return program, False
    _check_calls(graph_result.graph_module)
    return with_graph_module(program, graph_result.graph_module, verifiers), True


def _check_calls(module: GraphModule) -> None:
    for node in module.graph.nodes:
        if node.op in ("call_method", "call_module"):
            raise PassError(f"{node.name} is a {node.op} of {node.target}, which no dialect has")


def _with_result(item: Any) -> Any:
    return pass_result_wrapper(item) if inspect.isfunction(item) else item


def flatten(passes: Any) -> list[Any]:
    """One list of passes from a pass, a list, or a list of lists."""
    if passes is None:
        return []
    if callable(passes) and not isinstance(passes, (list, tuple)):
        return [passes]
    result: list[Any] = []
    for item in passes:
        result.extend(flatten(item) if isinstance(item, (list, tuple)) else [item])
    return result
