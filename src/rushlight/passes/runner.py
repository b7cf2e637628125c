"""Runs passes: it checks each pass, names the pass in each error, and prints graphs on request.

The environment variable RUSHLIGHT_PRINT_PASSES lists passes (separated by commas, or `all`) whose graphs are
printed to standard error before and after the pass. With RUSHLIGHT_CHECK_PASSES=1 each pass gets a separate
copy of the program, which it must not change, and its result is verified. Otherwise only user passes are
checked, and the compiler's own passes all rewrite one copy of the program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TypeGuard

from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from rushlight.ir.errors import PassError, VerificationError
from rushlight.ir.facts import FactsOf, MethodProgram, with_marks
from rushlight.ir.fake import complete_values
from rushlight.ir.fingerprint import fingerprint, first_difference
from rushlight.ir.program import copy_program, copy_signature, make_program
from rushlight.ir.progress import counted
from rushlight.ir.text import format_graph
from rushlight.passes.base import AnyPass, ModulePass, Pass, ProgramPass, graph_modules, name_of
from rushlight.passes.program_pass import ExportedProgramPassBase, ExportedProgramPassResult
from rushlight.passes.rebuild import with_graph_module

PRINT = "RUSHLIGHT_PRINT_PASSES"
CHECK = "RUSHLIGHT_CHECK_PASSES"

Verify = Callable[[GraphModule], None]
"""Raises an error if a graph breaks a rule of its dialect."""


def run_passes(
    program: ExportedProgram, passes: Iterable[AnyPass], *, verify: Verify | None = None, owned: bool = False
) -> ExportedProgramPassResult:
    """Runs passes in order.

    Args:
        program: the input of the first pass. It is changed only if a user's pass was constructed with it.
        passes: passes over programs, passes over graph modules, functions that take a graph module and return
            a `PassResult`, and pass managers.
        verify: checks a graph against its dialect; called after each pass if RUSHLIGHT_CHECK_PASSES is set.
        owned: `program` has no other user, so that it may be rewritten without a copy.

    Returns:
        The last program, and whether any pass changed it; if none did, the given program itself.

    Raises:
        PassError: a pass returned a wrong type, made an invalid graph, changed its argument, or lost a fact
            that later stages need.
    """
    runner = _Runner(program, verify, owned)
    for item in counted("run passes", list(passes)):
        runner.run(item)
    return ExportedProgramPassResult(runner.program if runner.modified else program, runner.modified)


class _Runner:
    """The program between two passes; `owned` is True if passes may rewrite the program."""

    def __init__(self, program: ExportedProgram, verify: Verify | None, owned: bool) -> None:
        self.program = program
        self.modified = False
        self._owned = owned
        self._verify = verify
        self._thorough = os.environ.get(CHECK, "") not in ("", "0")
        self._printed = {name.strip() for name in os.environ.get(PRINT, "").split(",")} - {""}

    def run(self, item: AnyPass) -> None:
        """Runs one pass."""
        name = name_of(item)
        prints = not self._printed.isdisjoint((name, "all"))
        if prints:
            self._print(f"before {name}")
        if not _is_ours(item):
            modified = self._run_users(item, name)
        elif self._thorough:
            modified = self._run_checked(item, name)
        else:
            modified = self._run_ours(item)
        self.modified |= modified
        if prints:
            self._print(f"after {name}: {'modified' if modified else 'not modified'}")

    def _own(self) -> ExportedProgram:
        """Returns a program that a pass may rewrite; it is copied if necessary."""
        if not self._owned:
            self.program, self._owned = copy_program(self.program), True
        return self.program

    def _run_ours(self, item: ModulePass | Pass) -> bool:
        """Runs a pass of the compiler in place, without the copy that the pass would make."""
        if isinstance(item, ProgramPass):
            program = self._own()
            assert isinstance(program, MethodProgram)
            return item.rewrite_all(program)
        if isinstance(item, ModulePass):
            return item.rewrite_all(self._own().graph_module)
        return self._take(item(self.program))

    def _run_checked(self, item: ModulePass | Pass, name: str) -> bool:
        """Runs a pass of the compiler on a program that the pass must not change, and checks the result."""
        given = self.program
        before = fingerprint(given)
        if isinstance(item, ModulePass):
            result = item.call(given.graph_module)
            modified = bool(result.modified)
            if result.graph_module is not given.graph_module:
                self.program, self._owned = with_graph_module(given, result.graph_module), True
        else:
            modified = self._take(item(given))
        difference = first_difference(before, fingerprint(given))
        if difference is not None:
            raise PassError(f"{name} changed the program that it was given: {difference}")
        if modified != (self.program is not given):
            raise PassError(f"{name} returned modified={modified}, which does not fit its result")
        if modified:
            self._check_graphs(name)
            self._verify_after(name)
        return modified

    def _run_users(self, item: AnyPass, name: str) -> bool:
        """Runs a user's pass on a copy, and checks that facts for later stages are kept.

        A pass that was constructed with the program runs on that program, because it must see the same graph.
        """
        held = any(value is self.program for value in getattr(item, "__dict__", {}).values())
        program = self.program if held else self._own()
        known, before = FactsOf(program), fingerprint(program)
        if isinstance(item, ExportedProgramPassBase):
            modified = self._take(item(program))
        else:
            modified = self._run_on_graph(item, name, program)
        # A user's pass may change the program in place and return modified=False.
        if modified or first_difference(before, fingerprint(self.program)) is not None:
            self._check_graphs(name)
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
            raise PassError(f"{name} returned None; a pass returns PassResult(graph_module, modified)")
        if result.modified or result.graph_module is not module:
            check_calls(result.graph_module, name)
            self.program = with_graph_module(program, result.graph_module)
        return bool(result.modified)

    def _take(self, result: ExportedProgramPassResult) -> bool:
        if result.exported_program is not self.program:
            self.program, self._owned = result.exported_program, True
        return bool(result.modified)

    def _keep_facts(self, known: FactsOf, name: str) -> bool:
        """Copies the facts to the program that a pass returned; returns whether there are new facts."""
        lost = known.lost_in(self.program)
        if lost:
            raise PassError(f"{name} lost what later stages need: {'; '.join(lost)}")
        program = self.program
        if not isinstance(program, MethodProgram):
            program = make_program(
                program, program.graph_module, program.graph, copy_signature(program.graph_signature)
            )
        program.facts = with_marks(program, known.facts)
        self.program = program
        return program.facts != known.facts

    def _check_graphs(self, name: str) -> None:
        for module in graph_modules(self.program.graph_module):
            try:
                module.graph.lint()
            except RuntimeError as error:
                raise PassError(f"{name} made an invalid graph: {error}") from error

    def _verify_after(self, name: str) -> None:
        if self._verify is None:
            return
        try:
            self._verify(self.program.graph_module)
        except VerificationError as error:
            raise PassError(f"{name} made a graph that breaks the rules of its dialect:\n{error}") from error

    def _print(self, what: str) -> None:
        print(f"== {what}\n{format_graph(self.program.graph_module)}", file=sys.stderr)


def _is_ours(item: AnyPass) -> TypeGuard[ModulePass | Pass]:
    """Whether a pass keeps the contract, because its `call` method is one of those in `base.py`."""
    if isinstance(item, ModulePass):
        return type(item).call is ModulePass.call
    return isinstance(item, Pass)


def check_calls(module: GraphModule, name: str) -> None:
    """Raises PassError, for the pass `name`, where a graph calls a method or a module."""
    for node in module.graph.nodes:
        if node.op in ("call_method", "call_module"):
            raise PassError(f"{name}: {node.name} is a {node.op} of {node.target}, which no dialect has")
