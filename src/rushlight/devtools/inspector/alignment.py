"""Pairs the values that the runtime recorded with the values that torch computes for the same inputs."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Interpreter, Node
from torch.utils import _pytree as pytree

from rushlight.delegate.lowered import get_lowered_submodules
from rushlight.devtools.etrecord.record import ETRecord, as_handles
from rushlight.devtools.inspector.events import Event
from rushlight.devtools.inspector.operators import base_name
from rushlight.ir import meta

_Kernel: TypeAlias = tuple[int, str]

EXPORTED, EDGE = "exported_program", "edge_dialect_exported_program"


@dataclass(frozen=True, eq=False)
class Pair:
    """A value of the runtime and the corresponding reference value.

    Attributes:
        event: the instruction or delegate step that computed the runtime's value.
        handles: the debug handles of the event.
        node: the edge node that computes the value.
        leaf: the index of the value in the flat list of the node's results.
        reference: the reference value.
        runtime: the runtime's value, with the shape and the dim order of `reference`.
    """

    event: Event
    handles: tuple[int, ...]
    node: Node
    leaf: int
    reference: torch.Tensor
    runtime: torch.Tensor


Replaced: TypeAlias = Mapping[Node, Mapping[int, torch.Tensor]]
"""The values that replace results of nodes, by node and result index."""


class Reference:
    """The values of a method's graph, computed by torch.

    Args:
        record: the ETRecord with the edge program and the program of torch.export.
        method: the name of the method.
        inputs: the flat inputs of the method.
        graph: the graph that provides the values. EXPORTED is the exported program; an edge node without a
            counterpart in the exported program has its value in the edge program. EDGE is the edge program
            alone. Any other name is a key of the record's `graph_map`. None is EXPORTED if the record has an
            exported program, else EDGE.

    Attributes:
        values: the reference value of each edge node.

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
            raise ValueError(
                f"the ETRecord has no graph {graph!r} of method {method!r}; its graphs are {known}"
            )
        self._program, self._exported, self._inputs = program, exported, list(inputs)
        self._counterparts = {} if exported is None else _counterparts(program, exported)
        self.values = self._run({})
        self._by_handle: dict[int, list[Node]] = {}
        self._order = {node: place for place, node in enumerate(self.values)}
        for node in self.values:
            for handle in as_handles(meta.get_debug_handle(node)):
                self._by_handle.setdefault(handle, []).append(node)
        self._by_name = {node.name: node for node in self.values}
        self._locations = _Locations(record, method)

    def _run(self, replaced: Replaced) -> dict[Node, Any]:
        """Returns the value of each edge node, or of its exported counterpart if it has one."""
        values = run_graph(self._program, self._inputs, replaced)
        if self._exported is not None:
            replaced_exported = {
                other: replaced[node] for node, other in self._counterparts.items() if node in replaced
            }
            exported = run_graph(self._exported, self._inputs, replaced_exported)
            # Names may be equal by chance. A node with another shape or dtype is not a counterpart.
            self._counterparts = {
                node: other
                for node, other in self._counterparts.items()
                if _is_like(exported.get(other), values[node])
            }
            values.update((node, exported[other]) for node, other in self._counterparts.items())
        return values

    def isolated(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Returns the pairs with new references, computed from values of the runtime.

        The inputs of each node are the values that the runtime computed for earlier nodes. An error of a step
        then appears only at this step, and not at the steps that read its result.

        Args:
            pairs: the pairs of a run.
        """
        replaced: dict[Node, dict[int, torch.Tensor]] = {}
        for pair in pairs:
            value = torch.empty_like(pair.reference).copy_(pair.runtime)
            replaced.setdefault(pair.node, {})[pair.leaf] = value
        values = self._run(replaced)
        return [replace(pair, reference=pytree.tree_leaves(values[pair.node])[pair.leaf]) for pair in pairs]

    def pairs(self, events: Sequence[Event]) -> Iterator[Pair]:
        """Yields the pairs of the events of a run in order. Values without a reference have no pair."""
        kernels = Counter(key for key in map(_kernel, events) if key is not None)
        done: Counter[_Kernel] = Counter()
        for event in events:
            handles = as_handles(event.debug_handles)
            nodes = self._locations.at_event(event, self._nodes(handles))
            nodes.sort(key=self._order.__getitem__, reverse=True)
            key = _kernel(event)
            if key is not None:
                nodes = self._of_kernel(key, nodes, done[key], kernels[key])
                done[key] += 1
            yield from self._pairs(event, handles, nodes)

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

    def _pairs(self, event: Event, handles: tuple[int, ...], candidates: list[Node]) -> Iterator[Pair]:
        values = [value for value in pytree.tree_leaves(event.debug_data) if isinstance(value, torch.Tensor)]
        if event.name == "DELEGATE_CALL":
            nodes = [self._by_name.get(name) for name in self._locations.outputs_of(handles)]
            # the values are the arguments of the delegate call: first its inputs, then its outputs
            if 0 < len(nodes) <= len(values):
                for node, value in zip(nodes, values[-len(nodes) :], strict=True):
                    yield from self._pair(event, handles, [] if node is None else [node], value)
            return
        node = self._node_of_several(candidates, values)
        if node is not None:
            references = pytree.tree_leaves(self.values[node])
            for leaf, (reference, value) in enumerate(zip(references, values, strict=True)):
                arranged = arrange(value, reference)
                if arranged is not None:
                    yield Pair(event, handles, node, leaf, reference, arranged)
            return
        for value in values:
            yield from self._pair(event, handles, candidates, value)

    def _node_of_several(self, candidates: Sequence[Node], values: Sequence[torch.Tensor]) -> Node | None:
        """Returns the last node with as many values; of equivalent nodes, the one with the closest values."""
        found = [node for node in candidates if _count(self.values[node]) == len(values) > 1]
        if not found:
            return None

        def distance(node: Node) -> float:
            references = pytree.tree_leaves(self.values[node])
            arranged = [arrange(value, leaf) for value, leaf in zip(values, references, strict=True)]
            known = [(a, leaf) for a, leaf in zip(arranged, references, strict=True) if a is not None]
            return (
                float("inf") if len(known) < len(values) else sum(float(_distance(*pair)) for pair in known)
            )

        return min(self._equivalent(found), key=distance)

    @staticmethod
    def _equivalent(nodes: Sequence[Node]) -> list[Node]:
        """Returns the first node, and all equal operators that come from the same operator of the model."""
        first = nodes[0]
        origin = meta.get_debug_handle(first)
        return [
            node for node in nodes if node.target is first.target and meta.get_debug_handle(node) == origin
        ]

    def _pair(
        self, event: Event, handles: tuple[int, ...], nodes: Sequence[Node], value: torch.Tensor
    ) -> Iterator[Pair]:
        """Yields the pair of a value and the last node whose result has the same number of elements.

        Both must be floating point, or both must not. If several results of this node or several equivalent
        nodes match, the result with the closest value is chosen, because nothing else distinguishes them.
        """
        for place, node in enumerate(nodes):
            found = list(self._matches(event, handles, node, value))
            if not found:
                continue
            for other in self._equivalent(nodes[place:])[1:]:
                found.extend(self._matches(event, handles, other, value))
            if len(found) > 1:
                found.sort(key=lambda pair: float(_distance(pair.runtime, pair.reference)))
            yield found[0]
            return

    def _matches(
        self, event: Event, handles: tuple[int, ...], node: Node, value: torch.Tensor
    ) -> Iterator[Pair]:
        """Yields pairs for results of a node, or of its quantize node, if size and kind of dtype match."""
        for chosen in (node, *(user for user in node.users if _quantizes(user))):
            found = False
            for leaf, reference in enumerate(pytree.tree_leaves(self.values.get(chosen))):
                arranged = arrange(value, reference)
                if arranged is not None:
                    found = True
                    yield Pair(event, handles, chosen, leaf, reference, arranged)
            if found:
                return

    def _nodes(self, handles: Iterable[int]) -> list[Node]:
        return list(dict.fromkeys(node for handle in handles for node in self._by_handle.get(handle, ())))


class _Locations:
    """The nodes that kernels compute, and the nodes inside each delegate.

    Operators that were derived from one operator of the model share a debug handle, but may be in several
    delegates.
    """

    def __init__(self, record: ETRecord, method: str) -> None:
        lowered = record.lowered_of(method)
        self._handles = record.handles_of(method)
        self._kernels: set[str] | None = None
        self._delegates: dict[frozenset[int], set[str]] = {}
        self._outputs: dict[frozenset[int], list[str]] = {}
        if lowered is None:
            return
        self._kernels = {node.name for node in lowered.graph.nodes}
        for _, module, _ in get_lowered_submodules(lowered.graph_module):
            graph = module.original_module.graph
            nodes = [node for node in graph.nodes if node.op == "call_function"]
            inside = [as_handles(meta.get_debug_handle(node)) for node in nodes]
            key = frozenset(handle for handles in inside for handle in handles)
            outputs = [node.name for node in pytree.tree_leaves(graph.output_node().args[0])]
            # Delegates with the same set of debug handles cannot be distinguished.
            self._outputs[key] = [] if key in self._delegates else outputs
            self._delegates.setdefault(key, set()).update(node.name for node in nodes)

    def at_event(self, event: Event, nodes: list[Node]) -> list[Node]:
        """Returns the nodes at the location of an event: in its delegate, or outside of all delegates."""
        names = self._kernels
        if event.is_delegated_op and event.instruction is not None:
            names = self._delegates.get(frozenset(self._handles.get(event.instruction, ())))
        found = nodes if names is None else [node for node in nodes if node.name in names]
        return found or nodes

    def outputs_of(self, handles: Iterable[int]) -> list[str]:
        """Returns the names of the outputs of the delegate with these debug handles."""
        return self._outputs.get(frozenset(handles), [])


def _counterparts(program: ExportedProgram, exported: ExportedProgram) -> dict[Node, Node]:
    """Returns, for some edge nodes, the exported node with the same value: the counterpart.

    A decomposition derives several edge nodes from one exported node. The last of them computes the value of
    the exported node. Node metadata contains the names that a node had in earlier graphs, the newest first.
    An edge node is derived from an exported node if its earlier names end with the earlier names of the
    exported node, or if they contain the name of the exported node itself.

    Args:
        program: the edge program.
        exported: the program of torch.export.
    """
    by_name: dict[str, Node] = {}
    by_history: dict[tuple[str, ...], Node | None] = {}
    for node in exported.graph.nodes:
        if node.op == "call_function":
            history = tuple(meta.earlier_names_of(node))
            by_name[node.name] = node
            by_history[history] = None if history in by_history else node
    last: dict[Node, Node] = {}
    for node in program.graph.nodes:
        if node.op == "call_function":
            # Programs in an ETRecord file have no history of node names. They have only the origin of each
            # node.
            origin = meta.origin_of(node).rpartition(".")[0]
            history = tuple(meta.earlier_names_of(node)) or ((origin,) if origin else ())
            for place, name in enumerate(history):
                found = by_history.get(history[place:])
                named = by_name.get(name)
                if found is None and named is not None:
                    is_earlier = len(meta.earlier_names_of(named)) < len(history) - place
                    found = named if is_earlier else None
                if found is not None:
                    last[found] = node
                    break
    return {node: other for other, node in last.items()}


def run_graph(program: ExportedProgram, inputs: Sequence[object], replaced: Replaced) -> dict[Node, Any]:
    """Runs a program node by node on the CPU, and returns the value of each call in the graph's order.

    Args:
        program: an exported or edge program.
        inputs: the flat user inputs.
        replaced: the values that later nodes read instead of the computed values.

    Raises:
        ValueError: the number of inputs is wrong.
    """
    specs = program.graph_signature.input_specs
    wanted = sum(spec.kind is InputKind.USER_INPUT for spec in specs)
    given = list(inputs)
    if len(given) != wanted:
        raise ValueError(f"the program has {wanted} inputs, but {len(given)} are given")
    arguments: list[object] = []
    for spec in specs:
        if spec.kind is InputKind.USER_INPUT:
            value = given.pop(0)
        elif spec.target in program.state_dict:
            value = program.state_dict[spec.target]
        else:
            value = program.constants.get(str(spec.target))
        arguments.append(value.clone() if isinstance(value, torch.Tensor) else value)
    recorder = _Recorder(program.graph_module, replaced)
    with torch.no_grad():
        recorder.run(*arguments)
    return recorder.values


class _Recorder(Interpreter):
    """Records the value of each call right after the call. Copies it if a call of the graph may change it."""

    def __init__(self, module: torch.fx.GraphModule, replaced: Replaced) -> None:
        super().__init__(module)
        self.values: dict[Node, Any] = {}
        self._replaced = replaced
        self._is_changed = any(_may_write(node) for node in module.graph.nodes if node.op == "call_function")

    def run_node(self, n: Node) -> Any:
        value = super().run_node(n)
        if n.op == "call_function":
            self.values[n] = (
                pytree.tree_map_only(torch.Tensor, torch.clone, value) if self._is_changed else value
            )
            given = self._replaced.get(n)
            if given:
                leaves, spec = pytree.tree_flatten(value)
                chosen = (given.get(place, leaf) for place, leaf in enumerate(leaves))
                value = pytree.tree_unflatten(chosen, spec)
        return value


def _may_write(node: Node) -> bool:
    """Whether a call may write to its arguments. Functions without a schema may, except `getitem`."""
    schema = getattr(node.target, "_schema", None)
    return node.target is not operator.getitem if schema is None else bool(schema.is_mutable)


def arrange(value: torch.Tensor, reference: object) -> torch.Tensor | None:
    """Converts a value of the runtime to the shape and dim order of a reference.

    Backends may store images as channels last, merge dims, or transpose matrices. Of all possible orders of
    the elements, the one closest to the reference is used.

    Args:
        value: the value of the runtime.
        reference: the reference value.

    Returns:
        The converted value; None if the numbers of elements or the kinds of dtypes differ.
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
        if value.dim() >= 2 and value.shape[-2:] == (shape[-1], shape[-2]):
            orders.append(value.mT.reshape(shape))
    return min(orders, key=lambda order: float(_distance(order, reference)))


def _distance(value: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    difference = (wide(value) - wide(reference)).abs_().nan_to_num_(nan=torch.inf)
    return difference.sum(dtype=torch.float64)


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """Converts a tensor to float64; a float32 tensor is returned unchanged."""
    return tensor if tensor.dtype == torch.float32 else tensor.double()


def _kernel(event: Event) -> _Kernel | None:
    """Returns the debug handle and operator of a kernel event; None for other events and fused operators."""
    handles = as_handles(event.debug_handles)
    if len(handles) != 1 or not event.name.startswith("native_call_"):
        return None
    return handles[0], base_name(event.name)


def _count(value: object) -> int:
    return len(value) if isinstance(value, (list, tuple)) else 1


def _is_like(value: object, other: object) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and isinstance(other, torch.Tensor)
        and value.shape == other.shape
        and value.dtype == other.dtype
    )


def _quantizes(node: Node) -> bool:
    name = getattr(node.target, "__name__", "")
    return "quantize_per" in name and "dequantize" not in name
