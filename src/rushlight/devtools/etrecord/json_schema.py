"""The differences between the JSON of ExecuTorch's schema 5.4 and the JSON of torch's schema."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.fx import GraphModule, Node

from rushlight.ir.json_types import JsonObject
from rushlight.ir.memory_ops import AllocSpec

VERSION = {"major": 5, "minor": 4}
EDGE_OPS = "executorch.exir.dialects.edge.ops."
BACKEND_OPS = "executorch.exir.dialects.backend.ops."
# Keys in the metadata of a node, which ExecuTorch ignores. The first node has the names of the arguments.
RESULTS = "result_debug_handles"
ARGUMENTS = "forward_arg_names"
DELEGATE = "torch.ops.higher_order.executorch_call_delegate"

# Fields of torch's schema that ExecuTorch's schema lacks.
NEW_FIELDS = frozenset(
    (
        "kind",
        "is_hop_single_tensor_return",
        "forward_arg_names",
        "sym_float_values",
        "treespec_namedtuple_fields",
    )
)

# ExecuTorch's dtype numbers that differ from torch's, with torch's numbers.
DTYPES = {28: 14, 29: 16, 30: 15}
DTYPES_BACK = {number: torch_number for torch_number, number in DTYPES.items()}

SYMBOL = re.compile(r"Symbol\('(\w+)'[^)]*\)")


def attribute(node: Node) -> object:
    """Returns the value that a `get_attr` node reads; None for other nodes."""
    if node.op != "get_attr":
        return None
    value: object = node.graph.owning_module
    for part in str(node.target).split("."):
        value = getattr(value, part, None)
    return value


def graph_modules(module: GraphModule) -> Iterator[GraphModule]:
    """Yields a graph module and the bodies of its control flow, in the order of the serializer."""
    yield module
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:
            for argument in node.args:
                found = attribute(argument) if isinstance(argument, Node) else None
                if isinstance(found, GraphModule):
                    yield from graph_modules(found)


def json_graphs(graph: JsonObject) -> Iterator[JsonObject]:
    """Yields the graphs in the JSON, in the order of `graph_modules`."""
    yield graph
    for node in graph["nodes"]:
        for named in node["inputs"]:
            inner = named["arg"].get("as_graph")
            if inner is not None:
                yield from json_graphs(inner["graph"])


def root_signature(entries: list[ModuleCallEntry]) -> ModuleCallSignature | None:
    """Returns the signature of the whole program; None if it is not known."""
    return next((entry.signature for entry in entries if entry.fqn == ""), None)


def call_nodes(module: GraphModule) -> list[Node]:
    """Returns the nodes that have a separate entry in the JSON."""
    return [
        node
        for node in module.graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    ]


@dataclass(frozen=True)
class CallFacts:
    """The properties of a call that torch's schema does not store.

    Attributes:
        name: the name of the edge operator, or None.
        handle: the debug handle of the call, or None.
        results: the debug handles of the getitem nodes of the call, by result index.
        spec: the shapes and dtypes of an allocation, or None.
    """

    name: str | None
    handle: int | None
    results: dict[str, int]
    spec: AllocSpec | None = None


def converted(value: object, change: Callable[[str, Any], object]) -> Any:
    """Returns JSON in which the value of each key is replaced by `change(key, value)`.

    Args:
        value: the JSON.
        change: `to_older` or `to_newer`.
    """
    if isinstance(value, dict):
        if value.get("is_hop_single_tensor_return") is False and [*value["outputs"][0]] == ["as_tensor"]:
            value = {**value, "outputs": [{"as_tensors": [out["as_tensor"] for out in value["outputs"]]}]}
        return {
            key: change(key, converted(item, change))
            for key, item in value.items()
            if not (key in NEW_FIELDS and change is to_older)
        }
    if isinstance(value, (list, tuple)):
        return [converted(item, change) for item in value]
    return value


def to_older(key: str, value: Any) -> Any:
    """Converts the value of a key from torch's schema to ExecuTorch's schema, which is older."""
    if key == "as_none":
        return []
    if key in ("dtype", "as_scalar_type"):
        return DTYPES.get(value, value)
    return value


def to_newer(key: str, value: Any) -> Any:
    """Converts the value of a key from ExecuTorch's schema to torch's schema, which is newer."""
    if key == "as_none":
        return True
    if key in ("dtype", "as_scalar_type"):
        return DTYPES_BACK.get(value, value)
    return value
