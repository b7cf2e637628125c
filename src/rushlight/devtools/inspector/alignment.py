"""Pairs the values that the runtime recorded with those of a graph that torch runs on the same inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Interpreter, Node
from torch.utils import _pytree as pytree

from rushlight.delegate.lowered import get_lowered_submodules
from rushlight.devtools.etrecord.record import ETRecord, as_handles
from rushlight.devtools.inspector.events import Event
from rushlight.ir import meta

EXPORTED, EDGE = "exported_program", "edge_dialect_exported_program"


@dataclass(frozen=True, eq=False)
class Pair:
    """A value of the runtime and its counterpart.

    Attributes:
        event: the instruction or delegate step that computed the runtime's value.
        handles: the debug handles of the event.
        node: the edge node whose value it is.
        reference: the counterpart.
        runtime: the runtime's value, in the shape and order of the counterpart.
    """

    event: Event
    handles: tuple[int, ...]
    node: Node
    reference: torch.Tensor
    runtime: torch.Tensor


class Reference:
    """The values of a method's graph, run by torch.

    Args:
        record: has the edge program, and the program of torch.export.
        method: the method.
        inputs: its inputs, flat.
        graph: EXPORTED takes values of the program of torch.export where a node of it ends in an edge node,
            and those of the edge program elsewhere; EDGE takes the latter only. Another name is one of the
            record's `graph_map`.

    Raises:
        ValueError: the record has no such graph.
    """

    def __init__(self, record: ETRecord, method: str, inputs: Sequence[Any], graph: str | None) -> None:
        program = record.edge_programs.get(method)
        if graph not in (None, EXPORTED, EDGE):
            program = (record.graph_map or {}).get(str(graph))
        exported = record.exported_of(method) if graph in (None, EXPORTED) else None
        if program is None or (graph == EXPORTED and exported is None):
            known = [EXPORTED, EDGE, *(record.graph_map or {})]
            raise ValueError(f"the ETRecord has no graph {graph!r} of method {method!r}; there are {known}")
        self.values = run_graph(program, inputs)
        if exported is not None:
            self._take_exported(run_graph(exported, inputs))
        self._by_handle: dict[int, list[Node]] = {}
        self._place = {node: place for place, node in enumerate(self.values)}
        for node in self.values:
            for handle in as_handles(meta.get_debug_handle(node)):
                self._by_handle.setdefault(handle, []).append(node)
        self._calls = _delegate_outputs(record.lowered_of(method))

    def _take_exported(self, exported: Mapping[Node, Any]) -> None:
        """Replaces the value of the last edge node of each exported node by the latter's value."""
        by_name = {node.name: value for node, value in exported.items()}
        last = {meta.origin_of(node).rpartition(".")[0] or node.name: node for node in self.values}
        for name, node in last.items():
            value = by_name.get(name)
            if _is_like(value, self.values[node]):
                self.values[node] = value

    def pairs(self, event: Event) -> Iterator[Pair]:
        """The pairs of an event; values without a counterpart are left out."""
        handles = as_handles(event.debug_handles)
        values = [value for value in pytree.tree_leaves(event.debug_data) if isinstance(value, torch.Tensor)]
        if event.name == "DELEGATE_CALL":
            nodes = [self._last(found) for found in self._calls.get(frozenset(handles), ())]
            if len(nodes) == len(values):
                for node, value in zip(nodes, values, strict=True):
                    yield from self._pair(event, handles, [] if node is None else [node], value)
            return
        candidates = sorted(self._nodes(handles), key=lambda node: -self._place[node])
        whole = next((n for n in candidates if _count(self.values[n]) == len(values) > 1), None)
        if whole is not None:
            for reference, value in zip(pytree.tree_leaves(self.values[whole]), values, strict=True):
                arranged = arrange(value, reference)
                if arranged is not None:
                    yield Pair(event, handles, whole, reference, arranged)
            return
        for value in values:
            yield from self._pair(event, handles, candidates, value)

    def _pair(
        self, event: Event, handles: tuple[int, ...], nodes: Iterable[Node], value: torch.Tensor
    ) -> Iterator[Pair]:
        """The pair of a value and the latest of some nodes that has its size and kind of dtype."""
        for node in nodes:
            for chosen in (node, *(user for user in node.users if _quantizes(user))):
                for reference in pytree.tree_leaves(self.values.get(chosen)):
                    arranged = arrange(value, reference)
                    if arranged is not None:
                        yield Pair(event, handles, chosen, reference, arranged)
                        return

    def _nodes(self, handles: Iterable[int]) -> list[Node]:
        return list(dict.fromkeys(node for handle in handles for node in self._by_handle.get(handle, ())))

    def _last(self, handles: tuple[int, ...]) -> Node | None:
        return max(self._nodes(handles), key=self._place.__getitem__, default=None)


def run_graph(program: ExportedProgram, inputs: Sequence[Any]) -> dict[Node, Any]:
    """Runs a program node by node on the CPU, and returns the value of each call in the graph's order.

    Args:
        program: an exported or edge program.
        inputs: the user's inputs, flat.

    Raises:
        ValueError: the number of inputs is another one.
    """
    specs = program.graph_signature.input_specs
    wanted = sum(spec.kind is InputKind.USER_INPUT for spec in specs)
    given = list(inputs)
    if len(given) != wanted:
        raise ValueError(f"the program takes {wanted} inputs, and {len(given)} are given")
    arguments: list[Any] = []
    for spec in specs:
        if spec.kind is InputKind.USER_INPUT:
            value = given.pop(0)
        elif spec.target in program.state_dict:
            value = program.state_dict[spec.target]
        else:
            value = program.constants.get(str(spec.target))
        arguments.append(value.clone() if isinstance(value, torch.Tensor) else value)
    recorder = _Recorder(program.graph_module, garbage_collect_values=False)
    with torch.no_grad():
        recorder.run(*arguments)
    return recorder.values


class _Recorder(Interpreter):
    """Keeps the value of each call as it is right after the call."""

    def __init__(self, module: torch.fx.GraphModule, garbage_collect_values: bool) -> None:
        super().__init__(module, garbage_collect_values)
        self.values: dict[Node, Any] = {}

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if n.op == "call_function":
            self.values[n] = pytree.tree_map_only(torch.Tensor, torch.clone, value)
        return value


def arrange(value: torch.Tensor, reference: Any) -> torch.Tensor | None:
    """A runtime's value in the shape of a reference, or None if it cannot be the same value.

    Backends store images with channels last and merge dims; of the orders with the right number of elements,
    the one that is closest to the reference is taken.
    """
    if not isinstance(reference, torch.Tensor) or value.numel() != reference.numel():
        return None
    if value.dtype.is_floating_point != reference.dtype.is_floating_point:
        return None
    shape = reference.shape
    if value.shape == shape and reference.dim() < 3:
        return value
    orders = [value.reshape(shape)]
    if reference.dim() >= 3:
        last = (shape[0], *shape[2:], shape[1])
        orders.append(value.reshape(last).movedim(-1, 1))
    return min(orders, key=lambda order: float(_distance(order, reference)))


def _distance(value: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    difference = (value.double() - reference.double()).abs().nan_to_num(nan=torch.inf)
    return difference.sum()


def _delegate_outputs(program: ExportedProgram | None) -> dict[frozenset[int], list[tuple[int, ...]]]:
    """For each lowered module, by all debug handles in it: the handles of each of its outputs."""
    if program is None:
        return {}
    found = {}
    for _, module, _ in get_lowered_submodules(program.graph_module):
        nodes = module.original_module.graph.nodes
        inside = [as_handles(meta.get_debug_handle(node)) for node in nodes if node.op == "call_function"]
        outputs = module.original_module.graph.output_node().args[0]
        found[frozenset(handle for handles in inside for handle in handles)] = [
            as_handles(meta.get_debug_handle(node)) for node in pytree.tree_leaves(outputs)
        ]
    return found


def _count(value: Any) -> int:
    return len(value) if isinstance(value, (list, tuple)) else 1


def _is_like(value: Any, other: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and isinstance(other, torch.Tensor)
        and value.shape == other.shape
        and value.dtype == other.dtype
    )


def _quantizes(node: Node) -> bool:
    name = getattr(node.target, "__name__", "")
    return "quantize_per" in name and "dequantize" not in name
