"""Compares the times of two ETDumps, and finds the operators that became slower."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushlight.ir.text_table import text_table

if TYPE_CHECKING:
    from rushlight.devtools.inspector.inspector import Inspector


@dataclass(frozen=True)
class Change:
    """An operator or delegate step in two dumps.

    Attributes:
        name: the operators that the step computes, or the name of the event.
        module: the module path; "" if it is unknown.
        line: the source line of the model; "" if it is unknown.
        before, after: the sum of the median times in each dump; 0 if the dump does not have the operator.
        before_calls, after_calls: the number of events in each dump with this name, module and line.
    """

    name: str
    module: str
    line: str
    before: float
    after: float
    before_calls: int
    after_calls: int

    @property
    def difference(self) -> float:
        """The time in the second dump minus the time in the first dump."""
        return self.after - self.before

    @property
    def ratio(self) -> float:
        """The time in the second dump divided by the time in the first; infinite if the latter is 0."""
        return self.after / self.before if self.before else float("inf")


def what_got_slower(before: Inspector, after: Inspector) -> list[Change]:
    """Returns the operators and delegate steps of two dumps, ordered by the increase of their time.

    Args:
        before, after: the inspectors of two dumps, with the same unit of time. If both have ETRecords,
            operators are matched by name, module and source line, so that the programs may differ.

    Raises:
        ValueError: the inspectors have different units of time.
    """
    if before._target is not after._target:
        raise ValueError(
            f"the inspectors have times in {before._target.value} and in {after._target.value}; use one "
            "unit for both"
        )
    first, second = _totals(before), _totals(after)
    changes = []
    for key in dict.fromkeys((*first, *second)):
        (old, old_calls), (new, new_calls) = first.get(key, (0.0, 0)), second.get(key, (0.0, 0))
        changes.append(Change(*key, old, new, old_calls, new_calls))
    return sorted(changes, key=lambda change: -change.difference)


def change_table(changes: Iterable[Change], unit: str = "ms") -> str:
    """Returns a table of changes as text.

    Args:
        changes: the changes, one for each row.
        unit: the unit of the times, for the header. Times are not converted.

    Returns:
        A header and the rows, with the times before and after, their difference and their ratio.
    """
    rows = [
        [
            c.name,
            f"{c.before:.5g}",
            f"{c.after:.5g}",
            f"{c.difference:+.5g}",
            f"{c.ratio:.2f}",
            c.module,
            c.line,
        ]
        for c in changes
    ]
    header = ["operator", f"before ({unit})", f"after ({unit})", "difference", "ratio", "module", "line"]
    return text_table(header, rows)


_Key = tuple[str, str, str]


def _totals(inspector: Inspector) -> dict[_Key, tuple[float, int]]:
    found: dict[_Key, tuple[float, int]] = {}
    events = ((event, block.share) for block in inspector.event_blocks for event in block.events)
    for event, share in events:
        if event.perf_data is None or event.is_framework:
            continue
        modules, lines = event.module_paths, event.lines
        name = ", ".join(dict.fromkeys(event.op_types)) or event.step_name or event.name
        key = (name, modules[-1] if modules else "", lines[-1] if lines else "")
        time, calls = found.get(key, (0.0, 0))
        found[key] = (time + event.perf_data.p50 * share, calls + 1)
    return found
