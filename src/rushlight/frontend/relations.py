"""Relations between symbolic sizes that were assumed when a program was exported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeGuard, cast

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx import Node
from torch.utils._sympy.functions import Mod, PythonMod
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from rushlight.ir import meta
from rushlight.ir.facts import Relation
from rushlight.ir.fingerprint import shape_env_of
from rushlight.ir.meta import SourceLocation
from rushlight.ir.sym import Ranges

_aten = torch.ops.aten
_END = 2**63 - 1
"""The value that torch uses for the end of a slice that extends to the end of the dim."""
# Torch asks for the layout of tensors when it loads a program, and records the answers as guards.
_LAYOUT = re.compile(r"_prims_common/__init__\.py:\d+ in \w*(strides|contiguous|channels_last)")
_SLOC = re.compile(r"\(?(?P<file>[^()]*):(?P<line>\d+) in (?P<function>\w+)")


def relations_of(program: ExportedProgram) -> tuple[Relation, ...]:
    """Returns the relations between the program's symbols, with the user's source line if it is known.

    The line is that of the check, or that of the last read of an integer in the relation.

    Bounds of a single symbol are left out, because the program's ranges contain them. There is one exception:
    lower bounds that a slice or a diagonal of static size needs. During tracing torch assumes that each
    dynamic size is at least 2, whatever its range is.
    """
    found: dict[sympy.Expr, SourceLocation | None] = {}
    # For an assertion, torch records the line on which the last of its integers is read.
    for node in program.graph.nodes:
        if node.target is torch.ops.aten._assert_scalar.default:
            value = meta.get_val(node.args[0]) if isinstance(node.args[0], torch.fx.Node) else None
            if isinstance(value, torch.SymBool):
                found.setdefault(value.node.expr, meta.source_of(node))
    environment = shape_env_of(program)
    if environment is not None:
        for guard in environment.guards:
            line = _line_of(str(guard.sloc))
            is_torchs = _LAYOUT.search(str(guard.sloc)) or (
                line is None and _holds_from_two(guard.expr, program.range_constraints)
            )
            if not is_torchs:
                found.setdefault(guard.expr, line)
    relations = {relation: line for relation, line in found.items() if not _is_bound(relation)}
    for node in program.graph.nodes:
        for size, least in _least_sizes(node, program.range_constraints):
            relations.setdefault(sympy.Ge(size, least, evaluate=False), meta.source_of(node))
    return tuple(relations.items())


def _least_sizes(node: Node, ranges: Ranges) -> Iterator[tuple[sympy.Expr, int]]:
    """Yields (size, minimum) for dynamic sizes that a slice or a diagonal of static size needs.

    A size is left out if its range already has this minimum.
    """
    if node.target not in (_aten.slice.Tensor, _aten.diagonal.default):
        return
    shape, part = meta.get_val(cast(Node, node.args[0])).shape, meta.get_val(node).shape
    names = [argument.name for argument in node.target._schema.arguments]
    arguments: dict[str, Any] = {**dict(zip(names, node.args, strict=False)), **node.kwargs}
    if node.target is _aten.slice.Tensor:
        dim = arguments.get("dim", 0)
        length = part[dim]
        least = {dim: _least_sliced(arguments, length)} if _static(length) else {}
    else:
        offset, length = arguments.get("offset", 0), part[-1]
        rows, columns = arguments.get("dim1", 0), arguments.get("dim2", 1)
        least = {rows: length - min(offset, 0), columns: length + max(offset, 0)} if _static(length) else {}
    if not _static(length) or length == 0:
        return
    for dim, bound in least.items():
        size = shape[dim]
        if not _static(size) and bound_sympy(size.node.expr, ranges).lower < bound:
            yield size.node.expr, bound


def _least_sliced(arguments: dict[str, Any], length: int) -> int:
    """Returns the smallest size of the dim for which the slice has its full length."""
    start, end, step = arguments.get("start") or 0, arguments.get("end"), arguments.get("step", 1)
    least = -start if _static(start) and start < 0 else 0
    if not _static(end) or end >= _END:
        return least
    # The last step may end before `end`.
    is_counted = _static(start) and start >= 0 and _static(step)
    return min(end, start + (length - 1) * step + 1) if is_counted else max(least, end)


def _static(number: object) -> TypeGuard[int]:
    return isinstance(number, int)


def _holds_from_two(relation: sympy.Basic, ranges: Ranges) -> bool:
    """Whether a relation is proved for all sizes in their ranges that are at least 2.

    Torch records such guards when it decomposes a program. They state only what torch assumes of each size.
    """
    if isinstance(relation, sympy.Ne):
        difference = _without_mod(relation.lhs, ranges) - _without_mod(relation.rhs, ranges)
        return _is_at_least(1, difference, ranges) or _is_at_least(1, -difference, ranges)
    if not isinstance(relation, sympy.Lt | sympy.Le | sympy.Gt | sympy.Ge):
        return False
    least = 0 if isinstance(relation, sympy.Ge | sympy.Le) else 1
    return _is_at_least(least, relation.gts - relation.lts, ranges)


def _without_mod(expression: sympy.Expr, ranges: Ranges) -> sympy.Expr:
    """Returns x for x % y if 0 <= x < y, and other expressions as they are."""
    if isinstance(expression, Mod | PythonMod):
        value, divisor = expression.args
        if _is_at_least(0, value, ranges) and _is_at_least(1, divisor - value, ranges):
            return value
    return expression


def _is_at_least(least: int, expression: sympy.Expr, ranges: Ranges) -> bool:
    """Whether it is proved that an expression is at least `least` for all sizes that are at least 2."""
    symbols = sorted(expression.free_symbols, key=str)
    uppers = {s: ranges[s].upper if s in ranges else int_oo for s in symbols}
    bounds = bound_sympy(expression, {s: ValueRanges(2, max(2, upper)) for s, upper in uppers.items()})
    if bounds.lower >= least:
        return True
    # In terms of the sizes minus 2, no coefficient may be negative.
    shifted = sympy.expand(expression.subs({s: s + 2 for s in symbols}, simultaneous=True))
    if not symbols or not shifted.is_polynomial(*symbols):
        return False
    lowest = shifted.subs(dict.fromkeys(symbols, 0))
    return bool(lowest >= least and all(number >= 0 for number in sympy.Poly(shifted, *symbols).coeffs()))


def _is_bound(relation: sympy.Expr) -> bool:
    """Whether a relation has no symbols, or only bounds a single symbol."""
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
