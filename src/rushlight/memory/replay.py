"""Verifies a planned graph: executes it symbolically, and tracks which value each byte of memory contains.

The replay reads only the graph and the offsets in its specs. It shares no code with the planner, except the
table of operators that may compute in place.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from torch._ops import OpOverload
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.ir import memory_ops, meta
from rushlight.ir.constants import updated_inputs
from rushlight.ir.control_flow import COND, MAP, SCAN, WHILE_LOOP, is_control_flow
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.spec import TensorSpec
from rushlight.memory.in_place import readings, reads_in_step, same_elements
from rushlight.memory.op_arguments import argument, result_names, written_names
from rushlight.memory.problem import PlanError
from rushlight.memory.timeline import bodies_of

_WRITE_BACK = "aten::copy_"


class Value:
    """The result of a node. A byte of memory contains one value, or no value that may be read."""

    __slots__ = ("label",)

    def __init__(self, label: str) -> None:
        self.label = label


class Place(NamedTuple):
    """The bytes [low, high) of a memory. `memory` is a memory id, or the spec of a tensor without a plan."""

    memory: Hashable
    low: int
    high: int

    def overlaps(self, other: Place) -> bool:
        """Whether two places have a common byte."""
        return self.memory == other.memory and self.low < other.high and other.low < self.high


class Held(NamedTuple):
    """A tensor at run time: its place, and the value that the place must contain when a node reads it."""

    place: Place
    value: Value


Tensor = tuple[Held, ...]
"""The possible places of a tensor. After a branch, a tensor may be in one of several places."""


def replay_plan(graph_module: GraphModule, signature: ExportGraphSignature | None = None) -> None:
    """Checks that the planned graph computes the same results as the graph without a plan.

    There are four rules:

    - Each byte that a node reads contains the value that the node expects.
    - No node writes over its inputs, except an operator that may compute in place, element by element.
    - No node writes to constants.
    - At the end, the outputs and the new contents of buffers and inputs are in their places.

    The running time is about O(n log n) for n nodes.

    Args:
        graph_module: the planned graph. It is not changed.
        signature: its signature, or None.

    Raises:
        PlanError: a rule is violated.
    """
    _Replay(graph_module, signature).run()


class _Bytes:
    """The contents of one memory: the bytes from `starts[i]` to `starts[i + 1]` contain `values[i]`."""

    __slots__ = ("starts", "values")

    def __init__(self) -> None:
        self.starts: list[int] = [0]
        self.values: list[Value | None] = [None]

    def copy(self) -> _Bytes:
        other = _Bytes()
        other.starts, other.values = list(self.starts), list(self.values)
        return other

    def write(self, low: int, high: int, value: Value | None) -> None:
        """Sets the content of the bytes [low, high)."""
        first = bisect_left(self.starts, low)
        after = bisect_right(self.starts, high)
        starts, values = [low], [value]
        if self.starts[after - 1] != high:
            starts.append(high)
            values.append(self.values[after - 1])
        else:
            after -= 1
        self.starts[first:after] = starts
        self.values[first:after] = values

    def first_mismatch(self, low: int, high: int, value: Value) -> tuple[int, Value | None] | None:
        """Returns the first byte of [low, high) without the value, and the value that this byte contains."""
        at = bisect_right(self.starts, low) - 1
        while at < len(self.starts) and self.starts[at] < high:
            if self.values[at] is not value:
                return max(low, self.starts[at]), self.values[at]
            at += 1
        return None


class _Memories:
    """All memories. Writes in a branch are recorded, so that they can be undone."""

    def __init__(self) -> None:
        self._bytes: dict[Hashable, _Bytes] = {}
        self._before: list[dict[Hashable, _Bytes]] = []
        self._written: list[list[Place]] = []

    def write(self, place: Place, value: Value | None) -> None:
        """Sets the content of a place; None means that no node may read the place afterwards."""
        if place.low == place.high:
            return
        memory = self._bytes.get(place.memory)
        if memory is None:
            memory = self._bytes[place.memory] = _Bytes()
        for before, written in zip(self._before, self._written, strict=True):
            if place.memory not in before:
                before[place.memory] = memory.copy()
            written.append(place)
        memory.write(place.low, place.high, value)

    def first_mismatch(self, held: Held) -> tuple[int, Value | None] | None:
        """Returns the first byte of a place without the expected value, and the value that it contains."""
        place, value = held
        if place.low == place.high:
            return None
        memory = self._bytes.get(place.memory)
        if memory is None:
            return place.low, None
        return memory.first_mismatch(place.low, place.high, value)

    def begin_branch(self) -> None:
        """Starts to record writes, so that `end_branch` can undo them. Branches may be nested."""
        self._before.append({})
        self._written.append([])

    def end_branch(self) -> list[Place]:
        """Undoes all writes since the start of the branch. Returns the written places."""
        self._bytes.update(self._before.pop())
        return self._written.pop()


class _Replay:
    """The symbolic execution of one program.

    The methods named after nodes (`call`, `operator`, `cond`, ...) execute a node: they check the values that
    it reads, and write its results to their places. All methods named `check_...` raise PlanError if the plan
    is wrong.

    Args:
        graph_module: the planned graph.
        signature: its signature, or None.

    Attributes:
        memories: the contents of all memories.
        places: the places of tensors that are known so far, by spec.
        tensors: the tensors of executed nodes. A node with several results has a list, with None for each
            result that is not a tensor.
        fixed: the memories that the program must not change.
    """

    def __init__(self, graph_module: GraphModule, signature: ExportGraphSignature | None) -> None:
        self.graph_module = graph_module
        self.signature = signature
        self.memories = _Memories()
        self.places: dict[TensorSpec, Place] = {}
        self.tensors: dict[Node, Tensor | list[Tensor | None]] = {}
        self.fixed: set[Hashable] = set()

    def run(self) -> None:
        mutated, owners = _mutations(self.graph_module, self.signature)
        for node in self.graph_module.graph.nodes:
            if node.op == "placeholder":
                self.start(node, changes=node in mutated)
        self.body(self.graph_module)
        output = self.graph_module.graph.output_node()
        for leaf, owner in zip(pytree.tree_leaves(output.args), owners, strict=False):
            if owner is None or not isinstance(leaf, Node):
                continue
            (spec,) = meta.tensor_specs(owner)
            for tensor in self.tensors_of(leaf):
                self.check_read((Held(self.place(spec), held.value) for held in tensor), output, owner.name)

    def start(self, node: Node, changes: bool) -> None:
        """Sets the values of inputs, buffers and constants at the start of the program."""
        tensors: list[Tensor | None] = []
        for spec in meta.tensor_specs(node):
            place = self.place(spec)
            tensors.append(self.hold(place, Value(node.name)))
            if spec.const or (spec.mem_id is None and not changes):
                self.fixed.add(place.memory)
        self.set(node, tensors)

    def body(self, module: GraphModule) -> list[Tensor | None]:
        """Executes a graph whose placeholders are set, and returns its outputs."""
        for node in module.graph.nodes:
            if node.op == "get_attr":
                self.start(node, changes=False)
            elif node.op == "call_function":
                self.call(node)
        output = module.graph.output_node()
        leaves = pytree.tree_leaves(output.args)
        self.check_reads(leaves, output)
        return [next(iter(self.tensors_of(leaf)), None) for leaf in leaves]

    def call(self, node: Node) -> None:
        """Executes a node that calls a function."""
        target = node.target
        if target is memory_ops.alloc:
            return
        if target is operator.getitem:
            self.item(node)
        elif target is memory_ops.view:
            self.view(node)
        elif target is memory_ops.free:
            assert isinstance(node.args[0], Node)
            for spec in meta.tensor_specs(node.args[0]):
                self.memories.write(self.place(spec), None)
        elif is_control_flow(node):
            self.control_flow(node)
        else:
            self.operator(node)

    def item(self, node: Node) -> None:
        """Executes a getitem: the result has the item's place in the sequence, even if its spec differs."""
        source, index = node.args
        self.check_written(source, node)
        tensors = self.tensors.get(source) if isinstance(source, Node) else None
        if isinstance(tensors, list) and isinstance(index, int):
            self.set(node, [tensors[index]])

    def view(self, node: Node) -> None:
        """Executes a view: the result has the place and the value of its base."""
        self.check_written(node.args[0], node)
        (tensor,) = self.tensors_of(node.args[0])
        self.set(node, [self.viewed(meta.get_spec(node), tensor, node)])

    def check_written(self, source: object, reader: Node) -> None:
        """Raises PlanError if a node reads an allocation to which no operator has written."""
        if isinstance(source, Node) and source.target is memory_ops.alloc and source not in self.tensors:
            raise PlanError(f"{reader.name} ({reader.target}) reads {source.name} before any node writes it")

    def viewed(self, spec: TensorSpec, tensor: Tensor, node: Node) -> Tensor:
        """Returns the tensor of a view with the given spec.

        If the spec has a planned place, it must be the place of the base. A view has all bytes of its base,
        even if the upper bounds of dynamic shapes are rounded.
        """
        if spec.nbytes() and spec.mem_id is not None and spec.mem_offset is not None:
            planned = self.place(spec)
            for place, _ in tensor:
                size = place.high - place.low
                same_size = spec.is_dynamic_shape_tensor or planned.high - planned.low == size
                if planned[:2] != place[:2] or not same_size:
                    raise PlanError(
                        f"{node.name} is planned at {_text(planned)}, but its bytes are {_text(place)}"
                    )
        return tensor

    def operator(self, node: Node) -> None:
        """Executes an operator or a delegate call: reads the arguments, then writes the results."""
        op = aten_op(node.target)
        arguments = readings(node)
        for _, source in arguments:
            self.check_written(source, node)
            for tensor in self.tensors_of(source):
                self.check_read(tensor, node, source.name)
        targets = [] if op is None else _nodes(op, node, written_names(op))
        copies = op is not None and op._schema.name == _WRITE_BACK
        # A custom operator may change a tensor in place. The tensor then keeps its Value object.
        allocations = [target for target in targets if target.target is memory_ops.alloc]
        changed = [] if copies else [t for t in targets if t in self.tensors and t not in allocations]
        self.check_reads(changed, node)
        specs = _leaves(meta.get_spec(node))
        outs = [] if op is None else _nodes(op, node, result_names(op))
        written = [spec for target in outs for spec in meta.tensor_specs(target)]
        new = [spec for spec in specs if spec is not None][len(written) :]
        others = [spec for t in targets if t not in outs for spec in meta.tensor_specs(t)]
        places = [self.place(spec) for spec in (*written, *new, *others)]
        self.check_writes(node, arguments, places, specs[0] if specs else None)
        results: list[Tensor | None] = []
        for target in outs:
            if target in changed:
                results += self.tensors_of(target)
            else:
                results += [
                    self.hold(self.place(spec), Value(node.name)) for spec in meta.tensor_specs(target)
                ]
        results += [self.hold(self.place(spec), Value(node.name)) for spec in new]
        rest = iter(results)
        self.set(node, [None if spec is None else next(rest, None) for spec in specs])
        # A list of results is represented by the list of allocations to which it is written.
        rest = iter(results)
        for target in allocations:
            self.set(target, [next(rest, None) for _ in meta.tensor_specs(target)])

    def check_writes(
        self, node: Node, arguments: list[tuple[str, Node]], places: list[Place], result: TensorSpec | None
    ) -> None:
        """Checks that no result overlaps a constant, another result or an input of the node.

        Args:
            node: the node that writes the results.
            arguments: the name and the node of each argument that the node reads.
            places: the places of the results.
            result: the spec of the first result, which an operator may compute in place; None if there is
                no result.
        """
        for index, place in enumerate(places):
            if place.memory in self.fixed:
                raise PlanError(f"{node.name} writes into {_text(place)}, which the program must not change")
            if any(place.overlaps(other) for other in places[:index]):
                raise PlanError(f"{node.name} writes two results into {_text(place)}")
            for name, source in arguments:
                if not self.overlaps(source, place):
                    continue
                if index or result is None or not self.is_read_in_step(node, name, source, result, place):
                    raise PlanError(
                        f"{node.name} ({node.target}) writes its result over {source.name} "
                        f"at {_text(place)}, but may read this input later"
                    )

    def is_read_in_step(self, node: Node, name: str, source: Node, result: TensorSpec, place: Place) -> bool:
        """Whether an argument has the place of the first result, and the node reads it element by element."""
        helds = (held for tensor in self.tensors_of(source) for held in tensor)
        exact = all(held.place.low == place.low for held in helds if held.place.overlaps(place))
        op = aten_op(node.target)
        if op is not None and op._schema.name == _WRITE_BACK:
            return exact and same_elements(source, node, result)
        return exact and reads_in_step(node, name, source, result)

    def control_flow(self, node: Node) -> None:
        """Executes a `cond`, `while_loop`, `map` or `scan` node."""
        if node.target is COND:
            self.cond(node)
        elif node.target is WHILE_LOOP:
            self.while_loop(node)
        elif node.target is MAP:
            self.iterate(node, [], 1)
        else:
            assert node.target is SCAN
            self.iterate(node, self.operands(node, 1), 2)

    def cond(self, node: Node) -> None:
        """Executes both branches, each with the same initial contents of the memories.

        Afterwards, the bytes that a branch has written contain a result of the node, or no value.
        """
        self.check_reads([node.args[0]], node)
        written: list[Place] = []
        made: dict[Place, Value] = {}
        outcomes: list[list[Tensor | None]] = []
        for body in bodies_of(node):
            self.memories.begin_branch()
            self.bind(body, self.operands(node, 3))
            outputs = self.body(body)
            places = self.memories.end_branch()
            written += places
            outcomes.append([_made_here(output, places, made, node) for output in outputs])
        for place in written:
            self.memories.write(place, None)
        for place, value in made.items():
            self.memories.write(place, value)
        results: list[Tensor | None] = []
        for choices in zip(*outcomes, strict=True):
            helds = dict.fromkeys(held for tensor in choices for held in tensor or ())
            results.append(tuple(helds) or None)
        self.set(node, results)

    def while_loop(self, node: Node) -> None:
        """Executes one iteration. All values that a second iteration reads must then still be in place."""
        condition, body = bodies_of(node)
        captured = self.operands(node, 3)
        places = self.result_places(node)
        carried = self.assign(node, self.operands(node, 2), places)
        self.bind(condition, [*carried, *captured])
        self.body(condition)
        self.bind(body, [*carried, *captured])
        carried = self.assign(node, self.body(body), places)
        self.check_unchanged(node, captured)
        self.set(node, carried)

    def iterate(self, node: Node, firsts: list[Tensor | None], at: int) -> None:
        """Executes one iteration of a map or scan.

        All values that a second iteration reads must then still be in place.

        Args:
            node: the map or scan node.
            firsts: the initial values of the carried tensors.
            at: the index of the argument with the tensors that are divided into slices. The next argument has
                the tensors that all iterations share.
        """
        (body,) = bodies_of(node)
        xs, captured = self.operands(node, at), self.operands(node, at + 1)
        places = self.result_places(node)
        count = len(firsts)
        carried = self.assign(node, firsts, places[:count])
        stacked = [place and self.hold(place, Value(node.name)) for place in places[count:]]
        self.check_unchanged(node, [*xs, *captured])
        placeholders = [inner for inner in body.graph.nodes if inner.op == "placeholder"]
        slices: list[Tensor | None] = [
            self.hold(self.place(meta.get_spec(inner)), Value(inner.name))
            for inner in placeholders[count : count + len(xs)]
        ]
        self.bind(body, [*carried, *slices, *captured])
        outputs = self.body(body)
        carried = self.assign(node, outputs[:count], places[:count])
        self.check_unchanged(node, [*outputs[count:], *stacked, *xs, *captured])
        self.set(node, [*carried, *stacked])

    def operands(self, node: Node, at: int) -> list[Tensor | None]:
        """Returns the tensors in a list argument, with None for each scalar."""
        value = node.args[at] if at < len(node.args) else ()
        return [
            next(iter(self.tensors_of(item)), None)
            for item in (value if isinstance(value, (list, tuple)) else [value])
        ]

    def result_places(self, node: Node) -> list[Place | None]:
        """Returns the place of each result of a node, with None for each scalar."""
        return [None if spec is None else self.place(spec) for spec in _leaves(meta.get_spec(node))]

    def assign(
        self, node: Node, sources: Sequence[Tensor | None], places: Sequence[Place | None]
    ) -> list[Tensor | None]:
        """Copies the sources to their places in order, except those that are already at their places."""
        results: list[Tensor | None] = []
        for source, place in zip(sources, places, strict=True):
            if source is None or place is None:
                results.append(None)
                continue
            self.check_unchanged(node, [source])
            there = all(held.place == place for held in source)
            results.append(source if there else self.hold(place, Value(node.name)))
        return results

    def bind(self, body: GraphModule, tensors: Sequence[Tensor | None]) -> None:
        """Sets the tensors of the placeholders of a body. None is a scalar."""
        placeholders = [node for node in body.graph.nodes if node.op == "placeholder"]
        for placeholder, tensor in zip(placeholders, tensors, strict=True):
            if tensor is not None:
                self.tensors[placeholder] = tensor

    def check_reads(self, nodes: Iterable[object], reader: Node) -> None:
        """Checks that the places of the nodes contain the values that `reader` expects."""
        for node in nodes:
            for tensor in self.tensors_of(node):
                self.check_read(tensor, reader, str(node))

    def check_unchanged(self, node: Node, tensors: Iterable[Tensor | None]) -> None:
        """Checks that the tensors, which the control flow node reads, are still in their places."""
        for tensor in tensors:
            if tensor is not None:
                self.check_read(tensor, node, tensor[0].value.label)

    def check_read(self, tensor: Iterable[Held], reader: Node, name: str) -> None:
        """Checks that the places of a tensor contain the values that `reader` expects.

        Args:
            tensor: the tensor.
            reader: the node that reads it.
            name: the name of the tensor for the message.
        """
        for held in tensor:
            found = self.memories.first_mismatch(held)
            if found is not None:
                at, value = found
                has = "nothing" if value is None else value.label
                raise PlanError(
                    f"{reader.name} ({reader.target}) reads {name} at {_text(held.place)}, where byte {at} "
                    f"holds {has}, not {held.value.label}"
                )

    def overlaps(self, source: Node, place: Place) -> bool:
        """Whether a tensor of `source` has a common byte with the place."""
        return any(held.place.overlaps(place) for tensor in self.tensors_of(source) for held in tensor)

    def hold(self, place: Place, value: Value) -> Tensor:
        """Writes a value to a place, and returns the tensor."""
        self.memories.write(place, value)
        return (Held(place, value),)

    def place(self, spec: TensorSpec) -> Place:
        """Returns the planned place of a tensor. A tensor without a plan has a separate memory."""
        place = self.places.get(spec)
        if place is None:
            size = spec.nbytes()
            if spec.mem_id is not None and spec.mem_offset is not None:
                place = Place(spec.mem_id, spec.mem_offset, spec.mem_offset + size)
            elif spec.storage_base is not None:
                base = self.place(spec.storage_base)
                low = base.low + spec.storage_base_offset
                place = Place(base.memory, low, low + size)
            else:
                place = Place(spec, 0, size)
            self.places[spec] = place
        return place

    def tensors_of(self, node: object) -> list[Tensor]:
        """Returns the tensors of a node; empty for a scalar, or for an allocation that is not yet written."""
        found = self.tensors.get(node) if isinstance(node, Node) else None
        if isinstance(found, list):
            return [tensor for tensor in found if tensor is not None]
        return [] if found is None else [found]

    def set(self, node: Node, tensors: list[Tensor | None]) -> None:
        """Sets the tensors of a node: one tensor, or a list with None for each scalar."""
        if isinstance(meta.get_spec(node), (list, tuple)):
            self.tensors[node] = tensors
        elif tensors and tensors[0] is not None:
            self.tensors[node] = tensors[0]


def _made_here(
    output: Tensor | None, written: list[Place], made: dict[Place, Value], node: Node
) -> Tensor | None:
    """Returns the output of a branch. If the branch has written it, it becomes a value of `node`."""
    if output is None:
        return None
    return tuple(
        Held(held.place, made.setdefault(held.place, Value(node.name)))
        if any(held.place.overlaps(place) for place in written)
        else held
        for held in output
    )


def _leaves(spec: object) -> list[TensorSpec | None]:
    """Returns one entry for each result of a node: its spec, or None for a scalar."""
    items = spec if isinstance(spec, (list, tuple)) else [spec]
    return [item if isinstance(item, TensorSpec) else None for item in items]


def _nodes(op: OpOverload, node: Node, names: Iterable[str]) -> list[Node]:
    """Returns the nodes of the arguments with the given names. Each item of a list is a separate entry."""
    found: list[Node] = []
    for name in names:
        value = argument(op, node, name)
        items = value if isinstance(value, (list, tuple)) else [value]
        found.extend(item for item in items if isinstance(item, Node))
    return found


def _mutations(
    graph_module: GraphModule, signature: ExportGraphSignature | None
) -> tuple[set[Node], list[Node | None]]:
    """Returns the placeholders that the program changes, and for each output the one that it updates."""
    if signature is None:
        return set(), []
    placeholders = {node.name: node for node in graph_module.graph.find_nodes(op="placeholder")}
    names = updated_inputs(signature)
    owners = [placeholders.get(names.get(index, "")) for index in range(len(signature.output_specs))]
    return {owner for owner in owners if owner is not None}, owners


def _text(place: Place) -> str:
    memory = f"memory {place.memory}" if isinstance(place.memory, int) else "a separate memory"
    return f"[{place.low}, {place.high}) of {memory}"
