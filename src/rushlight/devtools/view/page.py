"""Makes a single HTML page that shows a program, without network access."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from pathlib import Path

from rushlight.devtools.view.program import MethodGraph
from rushlight.ir.json_types import JsonObject

_FOLDER = Path(__file__).with_name("page")

# npm packages: cytoscape draws the graph, dagre computes its layout, echarts draws the charts.
_LIBRARIES = ("cytoscape", "cytoscape-dagre", "echarts")


def page(name: str, methods: Sequence[MethodGraph], size: JsonObject, partition: Sequence[JsonObject]) -> str:
    """Returns the page.

    Args:
        name: the name of the program.
        methods: the graphs.
        size: the sizes of the program's parts, as printed by `rushlight size --json`.
        partition: rows with method, place, operator, count, module, line and reason.
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
        "scripts": "\n".join(
            lzma.decompress((_FOLDER / "vendor" / f"{library}.min.js.xz").read_bytes()).decode()
            for library in _LIBRARIES
        ),
        "page": (_FOLDER / "page.js").read_text("utf-8"),
    }
    parts = (_FOLDER / "page.html").read_text("utf-8").split("{{")
    text = [parts[0]]
    for part in parts[1:]:
        key, rest = part.split("}}", 1)
        text += [filled[key], rest]
    return "".join(text)


def embedded(data: object) -> str:
    """Encodes data as JSON that cannot close its script element, whatever the data contains."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
