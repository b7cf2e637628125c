"""Alias analysis of a graph: which tensors share bytes, and when nodes read and write them.

`Aliases` is the only place that decides whether a value may be overwritten, computed in place, written back
in place or returned without a copy.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.ir import memory_ops, meta
from rushlight.ir.constants import changed_targets
from rushlight.ir.control_flow import COND, MAP, SCAN, WHILE_LOOP
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.spec import DEFAULT_ALIGNMENT, TensorSpec
from rushlight.memory.alias_sets import AliasSet, AliasSets, Owner
from rushlight.memory.in_place import readings, reads_in_step
from rushlight.memory.op_arguments import argument, result_names
from rushlight.memory.timeline import Step, Timeline, build_timeline


@dataclass(frozen=True, slots=True)
class Ownership:
    """The kinds of tensors that the plan places. The caller or the runtime provides memory for the others.

    Attributes:
        inputs: whether the plan has memory for inputs.
        outputs: whether the plan has memory for outputs.
        state: whether the plan has memory for mutable buffers.
    """

    inputs: bool = True
    outputs: bool = True
    state: bool = True


class Access(NamedTuple):
    """An access to a tensor: at `step`, `node` reads or writes the result `spec` of the node `source`."""

    step: int
    node: Node
    source: Node
    spec: TensorSpec


class Move(NamedTuple):
    """After `step`, the `result` of a control flow node refers to the bytes of a `value` in its body."""

    value: TensorSpec
    result: TensorSpec
    step: int


@dataclass(slots=True)
class Aliases:
    """The alias sets of a program, and all accesses to them in program order.

    A control flow node accesses its operands until its last step; the nodes of its bodies access them before
    this step. A delegate call reads all its inputs and writes all its results in one step, in any order.

    Attributes:
        alias_sets: the alias sets.
        timeline: the steps of the program.
        moves: the results of control flow nodes that refer to bytes of a value in a body.
        views: the number of tensors that are views of other tensors.
        touched: the first and last step that accesses a tensor, by tensor.
        makers: the first node that computes a tensor, by tensor.
    """

    alias_sets: AliasSets = field(default_factory=AliasSets)
    timeline: Timeline = field(default_factory=Timeline)
    moves: list[Move] = field(default_factory=list)
    views: int = 0
    touched: dict[TensorSpec, tuple[int, int]] = field(default_factory=dict)
    makers: dict[TensorSpec, Node] = field(default_factory=dict)
    _accesses: dict[TensorSpec, list[Access]] | None = None

    def alias_sets_of(self, spec: TensorSpec) -> list[AliasSet]:
        """Returns the alias sets that a tensor may refer to: its own set, then the sources of its moves."""
        found = [self.alias_sets.of(spec)]
        for move in reversed(self.moves):
            if self.alias_sets.of(move.result) in found:
                source = self.alias_sets.of(move.value)
                if source not in found:
                    found.append(source)
        return found

    def accesses_to(self, spec: TensorSpec) -> Iterator[Access]:
        """Yields all accesses to bytes of the tensor, also through its aliases, in no particular order."""
        alias_set = self.alias_sets.of(spec)
        reached = [alias_set]
        for move in self.moves:
            result = self.alias_sets.of(move.result)
            if self.alias_sets.of(move.value) in reached and result not in reached:
                reached.append(result)
        low = alias_set.offsets[spec]
        for other in reached:
            for member, start in other.offsets.items():
                # The offset of a moved value inside its result is unknown.
                is_disjoint = start + member.nbytes() <= low or low + spec.nbytes() <= start
                if other is not alias_set or not is_disjoint:
                    yield from self._all_accesses().get(member, ())

    def _all_accesses(self) -> dict[TensorSpec, list[Access]]:
        """Returns the accesses to each tensor. The first call collects them."""
        if self._accesses is None:
            self._accesses = {}
            for step in self.timeline.steps:
                node = step.node
                if node.op not in ("call_function", "output") or node.target is memory_ops.alloc:
                    continue
                for source in (*node.all_input_nodes, node):
                    for spec in meta.tensor_specs(source):
                        access = Access(step.end, node, source, spec)
                        self._accesses.setdefault(spec, []).append(access)
        return self._accesses

    def is_accessed_after(self, spec: TensorSpec, step: int, by: Collection[Node] = ()) -> bool:
        """Whether a node reads or writes a byte of the tensor after the step. Nodes in `by` are ignored."""
        return any(access.step > step and access.node not in by for access in self.accesses_to(spec))

    def is_returned(
        self, spec: TensorSpec, graph_module: GraphModule, ignored: Collection[Node] = ()
    ) -> bool:
        """Whether a graph output contains a byte of the tensor. The outputs in `ignored` do not count."""
        output = graph_module.graph.output_node()
        return any(a.node is output and a.source not in ignored for a in self.accesses_to(spec))

    def may_write_over(self, source: TensorSpec, node: Node, result: TensorSpec) -> bool:
        """Whether `node` may write `result` to the bytes of `source`.

        Only the reads of the node itself are considered. The node must read element i of each argument in an
        alias set of `source` before it writes element i of the result.
        """
        alias_set = self.alias_sets.of(source)
        for name, argument_node in readings(node):
            for spec in meta.tensor_specs(argument_node):
                if alias_set not in self.alias_sets_of(spec):
                    continue
                if not reads_in_step(node, name, argument_node, result):
                    return False
        return True

    def may_compute_in_place(self, source: TensorSpec, result: TensorSpec, step: Step) -> bool:
        """Whether the node of `step` may compute `result` in the bytes of `source`, which ends there."""
        old, new = self.alias_sets.of(source), self.alias_sets.of(result)
        if old is new or old.owner is not Owner.PLAN or new.owner is not Owner.PLAN:
            return False
        if old.state or new.state or old.last != step.end or new.first < step.end:
            return False
        if (old.mem_id or 1) != (new.mem_id or 1) or old.size != new.size:
            return False
        if not (old.is_whole(source) and new.is_whole(result)):
            return False
        return self.may_write_over(source, step.node, result)

    def keep_alive(self) -> None:
        """Extends the lifetimes of moved values to the ends of the results that refer to them."""
        for move in sorted(self.moves, key=lambda move: -move.step):
            self.alias_sets.of(move.value).touch(self.alias_sets.of(move.result).last)


def find_aliases(
    graph_module: GraphModule,
    signature: ExportGraphSignature | None,
    ownership: Ownership,
    alignment: int = DEFAULT_ALIGNMENT,
) -> Aliases:
    """Groups the tensors of a graph into alias sets, and finds their lifetimes and accesses.

    Args:
        graph_module: a graph of out variants with specs. It is not changed.
        signature: its signature, which defines the inputs that are constants and mutable buffers.
        ownership: the kinds of tensors that the plan places.
        alignment: the alignment of alias sets, in bytes.

    Raises:
        PlanError: tensors that share bytes require different memories.
    """
    analysis = _Analysis(graph_module, signature, ownership, alignment)
    for step in analysis.result.timeline.steps:
        analysis.visit(step)
    analysis.merge_branches()
    analysis.result.keep_alive()
    return analysis.result


def state_inputs(signature: ExportGraphSignature) -> set[str]:
    """Returns the names of the placeholders for buffers and parameters that the program writes or trains."""
    changed = changed_targets(signature)
    stored = {**signature.inputs_to_buffers, **signature.inputs_to_parameters}
    return {name for name, target in stored.items() if target in changed}


class _Analysis:
    """The alias analysis of one program, which `find_aliases` runs.

    Args:
        graph_module: the graph.
        signature: its signature, or None.
        ownership: the kinds of tensors that the plan places.
        alignment: the alignment of alias sets, in bytes.

    Attributes:
        result: the alias sets and accesses that were found so far.
        alias_sets: the alias sets of the result.
        branches: the branches of `cond` nodes, which `merge_branches` visits after all other nodes.
        constants: the names of the placeholders of stored tensors that the program does not change.
        mutated: the names of the placeholders of buffers and parameters that the program writes or trains.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        signature: ExportGraphSignature | None,
        ownership: Ownership,
        alignment: int,
    ) -> None:
        self.result = Aliases(AliasSets(alignment), build_timeline(graph_module))
        self.alias_sets = self.result.alias_sets
        self.signature = signature
        self.ownership = ownership
        # (branch, results of the control flow node, step)
        self.branches: list[tuple[GraphModule, list[TensorSpec], int]] = []
        self.constants: set[str] = set()
        self.mutated: set[str] = set()
        if signature is not None:
            self.mutated = state_inputs(signature)
            self.constants = {
                *signature.inputs_to_parameters,
                *signature.inputs_to_buffers,
                *signature.inputs_to_lifted_tensor_constants,
            } - self.mutated

    def visit(self, step: Step) -> None:
        """Records the accesses of a step, and joins the alias sets of tensors that share bytes."""
        node = step.node
        if node.op == "placeholder":
            if step.depth == 0:
                self._program_input(node)
        elif node.op == "output":
            self._output(step)
        elif node.op == "get_attr":
            for spec in meta.tensor_specs(node):
                self.alias_sets.of(spec).owner = Owner.FILE
        elif node.op == "call_function":
            self._call(step)

    def _program_input(self, node: Node) -> None:
        for spec in meta.tensor_specs(node):
            alias_set = self._touch(spec, 0)
            alias_set.name = alias_set.name or node.name
            if node.name in self.constants:
                alias_set.owner = Owner.FILE
            elif node.name not in self.mutated and spec.const:
                alias_set.owner = Owner.FILE
            elif node.name in self.mutated:
                self._touch(spec, self.result.timeline.last)
                alias_set.state = True
                alias_set.owner = Owner.PLAN if self.ownership.state else Owner.CALLER
            elif not self.ownership.inputs:
                alias_set.owner = Owner.CALLER

    def _output(self, step: Step) -> None:
        for value in pytree.tree_leaves(step.node.args):
            if not isinstance(value, Node):
                continue
            for spec in meta.tensor_specs(value):
                alias_set = self._touch(spec, step.end)
                is_planned = alias_set.owner is Owner.PLAN and not alias_set.state
                if step.depth == 0 and is_planned and not self.ownership.outputs:
                    alias_set.owner = Owner.CALLER

    def _call(self, step: Step) -> None:
        node = step.node
        if node.target is memory_ops.alloc:
            for spec in meta.tensor_specs(node):
                self.alias_sets.of(spec)  # the node that writes to the set gives it a name
                self.result.makers.setdefault(spec, node)
            return
        for source in node.all_input_nodes:
            for spec in meta.tensor_specs(source):
                self._touch(spec, step.end)
        for spec in meta.tensor_specs(node):
            alias_set = self._touch(spec, step.end)
            alias_set.name = alias_set.name or node.name
            self.result.makers.setdefault(spec, node)
        if node.target is memory_ops.view:
            assert isinstance(node.args[0], Node)
            base, spec = meta.get_spec(node.args[0]), meta.get_spec(node)
            if base is not spec:
                self.alias_sets.share(spec, base)
                self.result.views += 1
        elif node.target is operator.getitem:
            self._getitem(node)
        elif step.bodies:
            self._control_flow(step)
        else:
            self._written_arguments(node)
            for spec in meta.tensor_specs(node):
                if spec.storage_base is not None:
                    self.alias_sets.share(spec, spec.storage_base, spec.storage_base_offset)

    def _getitem(self, node: Node) -> None:
        source, index = node.args
        assert isinstance(source, Node) and isinstance(index, int)
        whole, part = meta.get_spec(source), meta.get_spec(node)
        if isinstance(whole, (list, tuple)) and isinstance(part, TensorSpec):
            element = whole[index]
            if isinstance(element, TensorSpec) and element is not part:
                self.alias_sets.share(part, element)

    def _written_arguments(self, node: Node) -> None:
        """If an operator writes to its arguments, makes its results aliases of these arguments."""
        op = aten_op(node.target)
        if op is None:
            return
        specs = meta.tensor_specs(node)
        if not specs:
            return
        written: list[TensorSpec] = []
        for name in result_names(op):
            value = argument(op, node, name)
            for item in value if isinstance(value, (list, tuple)) else (value,):
                written.extend(_specs(item))
        for spec, target in zip(specs, written, strict=False):
            if spec is not target:
                self.alias_sets.share(spec, target)

    def _control_flow(self, step: Step) -> None:
        node, target = step.node, step.node.target
        results = meta.tensor_specs(node)
        if target is COND:
            for body in step.bodies:
                self._bind(body, _nodes(node.args[3]))
                self.branches.append((body, results, step.end))
            return
        for spec in results:
            self._touch(spec, step.start)
        if target is WHILE_LOOP:
            carried, captured = _nodes(node.args[2]), _nodes(node.args[3])
            for body in step.bodies:
                self._bind(body, [*_leaf_specs(node), *captured])
        elif target is MAP:
            xs, captured = _nodes(node.args[1]), _nodes(node.args[2])
            self._bind(step.bodies[0], [*([None] * len(xs)), *captured], step)
        elif target is SCAN:
            carried, xs, captured = _nodes(node.args[1]), _nodes(node.args[2]), _nodes(node.args[3])
            slots = [*_leaf_specs(node)[: len(carried)], *([None] * len(xs)), *captured]
            self._bind(step.bodies[0], slots, step)
        for body in step.bodies:
            for value in pytree.tree_leaves(body.graph.output_node().args):
                for spec in _specs(value):
                    self._touch(spec, step.end)

    def _bind(self, body: GraphModule, values: Sequence[object], step: Step | None = None) -> None:
        """Makes the inputs of a body aliases of given tensors; None is a slice of the current iteration."""
        placeholders = [n for n in body.graph.nodes if n.op == "placeholder"]
        for placeholder, value in zip(placeholders, values, strict=True):
            inner = meta.get_spec(placeholder)
            if not isinstance(inner, TensorSpec):
                continue
            if value is None and step is not None:
                alias_set = self._touch(inner, step.start)
                alias_set.name = alias_set.name or placeholder.name
                continue
            for outer in [value] if isinstance(value, TensorSpec) else _specs(value):
                if outer is not inner:
                    self.alias_sets.share(inner, outer)

    def merge_branches(self) -> None:
        """Lets branches write directly to the results of their node, unless other tensors share the bytes."""
        for body, results, step in self.branches:
            self._merge_branch(body, results, step)

    def _merge_branch(self, body: GraphModule, results: Sequence[TensorSpec], step: int) -> None:
        values = [v for v in pytree.tree_leaves(body.graph.output_node().args) if _specs(v)]
        bound = {id(self.alias_sets.of(s)) for s in _placeholder_specs(body)}
        for value, result in zip(values, results, strict=True):
            (inner,) = _specs(value)
            source, target = self.alias_sets.of(inner), self.alias_sets.of(result)
            planned = source.owner is Owner.PLAN and target.owner is Owner.PLAN and not source.state
            same_memory = source.mem_id == target.mem_id
            if planned and same_memory and id(source) not in bound and source is not target:
                bound.add(id(source))
                self.alias_sets.share(inner, result)
                bound.add(id(self.alias_sets.of(inner)))
            elif source is not target:
                self.result.moves.append(Move(inner, result, step))

    def _touch(self, spec: TensorSpec, step: int) -> AliasSet:
        alias_set = self.alias_sets.of(spec)
        alias_set.touch(step)
        first, last = self.result.touched.get(spec, (step, step))
        self.result.touched[spec] = (min(first, step), max(last, step))
        return alias_set


def _nodes(values: object) -> list[object]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _specs(value: object) -> list[TensorSpec]:
    return meta.tensor_specs(value) if isinstance(value, Node) else []


def _leaf_specs(node: Node) -> list[object]:
    """Returns one entry for each result of a node: its spec, or None for a scalar."""
    spec = meta.get_spec(node)
    return list(spec) if isinstance(spec, (list, tuple)) else [spec]


def _placeholder_specs(body: GraphModule) -> Iterable[TensorSpec]:
    for node in body.graph.nodes:
        if node.op == "placeholder":
            yield from meta.tensor_specs(node)
