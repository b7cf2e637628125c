"""Tables as text."""

from __future__ import annotations

from collections.abc import Sequence


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns lines with aligned columns, numbers to the right; empty columns are left out."""
    kept = [i for i in range(len(header)) if not rows or any(row[i] for row in rows)]
    cells = [[row[i] for i in kept] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(kept))]
    right = [all(_is_number(row[i]) for row in cells[1:]) and len(cells) > 1 for i in range(len(kept))]
    lines = [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _is_number(cell: str) -> bool:
    return not cell or cell.replace(".", "").replace("-", "").replace("e", "").replace("+", "").isdigit()
