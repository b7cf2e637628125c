"""Maps nodes and events by debug handle, and pairs their values."""

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
"""The debug handle of a node from which no node of the edge program was made."""

RuntimeOutputs: TypeAlias = Mapping[DebugHandle, tuple[Any, int]]
"""The recorded values of an event and the number of its results, by the debug handles of the event."""


class NodeFilter:
    """Selects nodes of a graph.

    Args:
        metadata_key: a key that the metadata of the node must have.
        op_type: the kind of the node, such as "call_function".
        exclude_ops: strings that the name of the node must not contain.
    """

    def __init__(self, metadata_key: str, op_type: str, exclude_ops: Sequence[str] | None = None) -> None:
        self.metadata_key = metadata_key
        self.op_type = op_type
        self.exclude_ops = list(exclude_ops or ())

    def matches(self, node: Node) -> bool:
        """Returns whether the filter selects the node."""
        has_key = meta.get_all(node).get(self.metadata_key) is not None
        is_excluded = any(name in node.name for name in self.exclude_ops)
        return has_key and node.op == self.op_type and not is_excluded


_OPERATORS = NodeFilter("debug_handle", "call_function", exclude_ops=["getitem"])


def operators_with_handles(graph_module: GraphModule) -> Iterator[tuple[Node, DebugHandle]]:
    """Yields the operators of a graph that have a debug handle, in order, with their handles."""
    for node in graph_module.graph.nodes:
        if _OPERATORS.matches(node):
            yield node, as_handles(meta.get_debug_handle(node))


class IntermediateOutputCapturer(Interpreter):
    """Runs a graph module, and stores the results of its operators by debug handle."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.node_filters = [_OPERATORS]
        self._captured: dict[DebugHandle, Any] = {}

    def run_and_capture(self, *args: Any, **kwargs: Any) -> dict[DebugHandle, Any]:
        """Runs the module.

        Args:
            *args, **kwargs: the inputs of the module, as for `run`.

        Returns:
            For each debug handle, a copy of the result of the last operator with this handle. If the operator
            has several results, this is a list.
        """
        self._captured = {}
        self.run(*args, **kwargs)
        return self._captured

    def run_node(self, n: Node) -> Any:
        """Runs a node and stores its result."""
        result = super().run_node(n)
        if all(node_filter.matches(n) for node_filter in self.node_filters):
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
    """Returns the names of the operators whose debug handles are all in `target_debug_handle`."""
    wanted = set(target_debug_handle)
    return [
        name
        for handles, names in debug_handle_to_op_names.items()
        if wanted.issuperset(handles)
        for name in names
    ]


def get_ancestor_node_identifiers(node: Node) -> list[str]:
    """Returns the identifiers "name.graph_id" of the nodes from which a node was made, the nearest first."""
    found = []
    sources = meta.history_of(node)
    while sources:
        found.append(f"{sources[-1].name}.{sources[-1].graph_id}")
        sources = sources[-1].from_node
    return found


def get_parent_node_identifier(node: Node) -> str | None:
    """Returns the identifier "name.graph_id" of the node from which a node was made, or None."""
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
    """Copies debug handles from edge nodes to the nodes of the exported program from which they were made.

    Nodes without an edge node get `UNSET_DEBUG_HANDLE`.

    Args:
        exported_program: the program from torch.export. The metadata of its nodes is changed.
        exported_program_graph_id: the id of its graph when the program was lowered.
        edge_dialect_program: the edge program.
        disable_debug_handle_valdiation: accept an edge program in which a node was not made from a node of
            the exported program.

    Returns:
        Whether the handles were copied. If False, the exported program is not changed.
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


def merge_runtime_overlapping_debug_handles(
    runtime_intermediate_outputs: Mapping[DebugHandle, tuple[int, Any, int]],
) -> dict[DebugHandle, tuple[int, Any, int]]:
    """Merges events that share a debug handle.

    Args:
        runtime_intermediate_outputs: (instruction, value, number of results) by debug handles.

    Returns:
        Entries with disjoint handles. A merged entry has the value of its last instruction, and the handles
        of its instructions in order. A handle of several instructions has the position of the last one.
    """
    merged: dict[DebugHandle, tuple[int, Any, int]] = {}
    for handles, entry in runtime_intermediate_outputs.items():
        joined, last_entry = tuple(dict.fromkeys(handles)), entry
        for other in [other for other in merged if not set(other).isdisjoint(handles)]:
            before = merged.pop(other)
            if before[0] < entry[0]:
                joined = _merge_handles(other, joined)
            else:
                joined, last_entry = _merge_handles(joined, other), before
        merged[joined] = last_entry
    return merged


def _merge_handles(first: DebugHandle, second: DebugHandle) -> DebugHandle:
    return (*(handle for handle in first if handle not in second), *second)


def map_runtime_aot_intermediate_outputs(
    aot_intermediate_outputs: Mapping[DebugHandle, Any], runtime_intermediate_outputs: RuntimeOutputs
) -> IntermediateOutputMapping:
    """Pairs the values of a graph with the values of the runtime.

    Args:
        aot_intermediate_outputs: the values of the graph's operators.
        runtime_intermediate_outputs: the values of events, whose debug handles are disjoint.

    Returns:
        A dict from (debug handles, value of the graph) to (debug handles, value of the runtime). An event
        that computes several operators is paired with the last operator, and an event with several results
        with as many of the last operators.

    Raises:
        ValueError: the debug handles of an operator belong to several events.
    """
    owners = {handle: handles for handles in runtime_intermediate_outputs for handle in handles}
    groups: dict[DebugHandle, dict[DebugHandle, Any]] = {}
    for handles, value in aot_intermediate_outputs.items():
        events = {owners[handle] for handle in handles if handle in owners}
        if len(events) > 1:
            raise ValueError(
                f"the operator with the debug handles {handles} belongs to several events: {sorted(events)}"
            )
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
    """Returns the values of an event for an operator with several results."""
    if not isinstance(values, Sequence):
        raise TypeError(f"an operator with several results is compared with a {type(values).__name__}")
    last = values[place]
    if isinstance(last, list) and all(isinstance(item, torch.Tensor) for item in last):
        return tuple(last)
    if isinstance(last, torch.Tensor):
        return tuple(values)
    raise ValueError(f"an operator with several results is compared with a {type(last).__name__}")


def _item(reference: Any, values: Any, count: int, place: int) -> Any:
    """Returns the value of an event for a result.

    If the event has several values but one result, it is the only value with the shape and dtype of the
    reference.
    """
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
