"""Facts about a program that later stages need, but that its graph and signature do not contain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import sympy
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Graph, Node

from rushlight.ir import meta
from rushlight.ir.meta import SourceLocation

Relation = tuple[sympy.Expr, "SourceLocation | None"]

_STORED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


@dataclass(frozen=True)
class ProgramFacts:
    """Facts about a method that its graph does not contain.

    Facts refer to stored tensors by their qualified names, as in the signature, because passes may rename
    nodes.

    Attributes:
        relations: sympy relations that the symbols of the method must satisfy. Each has the source line that
            requires it.
        shared_state: the name of the state of each buffer that several methods share.
        constant_files: the data file (without suffix) of each constant that is not in the program file.
        delegate_constant_files: the data file of each constant that a backend stores in a delegate.
        kept_initial_state: mutable buffers whose initial value is always written, even if it is all zeros.
    """

    relations: tuple[Relation, ...] = ()
    shared_state: Mapping[str, str] = field(default_factory=dict)
    constant_files: Mapping[str, str] = field(default_factory=dict)
    delegate_constant_files: Mapping[str, str] = field(default_factory=dict)
    kept_initial_state: frozenset[str] = frozenset()


class MethodProgram(ExportedProgram):
    """An exported program together with its facts."""

    facts: ProgramFacts = ProgramFacts()


def facts_of(program: ExportedProgram) -> ProgramFacts:
    """Returns the facts of a program. A program that the compiler did not make has no facts."""
    return program.facts if isinstance(program, MethodProgram) else ProgramFacts()


def stored_targets(program: ExportedProgram) -> dict[str, str]:
    """Returns the qualified name of each stored tensor by the name of its placeholder."""
    return {
        spec.arg.name: spec.target
        for spec in program.graph_signature.input_specs
        if spec.kind in _STORED and spec.target is not None
    }


def shared_placeholders(program: ExportedProgram) -> dict[str, str]:
    """Returns the name of the shared state by the name of the placeholder that reads it."""
    shared = facts_of(program).shared_state
    if not shared:
        return {}
    return {name: shared[target] for name, target in stored_targets(program).items() if target in shared}


def with_marks(program: ExportedProgram, facts: ProgramFacts) -> ProgramFacts:
    """Adds the marks on placeholders to `facts`. Passes of the user set these marks.

    The marks are read directly after each pass, because a later pass could remove them.
    """
    targets = stored_targets(program)
    files, delegate_files = dict(facts.constant_files), dict(facts.delegate_constant_files)
    kept = set(facts.kept_initial_state)
    for node in program.graph.find_nodes(op="placeholder"):
        target = targets.get(node.name)
        if target is None:
            continue
        if (file := meta.get_constant_tag(node)) is not None:
            files[target] = file
        if (file := meta.get_delegate_constant_tag(node)) is not None:
            delegate_files[target] = file
        if meta.keeps_initial_state(node):
            kept.add(target)
    return replace(
        facts,
        constant_files=files,
        delegate_constant_files=delegate_files,
        kept_initial_state=frozenset(kept),
    )


class FactsOf:
    """The facts of a program before a pass of the user, and the parts of the program to which they refer.

    This object must be created before the pass runs, because a pass may change the program in place.
    """

    def __init__(self, program: ExportedProgram) -> None:
        self.facts = facts_of(program)
        self._symbols = _symbols(program.graph) if self.facts.relations else set()
        self._targets = set(stored_targets(program).values()) if self.facts.shared_state else set()

    def lost_in(self, program: ExportedProgram) -> list[str]:
        """Returns an error text for each fact that `program` has lost."""
        return [*self._lost_relations(program), *self._lost_state(program)]

    def _lost_relations(self, program: ExportedProgram) -> Iterator[str]:
        """Yields an error text for each relation that a pass lost because it replaced symbols of sizes.

        If a symbol disappears and no new symbol appears, its value had no users, and no relation is lost.
        """
        if not self.facts.relations:
            return
        symbols = _symbols(program.graph)
        if symbols <= self._symbols:
            return
        for relation, line in self.facts.relations:
            gone = sorted(str(symbol) for symbol in relation.free_symbols & (self._symbols - symbols))
            if gone:
                where = f" ({line})" if line is not None else ""
                yield f"the run-time check {relation}{where}: no node has the size {', '.join(gone)}"

    def _lost_state(self, program: ExportedProgram) -> Iterator[str]:
        if not self.facts.shared_state:
            return
        for target in sorted(self._targets - set(stored_targets(program).values())):
            if target in self.facts.shared_state:
                yield f"the buffer {target}, which other methods share: the pass removed its input"


def _symbols(graph: Graph) -> set[sympy.Symbol]:
    """Returns the symbols in the values of a graph."""
    found: set[sympy.Symbol] = set()
    for node in graph.nodes:
        for size in _sizes(node):
            if isinstance(size, torch.SymInt):
                found |= size.node.expr.free_symbols
    return found


def _sizes(node: Node) -> tuple[object, ...]:
    value = meta.find_val(node)
    return tuple(value.shape) if isinstance(value, torch.Tensor) else (value,)
