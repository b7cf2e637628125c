"""Debug handles of nodes and events, and the pairs of values that share debug handles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Interpreter, Node

from rushlight.devtools.etrecord.record import as_handles
from rushlight.devtools.inspector.numerical_comparator import DebugHandle, IntermediateOutputMapping
from rushlight.ir import meta
from rushlight.passes.base import graph_modules

UNSET_DEBUG_HANDLE = 0
"""The debug handle of a node without a counterpart in the edge program."""

RuntimeOutputs: TypeAlias = Mapping[DebugHandle, tuple[Any, int]]
"""The recorded values of events and the number of results, by the debug handles of the events."""


class NodeFilter:
    """Chooses nodes of a graph.

    Args:
        metadata_key: a key that the metadata of the node must have.
        op_type: the kind of the node, such as "call_function".
        exclude_ops: texts that the name of the node must not contain.
    """

    def __init__(self, metadata_key: str, op_type: str, exclude_ops: Sequence[str] | None = None) -> None:
        self.metadata_key = metadata_key
        self.op_type = op_type
        self.exclude_ops = list(exclude_ops or ())

    def matches(self, node: Node) -> bool:
        """Whether the node is chosen."""
        has_key = meta.get_all(node).get(self.metadata_key) is not None
        is_excluded = any(name in node.name for name in self.exclude_ops)
        return has_key and node.op == self.op_type and not is_excluded


_OPERATORS = NodeFilter("debug_handle", "call_function", exclude_ops=["getitem"])


def operators_with_handles(graph_module: GraphModule) -> Iterator[tuple[Node, DebugHandle]]:
    """The operators of a graph that have a debug handle, in order, with their handles."""
    for node in graph_module.graph.nodes:
        if _OPERATORS.matches(node):
            yield node, as_handles(meta.get_debug_handle(node))


class IntermediateOutputCapturer(Interpreter):
    """Runs a graph module and keeps the results of its operators by debug handle."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.node_filters = [_OPERATORS]
        self._captured: dict[DebugHandle, Any] = {}

    def run_and_capture(self, *args: Any, **kwargs: Any) -> dict[DebugHandle, Any]:
        """Runs the module.

        Args:
            *args, **kwargs: its inputs, as for `run`.

        Returns:
            A copy of the result of the last operator with each debug handle; a list for several results.
        """
        self._captured = {}
        self.run(*args, **kwargs)
        return self._captured

    def run_node(self, n: Node) -> Any:
        """Runs a node and keeps its result."""
        result = super().run_node(n)
        if all(chosen.matches(n) for chosen in self.node_filters):
            several = isinstance(result, (tuple, list))
            kept = [_copy(item) for item in result] if several else _copy(result)
            self._captured[as_handles(meta.get_debug_handle(n))] = kept
        return result


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def get_aot_debug_handle_to_op_name_mapping(graph_module: GraphModule) -> dict[DebugHandle, list[str]]:
    """Returns the names of the operators with each debug handle."""
    names: dict[DebugHandle, list[str]] = {}
    for node, handles in operators_with_handles(graph_module):
        names.setdefault(handles, []).append(node.name)
    return names


def find_op_names(
    target_debug_handle: DebugHandle, debug_handle_to_op_names: Mapping[DebugHandle, Sequence[str]]
) -> list[str]:
    """Returns the names of all operators whose debug handles are among the given ones."""
    wanted = set(target_debug_handle)
    return [
        name
        for handles, names in debug_handle_to_op_names.items()
        if wanted.issuperset(handles)
        for name in names
    ]


# ---- From the edge program back to the program of torch.export ----


def get_ancestor_node_identifiers(node: Node) -> list[str]:
    """Returns "name.graph" of the nodes that a node was made from, the nearest one first."""
    found = []
    sources = meta.history_of(node)
    while sources:
        found.append(f"{sources[-1].name}.{sources[-1].graph_id}")
        sources = sources[-1].from_node
    return found


def get_parent_node_identifier(node: Node) -> str | None:
    """Returns "name.graph" of the node that a node was made from, or None."""
    return next(iter(get_ancestor_node_identifiers(node)), None)


def _calls(program: ExportedProgram) -> Iterator[Node]:
    for module in graph_modules(program.graph_module):
        yield from (node for node in module.graph.nodes if node.op not in ("placeholder", "output"))


def propagate_back_debug_handle(
    exported_program: ExportedProgram,
    exported_program_graph_id: int,
    edge_dialect_program: ExportedProgram,
    disable_debug_handle_valdiation: bool = False,
) -> bool:
    """Gives nodes of an exported program the debug handles of the edge nodes derived from them.

    Nodes that no edge node was made from get `UNSET_DEBUG_HANDLE`.

    Args:
        exported_program: what torch.export gave; the metadata of its nodes is changed.
        exported_program_graph_id: the identity of its graph when it was lowered.
        edge_dialect_program: the edge program.
        disable_debug_handle_valdiation: also take an edge program with nodes that were not made from any
            node of the exported program.

    Returns:
        Whether the nodes got handles.
    """
    handles: dict[str, Any] = {}
    wanted = set()
    for node in _calls(edge_dialect_program):
        handle = meta.get_debug_handle(node)
        wanted.add(handle)
        for identifier in get_ancestor_node_identifiers(node):
            handles.setdefault(identifier, handle)
    found: dict[Node, Any] = {}
    for node in _calls(exported_program):
        own = f"{node.name}.{exported_program_graph_id}"
        identifiers = (own, *get_ancestor_node_identifiers(node))
        known = (handles[identifier] for identifier in identifiers if identifier in handles)
        found[node] = next(known, UNSET_DEBUG_HANDLE)
    if not (disable_debug_handle_valdiation or wanted.issubset(found.values())):
        return False
    for node, handle in found.items():
        meta.set_debug_handle(node, handle)
    return True


# ---- Values of the runtime and of a graph ----


def merge_runtime_overlapping_debug_handles(
    runtime_intermediate_outputs: Mapping[DebugHandle, tuple[int, Any, int]],
) -> dict[DebugHandle, tuple[int, Any, int]]:
    """Joins events that share a debug handle.

    Args:
        runtime_intermediate_outputs: (instruction, value, number of results) by debug handles.

    Returns:
        Entries whose handles are disjoint. A joined entry has the value of its last instruction, and the
        handles of its instructions in order, each at its last place.
    """
    merged: dict[DebugHandle, tuple[int, Any, int]] = {}
    for handles, entry in runtime_intermediate_outputs.items():
        joined, chosen = tuple(dict.fromkeys(handles)), entry
        for other in [other for other in merged if not set(other).isdisjoint(handles)]:
            before = merged.pop(other)
            if before[0] < entry[0]:
                joined = _joined(other, joined)
            else:
                joined, chosen = _joined(joined, other), before
        merged[joined] = chosen
    return merged


def _joined(first: DebugHandle, second: DebugHandle) -> DebugHandle:
    return (*(handle for handle in first if handle not in second), *second)


def map_runtime_aot_intermediate_outputs(
    aot_intermediate_outputs: Mapping[DebugHandle, Any], runtime_intermediate_outputs: RuntimeOutputs
) -> IntermediateOutputMapping:
    """Pairs the values of a graph with the values of the runtime.

    Args:
        aot_intermediate_outputs: the values of the graph's operators.
        runtime_intermediate_outputs: the values of events, whose debug handles are disjoint.

    Returns:
        (debug handles, value of the graph) to (debug handles, value of the runtime). An event that computes
        several operators is paired with the last of them, and one with several results with the last ones.

    Raises:
        ValueError: an operator's handles lie in several events.
    """
    owners = {handle: handles for handles in runtime_intermediate_outputs for handle in handles}
    groups: dict[DebugHandle, dict[DebugHandle, Any]] = {}
    for handles, value in aot_intermediate_outputs.items():
        events = {owners[handle] for handle in handles if handle in owners}
        if len(events) > 1:
            raise ValueError(f"the operators {handles} are computed by several events: {sorted(events)}")
        for event in events:
            groups.setdefault(event, {})[handles] = value
    mapping: IntermediateOutputMapping = {}
    for event, group in groups.items():
        values, count = runtime_intermediate_outputs[event]
        if not {handles[0] for handles in group}.issubset(event):
            continue
        for place in range(-1, -1 - min(count, len(event)), -1):
            reference = group.get((event[place],))
            if reference is None:
                continue
            if isinstance(reference, Sequence):
                mapping[event, tuple(reference)] = (event, _items(values, place))
            else:
                mapping[event, reference] = (event, _item(reference, values, count, place))
    return mapping


def _items(values: Any, place: int) -> tuple[Any, ...]:
    """The values of an event that are the results of an operator with several results."""
    if not isinstance(values, Sequence):
        raise TypeError(f"an operator with several results is compared with a {type(values).__name__}")
    last = values[place]
    if isinstance(last, list) and all(isinstance(item, torch.Tensor) for item in last):
        return tuple(last)
    if isinstance(last, torch.Tensor):
        return tuple(values)
    raise ValueError(f"an operator with several results is compared with a {type(last).__name__}")


def _item(reference: Any, values: Any, count: int, place: int) -> Any:
    """The value of an event for a result: of several, the only value with its shape and dtype."""
    if not isinstance(values, Sequence):
        return values
    if count == 1 and isinstance(reference, torch.Tensor):
        alike = [value for value in _tensors(values) if value.shape == reference.shape]
        if len(alike) > 1:
            alike = [value for value in alike if value.dtype == reference.dtype]
        if len(alike) == 1:
            return alike[0]
    return values[place] if len(values) >= -place else None


def _tensors(values: Iterable[Any]) -> list[torch.Tensor]:
    return [value for value in values if isinstance(value, torch.Tensor)]
