"""Bar charts in SVG, and HTML pages that need no other file."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

_COLORS = ("#3b6ea5", "#e39b3b")
_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em }
table { border-collapse: collapse }
th, td { padding: .25em .8em; text-align: left; border-bottom: 1px solid #ddd; white-space: nowrap }
td { font-variant-numeric: tabular-nums } .number { text-align: right }
div { overflow-x: auto } svg { max-width: 100%; height: auto }
pre { background: #f5f5f5; padding: .8em; white-space: pre-wrap }
svg text { font: 12px system-ui, sans-serif }
"""


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        head: the titles of the columns.
        rows: the cells of each row.
        right: the indices of right-aligned columns.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Set[int] = frozenset()


Sections = Sequence[tuple[str, str | Table]]
"""Pairs of a heading and its content: HTML or a table."""


def bars(
    labels: Sequence[str], series: Mapping[str, Sequence[float]], unit: str, *, line: float | None = None
) -> str:
    """Draws horizontal bars as SVG. An infinite value has a bar of full width; minus infinity has no bar.

    Args:
        labels: the labels of the groups of bars.
        series: for each name, one value for each label.
        unit: the unit of the values.
        line: a value at which a vertical line is drawn, or None.
    """
    finite = [value for values in series.values() for value in values if math.isfinite(value)]
    top = max([1.0, *finite, *([line] if line is not None else [])]) * 1.08
    left, width, bar = 8 + 7 * max((len(label) for label in labels), default=0), 620, 12
    step = bar * len(series) + 8
    height = 58 + step * len(labels)
    size = f'width="{left + width + 80}" height="{height}" viewBox="0 0 {left + width + 80} {height}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>']

    def x(value: float) -> float:
        if math.isinf(value):
            return float(width) if value > 0 else 0.0
        return width * max(0.0, value) / top

    at = left
    for index, name in enumerate(series):
        parts.append(f'<rect x="{at}" y="8" width="12" height="12" fill="{_COLORS[index % 2]}"/>')
        parts.append(f'<text x="{at + 18}" y="18">{html.escape(name)}</text>')
        at += 44 + 7 * len(name)
    parts.append(f'<text x="{left}" y="{height - 6}" fill="#777">{html.escape(unit)}</text>')
    for row, label in enumerate(labels):
        y = 30 + row * step
        middle = y + bar * len(series) / 2 + 4
        parts.append(f'<text x="{left - 6}" y="{middle}" text-anchor="end">{html.escape(label)}</text>')
        for index, values in enumerate(series.values()):
            value = values[row]
            color = _COLORS[index % 2]
            at = y + bar * index
            parts.append(
                f'<rect x="{left}" y="{at}" width="{x(value):.1f}" height="{bar - 1}" fill="{color}"/>'
            )
            shown = f"{value:.1f}" if math.isfinite(value) else "exact" if value > 0 else "broken"
            parts.append(f'<text x="{left + x(value) + 4:.1f}" y="{at + 10}" fill="#777">{shown}</text>')
    if line is not None:
        at_x = left + x(line)
        parts.append(
            f'<line x1="{at_x:.1f}" x2="{at_x:.1f}" y1="26" y2="{height - 24}" stroke="#c33" '
            'stroke-dasharray="4 3"/>'
        )
    return "".join([*parts, "</svg>"])


def page(title: str, sections: Sections) -> str:
    """Returns an HTML page without external files.

    A section without heading continues the previous section.
    """
    body = [f"<h1>{html.escape(title)}</h1>"]
    for heading, content in sections:
        if heading:
            body.append(f"<h2>{html.escape(heading)}</h2>")
        body.append(content if isinstance(content, str) else _table(content))
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style><body>{''.join(body)}</body></html>\n"
    )


def _table(table: Table) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        kinds = [' class="number"' if i in table.right else "" for i in range(len(cells))]
        filled = (f"<{tag}{k}>{html.escape(cell)}</{tag}>" for k, cell in zip(kinds, cells, strict=True))
        return f"<tr>{''.join(filled)}</tr>"

    rows = "".join(line("td", row) for row in table.rows)
    return f"<div><table>{line('th', table.head)}{rows}</table></div>"
