"""Runs passes, checks their results, names the pass in each error, and prints graphs on request.

Each result is checked: its graphs are valid, and follow the rules of their dialect. All passes of the
compiler rewrite the same copy of the program. With RUSHLIGHT_CHECK_PASSES=1, each of them gets a separate
copy instead, which it must not change. The environment variable RUSHLIGHT_PRINT_PASSES is a list of pass
names (separated by commas) or `all`. The graphs before and after these passes are printed to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TypeGuard

from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from rushlight.ir.errors import CompileError, PassError, VerificationError
from rushlight.ir.facts import FactsOf, MethodProgram, with_marks
from rushlight.ir.fake import complete_values
from rushlight.ir.fingerprint import fingerprint, first_difference
from rushlight.ir.program import copy_program, copy_signature, make_program
from rushlight.ir.progress import counted
from rushlight.ir.text import format_graph
from rushlight.ir.verifier import stands_for_executorch
from rushlight.passes.base import AnyPass, ModulePass, Pass, ProgramPass, graph_modules, name_of
from rushlight.passes.program_pass import ExportedProgramPassBase, ExportedProgramPassResult
from rushlight.passes.rebuild import with_graph_module

PRINT = "RUSHLIGHT_PRINT_PASSES"
CHECK = "RUSHLIGHT_CHECK_PASSES"

Verify = Callable[[GraphModule], None]
"""Raises an error if a graph violates a rule of its dialect."""


def run_passes(
    program: ExportedProgram, passes: Iterable[AnyPass], *, verify: Verify | None = None, owned: bool = False
) -> ExportedProgramPassResult:
    """Runs passes in order.

    Args:
        program: the input of the first pass. It is not changed, except by a pass of the user that was
            constructed with it.
        passes: passes over programs, passes over graph modules, functions that take a graph module and return
            a `PassResult`, and pass managers.
        verify: checks a graph against its dialect; called after each pass that changed the program.
        owned: whether `program` may be changed in place, because the caller does not use it later.

    Returns:
        The result of the last pass, and whether a pass changed the program. Without changes, it is `program`.

    Raises:
        PassError: a pass returned a wrong type, made an invalid graph, changed its argument, or removed
            information that later stages need.
    """
    runner = _Runner(program, verify, owned)
    for item in counted("run passes", list(passes)):
        runner.run(item)
    return ExportedProgramPassResult(runner.program if runner.modified else program, runner.modified)


class _Runner:
    """The current program. `owned` is True if passes may change it in place."""

    def __init__(self, program: ExportedProgram, verify: Verify | None, owned: bool) -> None:
        self.program = program
        self.modified = False
        self._owned = owned
        self._verify = verify
        self._thorough = os.environ.get(CHECK, "") not in ("", "0")
        self._printed = {name.strip() for name in os.environ.get(PRINT, "").split(",")} - {""}
        self._finished: list[str] = []  # the names of the user's passes

    def run(self, item: AnyPass) -> None:
        """Runs one pass."""
        name = name_of(item)
        prints = not self._printed.isdisjoint((name, "all"))
        if prints:
            self._print(f"before {name}")
        if not _is_compiler_pass(item):
            modified = self._run_named_pass(item, name)
        elif self._thorough:
            modified = self._run_checked(item, name)
        else:
            modified = self._run_compiler_pass(item)
        if modified:
            self._check_graphs(name)
        self.modified |= modified
        if prints:
            self._print(f"after {name}: {'modified' if modified else 'not modified'}")

    def _owned_program(self) -> ExportedProgram:
        """Returns a program that a pass may change in place. The program is copied if necessary."""
        if not self._owned:
            self.program, self._owned = copy_program(self.program), True
        return self.program

    def _run_compiler_pass(self, item: ModulePass | Pass) -> bool:
        """Runs a pass of the compiler in place, so that the pass does not copy the program."""
        if isinstance(item, ProgramPass):
            program = self._owned_program()
            assert isinstance(program, MethodProgram)
            return item.rewrite_all(program)
        if isinstance(item, ModulePass):
            return item.rewrite_all(self._owned_program().graph_module)
        return self._accept_result(item(self.program))

    def _run_checked(self, item: ModulePass | Pass, name: str) -> bool:
        """Runs a pass of the compiler, and checks that it did not change its argument."""
        given = self.program
        before = fingerprint(given)
        if isinstance(item, ModulePass):
            result = item.call(given.graph_module)
            modified = bool(result.modified)
            if result.graph_module is not given.graph_module:
                self.program, self._owned = with_graph_module(given, result.graph_module), True
        else:
            modified = self._accept_result(item(given))
        difference = first_difference(before, fingerprint(given))
        if difference is not None:
            raise PassError(f"{name} changed the program that it was given: {difference}")
        if modified != (self.program is not given):
            shown = "its argument" if modified else "another program"
            raise PassError(f"{name} returned modified={modified}, but its result is {shown}")
        return modified

    def _run_named_pass(self, item: AnyPass, name: str) -> bool:
        """Runs a pass of the user. An error that does not name the pass becomes a PassError that does."""
        try:
            modified = self._run_user_pass(item, name)
        except Exception as error:
            if isinstance(error, CompileError) and name in str(error):
                raise
            earlier = f" (it ran after {', '.join(self._finished)})" if self._finished else ""
            raise PassError(f"{name} raised {type(error).__name__}: {error}{earlier}") from error
        self._finished.append(name)
        return modified

    def _run_user_pass(self, item: AnyPass, name: str) -> bool:
        """Runs a pass of the user on a copy, and checks that the result keeps the facts for later stages.

        A pass that was constructed with the program runs on this program, because it refers to its graph.
        """
        held = any(value is self.program for value in getattr(item, "__dict__", {}).values())
        program = self.program if held else self._owned_program()
        known, before = FactsOf(program), fingerprint(program)
        if isinstance(item, ExportedProgramPassBase):
            modified = self._accept_result(item(program))
        else:
            modified = self._run_on_graph(item, name, program)
        # A pass of the user may change the program in place and nevertheless return modified=False.
        if modified or first_difference(before, fingerprint(self.program)) is not None:
            self._lint(name)
            for module in graph_modules(self.program.graph_module):
                complete_values(module)
            modified = True
        return self._keep_facts(known, name) or modified

    def _run_on_graph(
        self, item: PassBase | Callable[[GraphModule], PassResult | None], name: str, program: ExportedProgram
    ) -> bool:
        set_program = getattr(item, "set_exported_program", None)
        if callable(set_program):
            set_program(program)
        module = program.graph_module
        result = item(module)
        if result is None:
            if not stands_for_executorch():
                raise PassError(
                    f"{name} returned None; a pass must return PassResult(graph_module, modified)"
                )
            return False  # ExecuTorch accepts a pass that changes its argument and returns nothing
        if result.modified or result.graph_module is not module:
            check_calls(result.graph_module, name)
            self.program = with_graph_module(program, result.graph_module)
        return bool(result.modified)

    def _accept_result(self, result: ExportedProgramPassResult) -> bool:
        if result.exported_program is not self.program:
            self.program, self._owned = result.exported_program, True
        return bool(result.modified)

    def _keep_facts(self, known: FactsOf, name: str) -> bool:
        """Copies the facts to the result of a pass. Returns whether there are new facts."""
        lost = known.lost_in(self.program)
        if lost:
            raise PassError(f"{name} removed information that later stages need: {'; '.join(lost)}")
        program = self.program
        if not isinstance(program, MethodProgram):
            program = make_program(
                program, program.graph_module, program.graph, copy_signature(program.graph_signature)
            )
        program.facts = with_marks(program, known.facts)
        self.program = program
        return program.facts != known.facts

    def _check_graphs(self, name: str) -> None:
        """Raises PassError with the name of the pass if a graph is invalid or violates its dialect."""
        self._lint(name)
        if self._verify is None:
            return
        try:
            self._verify(self.program.graph_module)
        except VerificationError as error:
            raise PassError(
                f"{name} made a graph that violates the rules of its dialect:\n{error}"
            ) from error

    def _lint(self, name: str) -> None:
        for module in graph_modules(self.program.graph_module):
            try:
                module.graph.lint()
            except RuntimeError as error:
                raise PassError(f"{name} made an invalid graph: {error}") from error

    def _print(self, what: str) -> None:
        print(f"== {what}\n{format_graph(self.program.graph_module)}", file=sys.stderr)


def _is_compiler_pass(item: AnyPass) -> TypeGuard[ModulePass | Pass]:
    """Returns whether a pass uses a `call` method of `base.py`, which does not change its argument."""
    if isinstance(item, ModulePass):
        return type(item).call is ModulePass.call
    return isinstance(item, Pass)


def check_calls(module: GraphModule, name: str) -> None:
    """Raises PassError with the name of the pass if a graph calls a method or a module."""
    for node in module.graph.nodes:
        if node.op in ("call_method", "call_module"):
            raise PassError(f"{name}: {node.name} is a {node.op} of {node.target}, which no dialect allows")
