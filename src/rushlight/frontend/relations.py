"""Relations between sizes and integers under which a program was exported."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch.export import ExportedProgram

from rushlight.ir import meta
from rushlight.ir.facts import Relation
from rushlight.ir.meta import SourceLocation

_SLOC = re.compile(r"\(?(?P<file>[^()]*):(?P<line>\d+) in (?P<function>\w+)")


def relations_of(program: ExportedProgram) -> tuple[Relation, ...]:
    """Sympy relations over the program's symbols, with the user's line where it is known.

    It is that of the check, or of where the last of the integers is read.

    Bounds of one symbol are not among them: the ranges of the program hold these.
    """
    found: dict[Any, SourceLocation | None] = {}
    # Of an assertion torch keeps where its last integer is read.
    for node in program.graph.nodes:
        if node.target is torch.ops.aten._assert_scalar.default:
            value = meta.get_val(node.args[0]) if isinstance(node.args[0], torch.fx.Node) else None
            if isinstance(value, torch.SymBool):
                found.setdefault(value.node.expr, meta.source_of(node))
    environment = _shape_env(program)
    if environment is not None:
        for guard in environment.guards:
            found.setdefault(guard.expr, _line_of(str(guard.sloc)))
    return tuple((relation, line) for relation, line in found.items() if not _is_bound(relation))


def _shape_env(program: ExportedProgram) -> Any:
    for node in program.graph.nodes:
        value = meta.get_val(node) if meta.has_val(node) else None
        sizes = tuple(value.shape) if isinstance(value, torch.Tensor) else (value,)
        for size in sizes:
            if isinstance(size, torch.SymInt):
                return size.node.shape_env
    return None


def _is_bound(relation: Any) -> bool:
    """Whether it only bounds one symbol, or says what tracing takes for granted of sizes (0 or 1)."""
    if not relation.free_symbols:
        return True
    return len(relation.free_symbols) == 1 and all(
        side.is_Symbol or side.is_Number for side in getattr(relation, "args", ())
    )


def _line_of(text: str) -> SourceLocation | None:
    match = _SLOC.match(text)
    if match is None or match["file"].startswith("_"):
        return None
    return SourceLocation(match["file"], int(match["line"]), match["function"], "")
