"""Tables for terminals."""

from __future__ import annotations

from collections.abc import Sequence, Set


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Set[int] = frozenset()) -> str:
    """Formats a table for a terminal.

    Args:
        head: the titles of the columns.
        rows: the cells.
        right: the indices of right-aligned columns.
    """
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(cells)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(head), line(["-" * width for width in widths]), *map(line, rows)])
