"""Finds the edge nodes that a recorded event may have computed, by debug handle, location and position.

An ambiguous case: the decomposition of `hardswish` has two clamps and other operators, which all have the
debug handle 2 of `hardswish`. If kernels compute them, the runtime records these events in this order:

    event                    clamp nodes with the debug handle 2         node of the event
    native_call_clamp.out    aten_clamp_default, aten_clamp_default_1    aten_clamp_default
    native_call_clamp.out    the same                                    aten_clamp_default_1

There are as many events of clamps with this handle as there are clamp nodes, and kernels run in the order of
the nodes. Therefore the first event is the first clamp. If the numbers differ, because a backend or a pass
removed one of the clamps, both clamps are candidates of each event; matching.py then chooses by value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from torch.fx import Graph, Node
from torch.utils import _pytree as pytree

from rushlight.delegate.lowered import get_lowered_submodules
from rushlight.devtools.etrecord.record import ETRecord, as_handles
from rushlight.devtools.inspector.events import Event
from rushlight.devtools.inspector.operators import base_name
from rushlight.ir import meta

_Kernel: TypeAlias = tuple[int, str]


class Candidates:
    """The edge nodes that events may have computed.

    Args:
        record: the ETRecord.
        method: the name of the method.
        nodes: the calls that have reference values, in the order of execution.
        graph: the graph of these calls; the other calls are in the bodies of its control flow.
    """

    def __init__(self, record: ETRecord, method: str, nodes: Iterable[Node], graph: Graph) -> None:
        self._order = {node: place for place, node in enumerate(nodes)}
        self._graph = graph
        # Nodes in the bodies of control flow may have the names of nodes outside.
        self._by_name = {node.name: node for node in self._order if node.graph is graph}
        self._by_handle: dict[int, list[Node]] = {}
        for node in self._order:
            for handle in as_handles(meta.get_debug_handle(node)):
                self._by_handle.setdefault(handle, []).append(node)
        self._locations = _Locations(record, method)

    def of_events(self, events: Sequence[Event]) -> Iterator[tuple[Event, list[Node]]]:
        """Yields the events of a run in order, each with its candidates, the last node first."""
        kernels = Counter(key for key in map(_kernel, events) if key is not None)
        done: Counter[_Kernel] = Counter()
        for event in events:
            handles = as_handles(event.debug_handles)
            nodes = self._nodes(handles)
            if all(node.graph is self._graph for node in nodes):
                nodes = self._locations.at_event(event, nodes)
            nodes.sort(key=self._order.__getitem__, reverse=True)
            key = _kernel(event)
            if key is not None:
                nodes = self._of_kernel(key, nodes, done[key], kernels[key])
                done[key] += 1
            yield event, nodes

    def outputs_of(self, event: Event) -> list[Node | None]:
        """Returns the nodes of the outputs of a delegate call; None for a node without a reference value."""
        return [self._by_name.get(name) for name in self._locations.outputs_of(event)]

    def _nodes(self, handles: Iterable[int]) -> list[Node]:
        return list(dict.fromkeys(node for handle in handles for node in self._by_handle.get(handle, ())))

    def _of_kernel(self, key: _Kernel, nodes: list[Node], place: int, count: int) -> list[Node]:
        """Returns the nodes that a kernel call may have computed.

        Operators that were derived from one operator of the model share its debug handle. Their kernels run
        in the order of the nodes, so that the position of the call among equal calls determines the node. If
        some of the nodes have no kernel, all nodes are returned.

        Args:
            key: the debug handle and the operator of the kernel.
            nodes: the nodes with the debug handle of the kernel, the last one first.
            place: the number of equal kernel calls before this one.
            count: the number of equal kernel calls.
        """
        named = [node for node in nodes if base_name(getattr(node.target, "__name__", "")) == key[1]]
        return [named[-1 - place]] if len(named) == count else named or nodes


class _Locations:
    """The nodes that kernels compute, and the nodes inside each delegate.

    Operators that were derived from one operator of the model share a debug handle, but may be in several
    delegates.
    """

    def __init__(self, record: ETRecord, method: str) -> None:
        lowered = record.lowered_of(method)
        self._kernels: set[str] | None = None
        self._nodes: dict[int, set[str]] = {}
        self._outputs: dict[int, list[str]] = {}
        if lowered is None:
            return
        self._kernels = {node.name for node in lowered.graph.nodes}
        delegates: dict[frozenset[int], list[tuple[set[str], list[str]]]] = {}
        for _, module, _ in get_lowered_submodules(lowered.graph_module):
            graph = module.original_module.graph
            nodes = [node for node in graph.nodes if node.op == "call_function"]
            inside = [as_handles(meta.get_debug_handle(node)) for node in nodes]
            key = frozenset(handle for handles in inside for handle in handles)
            outputs = [node.name for node in pytree.tree_leaves(graph.output_node().args[0])]
            delegates.setdefault(key, []).append(({node.name for node in nodes}, outputs))
        handles_of, calls = record.handles_of(method), record.delegates_of(method)
        for key, found in delegates.items():
            places = [place for place in sorted(calls) if frozenset(handles_of.get(place, ())) == key]
            if len(found) == len(places):  # delegates with equal debug handles run in the order of the graph
                self._outputs.update(zip(places, (outputs for _, outputs in found), strict=True))
            else:
                found = [(set().union(*(names for names, _ in found)), [])] * len(places)
            self._nodes.update(zip(places, (names for names, _ in found), strict=True))

    def at_event(self, event: Event, nodes: list[Node]) -> list[Node]:
        """Returns the nodes at the location of an event: in its delegate, or outside of all delegates."""
        names = self._kernels
        if event.is_delegated_op and event.instruction is not None:
            names = self._nodes.get(event.instruction)
        found = nodes if names is None else [node for node in nodes if node.name in names]
        return found or nodes

    def outputs_of(self, event: Event) -> list[str]:
        """Returns the names of the outputs of a delegate call; an empty list if they are not known."""
        return [] if event.instruction is None else self._outputs.get(event.instruction, [])


def _kernel(event: Event) -> _Kernel | None:
    """Returns the debug handle and operator of a kernel event; None for other events and fused operators."""
    handles = as_handles(event.debug_handles)
    if len(handles) != 1 or not event.name.startswith("native_call_"):
        return None
    return handles[0], base_name(event.name)
