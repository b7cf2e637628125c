"""What the JSON of ExecuTorch's schema 5.4 has beside, or in place of, torch's own schema."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch.fx import GraphModule, Node

from rushlight.ir.json_types import JsonObject

VERSION = {"major": 5, "minor": 4}
EDGE_OPS = "executorch.exir.dialects.edge.ops."
BACKEND_OPS = "executorch.exir.dialects.backend.ops."
RESULTS = "result_debug_handles"  # an entry of a node's metadata, which ExecuTorch leaves unread
DELEGATE = "torch.ops.higher_order.executorch_call_delegate"

# Fields of torch's schema that ExecuTorch's lacks.
NEW_FIELDS = frozenset(
    (
        "kind",
        "is_hop_single_tensor_return",
        "forward_arg_names",
        "sym_float_values",
        "treespec_namedtuple_fields",
    )
)

# Numbers of dtypes in ExecuTorch's schema where torch's has others.
DTYPES = {28: 14, 29: 16, 30: 15}
DTYPES_BACK = {number: torch_number for torch_number, number in DTYPES.items()}

SYMBOL = re.compile(r"Symbol\('(\w+)'[^)]*\)")


def attribute(node: Node) -> object:
    """What a `get_attr` node reads; None for other nodes."""
    if node.op != "get_attr":
        return None
    value: object = node.graph.owning_module
    for part in str(node.target).split("."):
        value = getattr(value, part, None)
    return value


def graph_modules(module: GraphModule) -> Iterator[GraphModule]:
    """A graph module and the bodies of its control flow, in the order in which the serializer meets them."""
    yield module
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:
            for argument in node.args:
                found = attribute(argument) if isinstance(argument, Node) else None
                if isinstance(found, GraphModule):
                    yield from graph_modules(found)


def json_graphs(graph: JsonObject) -> Iterator[JsonObject]:
    """The graphs of the JSON in the order of `graph_modules`."""
    yield graph
    for node in graph["nodes"]:
        for named in node["inputs"]:
            inner = named["arg"].get("as_graph")
            if inner is not None:
                yield from json_graphs(inner["graph"])


def call_nodes(module: GraphModule) -> list[Node]:
    """The nodes that have an entry of their own in the JSON."""
    return [
        node
        for node in module.graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    ]


@dataclass(frozen=True)
class CallFacts:
    """What torch's schema does not say of a call.

    Attributes:
        name: the name of its edge operator, or None.
        handle: its debug handle, or None.
        results: the debug handles of the nodes that take one of its results, by the index of the result.
    """

    name: str | None
    handle: int | None
    results: dict[str, int]


def converted(value: object, change: Callable[[str, Any], object]) -> Any:
    """JSON in which `change(key, value)` gives the value of each key of schema's objects."""
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
    """Returns the value of a key of torch's schema as ExecuTorch's has it."""
    if key == "as_none":
        return []
    if key in ("dtype", "as_scalar_type"):
        return DTYPES.get(value, value)
    return value


def to_newer(key: str, value: Any) -> Any:
    """Returns the value of a key of ExecuTorch's schema as torch's has it."""
    if key == "as_none":
        return True
    if key in ("dtype", "as_scalar_type"):
        return DTYPES_BACK.get(value, value)
    return value
