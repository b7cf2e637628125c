"""Pass managers with the names that ExecuTorch uses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._export.verifier import Verifier
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult
from torch.fx.passes.infra.pass_manager import PassManager as FxPassManager
from torch.fx.passes.infra.pass_manager import pass_result_wrapper
from typing_extensions import override

from rushlight.passes.base import AnyPass, PassTree
from rushlight.passes.program_pass import ExportedProgramPassBase, ExportedProgramPassResult
from rushlight.passes.rebuild import with_graph_module
from rushlight.passes.runner import check_calls, run_passes

PassType = Callable[[GraphModule], PassResult | None]


class PassManager(FxPassManager):
    """Runs graph passes in order, `steps` times or until nothing changes.

    If a function returns None, the manager assumes that it changed the graph.
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
        """Raises PassError if the graph calls a method or a module, because no dialect allows such calls."""
        if isinstance(module, GraphModule):
            check_calls(module, type(self).__name__)


class ExportedProgramPassManager(ExportedProgramPassBase):
    """Runs passes on an exported program in order: passes over graph modules and over programs.

    Args:
        passes: a pass, a list of passes, or a list of such lists.
        constraints: functions of two passes that return whether the first may run before the second. The
            passes are sorted so that all functions return true.
        run_checks_after_each_pass: run the verifier of the program after each pass, and not only at the end.
        suppress_check_failures: must be False.
        steps: the largest number of runs of the list; it stops earlier if a run changes nothing.
    """

    def __init__(
        self,
        passes: PassTree | None = None,
        constraints: Sequence[Callable[[AnyPass, AnyPass], bool]] | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
        steps: int = 1,
    ) -> None:
        if suppress_check_failures:
            raise ValueError(
                "suppress_check_failures is not supported: a program that fails a check cannot be compiled; "
                "repair the pass that the error names"
            )
        self.passes: list[AnyPass] = flatten(passes)
        self.constraints = list(constraints or ())
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self.steps = steps

    def add_pass(self, item: AnyPass) -> None:
        """Adds a pass at the end."""
        self.passes.append(item)

    def __call__(
        self, exported_program: ExportedProgram, override_verifiers: Sequence[type[Verifier]] | None = None
    ) -> ExportedProgramPassResult:
        """Runs the passes. Graph passes run on the graph module of the program.

        Args:
            exported_program: the program; it is not changed.
            override_verifiers: the verifiers of the result; None means the verifiers of the program.

        Raises:
            PassError: a pass failed one of the checks of `run_passes`.
            RuntimeError: no order of the passes satisfies the constraints.
            SpecViolationError: a verifier rejects the result.
        """
        result = self.call(exported_program)
        if result.modified:
            program = result.exported_program
            program._verifiers = list(override_verifiers or [exported_program.verifier])
            program.validate()
        return result

    @override
    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        program, modified = exported_program, False
        if self.constraints:
            passes: list[Any] = self.passes
            order = FxPassManager(passes=passes, constraints=self.constraints)
            order.solve_constraints()
            self.passes = list(order.passes)
        groups = [[item] for item in self.passes] if self.run_checks_after_each_pass else [self.passes]
        for _ in range(self.steps):
            changed = False
            for group in groups:
                result = run_passes(program, group, owned=modified)
                program = result.exported_program
                changed |= result.modified
                modified |= result.modified
                if result.modified and self.run_checks_after_each_pass:
                    exported_program.verifier()._check_graph_module(program.graph_module)
            if not changed:
                break
        if modified:
            # A graph pass may have replaced an output; the signature needs the new name.
            program = with_graph_module(program, program.graph_module)
        return ExportedProgramPassResult(program, modified)


def _with_result(item: AnyPass) -> Callable[..., Any]:
    return pass_result_wrapper(item) if inspect.isfunction(item) else item


def flatten(passes: PassTree | None) -> list[AnyPass]:
    """Flattens a pass, a list of passes, or nested lists of passes to one list."""
    if passes is None:
        return []
    if callable(passes) and not isinstance(passes, (list, tuple)):
        return [passes]
    result: list[AnyPass] = []
    for item in passes:
        result.extend(flatten(item) if isinstance(item, Sequence) else [item])
    return result
