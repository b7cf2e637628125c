"""Shows .pte files in Model Explorer (the package ai-edge-model-explorer, `rushlight[model-explorer]`).

`model-explorer --extensions=rushlight.devtools.model_explorer net.pte` shows the graph of each method.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushlight.devtools.view.program import MethodGraph, OpNode, method_graphs
from rushlight.format.pte import read_pte_file

if TYPE_CHECKING:
    _Base: Any = object
else:
    try:
        from model_explorer import Adapter as _Base
    except ImportError:  # without Model Explorer, this module can be imported, but not used
        _Base = object


def _metadata() -> Any:
    try:
        from model_explorer import AdapterMetadata
    except ImportError:
        return None
    return AdapterMetadata(
        id="rushlight",
        name="Rushlight",
        description="Shows the methods of .pte files, with the steps inside delegates.",
        fileExts=["pte"],
    )


class RushlightAdapter(_Base):  # type: ignore[misc]
    """Converts the methods of a program to graphs of Model Explorer.

    If a file with the same name and the ending .etrecord is next to the program, it provides modules and
    source lines.
    """

    metadata = _metadata()

    def convert(self, model_path: str, settings: Mapping[str, object]) -> dict[str, Any]:
        """Returns the graphs of the methods of a program.

        Args:
            model_path: the path of a .pte file.
            settings: Model Explorer's settings, which are ignored.

        Raises:
            FormatError: the program is damaged.
            DevtoolsError: the ETRecord is damaged, or belongs to another program.
        """
        from rushlight.devtools.etrecord.saved import parse_etrecord_of

        path = Path(model_path)
        file, record_path = read_pte_file(path), path.with_suffix(".etrecord")
        record = parse_etrecord_of(path, record_path) if record_path.exists() else None
        return {"graphs": [_graph(method) for method in method_graphs(file, record)]}


def _graph(method: MethodGraph) -> Any:
    from model_explorer import graph_builder

    return graph_builder.Graph(method.name, [_node(index, node) for index, node in enumerate(method.nodes)])


def _node(index: int, node: OpNode) -> Any:
    from model_explorer import graph_builder as made

    modules = node.modules[-1].split(".") if node.modules else []
    place = [f"{node.backend} {node.instruction}"] if node.backend else []
    facts = {
        "runs on": node.backend or node.kind,
        "operators": ", ".join(node.operators),
        "modules": ", ".join(node.modules),
        "lines": ", ".join(node.lines),
        "code": node.code,
        "bytes of weights": str(node.weight_bytes or ""),
    }
    return made.GraphNode(
        id=str(index),
        label=node.name,
        namespace="/".join([*place, *modules]),
        attrs=[made.KeyValue(key, value) for key, value in facts.items() if value],
        incomingEdges=[made.IncomingEdge(str(source)) for source in node.inputs],
        outputsMetadata=[
            made.MetadataItem(str(place), [made.KeyValue("tensor_shape", text)])
            for place, text in enumerate(node.results)
        ],
    )
