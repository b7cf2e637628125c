"""Formats tables for terminals."""

from __future__ import annotations

from collections.abc import Sequence, Set


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Set[int] | None = None) -> str:
    """Formats a table for a terminal. Columns with only empty cells are omitted.

    Args:
        head: the titles of the columns.
        rows: the cells of each row.
        right: the indices of right-aligned columns; None means all columns in which every cell is a number.

    Returns:
        The lines of the table: the titles, a line of dashes, and the rows.
    """
    kept = [i for i in range(len(head)) if not rows or any(row[i] for row in rows)]
    widths = {i: max(len(row[i]) for row in (head, *rows)) for i in kept}
    if right is None:
        right = {i for i in kept if rows and all(_is_number(row[i]) for row in rows)}

    def line(cells: Sequence[str]) -> str:
        padded = [cells[i].rjust(widths[i]) if i in right else cells[i].ljust(widths[i]) for i in kept]
        return "  ".join(padded).rstrip()

    dashes = "  ".join("-" * widths[i] for i in kept)
    return "\n".join([line(head), dashes, *map(line, rows)])


def _is_number(cell: str) -> bool:
    return not cell or cell.replace(".", "").replace("-", "").replace("e", "").replace("+", "").isdigit()
