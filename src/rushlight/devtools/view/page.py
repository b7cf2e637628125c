"""Creates a single HTML page that shows a program and needs no network access."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from pathlib import Path

from rushlight.devtools.view.program import MethodGraph
from rushlight.ir.json_types import JsonObject

_FOLDER = Path(__file__).with_name("page")

# dagre computes the layout of the graph; d3 draws. scripts/release/vendor_page.py builds both.
_LIBRARIES = ("dagre", "d3")

# One script in this order: shared state and groups of operators, drawing, graph, charts, tables, start.
_SCRIPTS = ("tree", "draw", "graph", "charts", "tables", "page")


def page(name: str, methods: Sequence[MethodGraph], size: JsonObject, partition: Sequence[JsonObject]) -> str:
    """Returns the HTML page.

    Args:
        name: the name of the program.
        methods: the graphs of the methods.
        size: the sizes of the parts of the program, as `rushlight size --json` prints them.
        partition: the rows of the partition, with method, place, operator, count, module, line and reason.
    """
    data = {
        "file": name,
        "methods": [method.asdict() for method in methods],
        "size": size,
        "partition": list(partition),
    }
    filled = {
        "style": (_FOLDER / "page.css").read_text("utf-8"),
        "data": embedded(data),
        "libraries": "\n".join(_library(name) for name in _LIBRARIES),
        "page": "\n".join((_FOLDER / f"{script}.js").read_text("utf-8") for script in _SCRIPTS),
    }
    parts = (_FOLDER / "page.html").read_text("utf-8").split("{{")
    text = [parts[0]]
    for part in parts[1:]:
        key, rest = part.split("}}", 1)
        text += [filled[key], rest]
    return "".join(text)


def _library(name: str) -> str:
    """Returns the script of a library, with its licences as a comment before it."""
    vendor = _FOLDER / "vendor"
    licence = (vendor / f"{name}.LICENSE").read_text("utf-8")
    script = lzma.decompress((vendor / f"{name}.min.js.xz").read_bytes()).decode()
    return f"/*\n{licence}*/\n{script}"


def embedded(data: object) -> str:
    """Encodes data as JSON for a script element. No data can end the script element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
