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


def grid_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Formats a table with a frame, whose first column is the number of the row, from 0.

    Args:
        head: the titles of the columns.
        rows: the cells of each row. Numbers are right-aligned, and so are the titles above them.

    Returns:
        The lines of the table.
    """
    numbered = [(str(i), *row) for i, row in enumerate(rows)]
    titles = ["", *head]
    right = {0, *(i for row in numbered for i, cell in enumerate(row) if isinstance(cell, int))}
    # A title has at least two spaces beside it.
    widths = [
        max(len(title) + 2, *(len(str(row[i])) for row in numbered), 0) for i, title in enumerate(titles)
    ]

    def line(cells: Sequence[object]) -> str:
        padded = (
            str(cell).rjust(width) if i in right else str(cell).ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return f"│ {' │ '.join(padded)} │"

    def rule(left: str, fill: str, cross: str, end: str) -> str:
        return left + cross.join(fill * (width + 2) for width in widths) + end

    between = f"\n{rule('├', '─', '┼', '┤')}\n"
    return "\n".join(
        [
            rule("╒", "═", "╤", "╕"),
            line(titles),
            rule("╞", "═", "╪", "╡"),
            between.join(map(line, numbered)),
            rule("╘", "═", "╧", "╛"),
        ]
    )
