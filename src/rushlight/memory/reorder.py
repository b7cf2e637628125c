"""Reorders the nodes of a graph of out variants so that fewer bytes are alive at the same time.

The result of each node stays the same. A node comes after all nodes whose results it reads. Two accesses to
the same bytes keep their order if one of them writes. Random number generators, delegates, control flow and
unknown operators keep their order among themselves. Equal operators that were derived from one operator of
the model also keep their order, because the developer tools distinguish them by it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable

import torch
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.ir import memory_ops, meta
from rushlight.ir.control_flow import is_control_flow
from rushlight.ir.edge_ops import aten_op
from rushlight.memory.alias_sets import AliasSet, Owner
from rushlight.memory.aliases import Aliases, Ownership, find_aliases
from rushlight.memory.op_arguments import argument, written_names
from rushlight.memory.problem import PlanError
from rushlight.memory.schedule import Task, is_valid, order_tasks
from rushlight.memory.timeline import Step

_KNOWN = ("aten", "dim_order_ops", "quantized_decomposed", "prims")
"""The namespaces whose operators have no side effects, except those with torch's tag for random numbers."""


def reorder_nodes(
    graph_module: GraphModule, signature: ExportGraphSignature | None, ownership: Ownership, alignment: int
) -> list[Node] | None:
    """Moves the nodes of a graph into an order with a smaller live set.

    Args:
        graph_module: a graph of out variants with specs.
        signature: its signature, which defines the inputs that are constants and mutable buffers.
        ownership: the kinds of tensors that the plan places.
        alignment: the alignment of all tensors in bytes.

    Returns:
        The nodes in their previous order, for `restore_order`. None if no better order was found; the graph
        is then not changed.
    """
    aliases = find_aliases(graph_module, signature, ownership, alignment)
    problem = _Reader(graph_module, aliases)
    order = order_tasks(problem.tasks, problem.sizes, problem.kept)
    if order == list(range(len(order))):
        return None
    if not is_valid(order, problem.tasks):
        raise PlanError(
            "internal error: in the new order, a node reads a value before another node computes it"
        )
    before = list(graph_module.graph.nodes)
    _apply(graph_module, [problem.nodes[task] for task in order])
    return before


def restore_order(graph_module: GraphModule, nodes: list[Node]) -> None:
    """Restores an earlier order of the nodes of a graph."""
    _move(graph_module.graph, nodes)
    graph_module.recompile()


def _apply(graph_module: GraphModule, calls: list[Node]) -> None:
    """Reorders the calls. Each allocation is moved directly before the first call that uses it."""
    moved: list[Node] = []
    seen: set[Node] = set()
    for node in calls:
        for source in node.all_input_nodes:
            if source.target is memory_ops.alloc and source not in seen:
                seen.add(source)
                moved.append(source)
        moved.append(node)
    reordered = set(moved)
    others = [n for n in graph_module.graph.nodes if n not in reordered and n.op != "output"]
    _move(graph_module.graph, [*others, *moved, graph_module.graph.output_node()])
    graph_module.recompile()


def _move(graph: Graph, nodes: list[Node]) -> None:
    last = nodes[0]
    for node in nodes[1:]:
        last.append(node)
        last = node


class _Reader:
    """Converts a graph to tasks: each call is a task, and each planned alias set is a value.

    Args:
        graph_module: a graph of out variants with specs.
        aliases: its alias analysis.

    Attributes:
        nodes: the node of each task.
        tasks: the tasks, in the order of the graph.
        sizes: the size of each value, in bytes.
        kept: the values that outputs contain.
    """

    def __init__(self, graph_module: GraphModule, aliases: Aliases) -> None:
        self.aliases = aliases
        self.nodes: list[Node] = []
        self.tasks: list[Task] = []
        self.sizes: list[int] = []
        self.kept: list[int] = []
        self._value: dict[int, int] = {}  # by id of the alias set
        self._made: set[int] = set()  # the values that exist before the next task
        self._task: dict[Node, int] = {}
        self._writer: dict[int, int] = {}  # by id of the alias set: the last task that writes it
        # By id of the alias set: the tasks that read it since the last write.
        self._readers: dict[int, list[int]] = {}
        self._last_ordered: int | None = None  # the last task that keeps its order
        # By debug handle and operator: the last task.
        self._last_equal: dict[tuple[str, str], int] = {}
        for node in graph_module.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self._made.update(self._values(self._sets(node)))
        for step in aliases.timeline.steps:
            if step.depth == 0 and _is_task(step.node):
                self._add_task(step)
        for output in pytree.tree_leaves(graph_module.graph.output_node().args):
            if isinstance(output, Node):
                self.kept += self._values(self._sets(output))

    def _add_task(self, step: Step) -> None:
        """Adds the task of a call, and all tasks that must come before it."""
        node, index = step.node, len(self.nodes)
        written = self._written(node)
        accessed = {id(s): s for source in node.all_input_nodes for s in self._sets(source)}
        accessed |= {id(s): s for s in self._sets(node)} | {id(s): s for s in written}
        before = {self._task[source] for source in node.all_input_nodes if source in self._task}
        before |= self._tasks_with_conflicts(index, accessed, {id(s) for s in written})
        before |= self._tasks_in_fixed_order(index, step)
        values = self._values(accessed.values())
        new = [value for value in values if value not in self._made]
        self._made.update(new)
        self.tasks.append(Task(frozenset(before - {index}), tuple(new), tuple(values)))
        self.nodes.append(node)
        self._task[node] = index

    def _tasks_with_conflicts(self, index: int, accessed: Iterable[int], written: set[int]) -> set[int]:
        """Returns the earlier tasks whose accesses must come before the accesses of a task.

        Args:
            index: the task.
            accessed: the ids of the alias sets that the task reads or writes.
            written: the ids of the alias sets that the task writes.
        """
        before = {self._writer[key] for key in accessed if key in self._writer}
        for key in written:
            before.update(self._readers.pop(key, ()))
            self._writer[key] = index
        for key in accessed:
            self._readers.setdefault(key, []).append(index)
        return before

    def _tasks_in_fixed_order(self, index: int, step: Step) -> set[int]:
        """Returns the earlier tasks that keep their order relative to the task of a step."""
        before: set[int] = set()
        if _keeps_order(step):
            if self._last_ordered is not None:
                before.add(self._last_ordered)
            self._last_ordered = index
        handle = meta.get_debug_handle(step.node)
        if handle is not None:
            origin = (str(handle), str(step.node.target))
            if origin in self._last_equal:
                before.add(self._last_equal[origin])
            self._last_equal[origin] = index
        return before

    def _sets(self, node: Node) -> list[AliasSet]:
        return [s for spec in meta.tensor_specs(node) for s in self.aliases.alias_sets_of(spec)]

    def _written(self, node: Node) -> list[AliasSet]:
        """Returns the alias sets that a node writes or frees."""
        if node.target is memory_ops.view or _is_getitem(node):
            return []
        op = aten_op(node.target)
        if op is None:
            return self._sets(node) + [s for source in node.all_input_nodes for s in self._sets(source)]
        arguments = [argument(op, node, name) for name in written_names(op)]
        targets = [n for n in pytree.tree_leaves(arguments) if isinstance(n, Node)]
        return [s for target in (*targets, node) for s in self._sets(target)]

    def _values(self, alias_sets: Iterable[AliasSet]) -> list[int]:
        """Returns the values of the alias sets that the plan places and that are not always alive."""
        values = []
        for alias_set in alias_sets:
            if alias_set.owner is Owner.PLAN and not alias_set.state:
                value = self._value.setdefault(id(alias_set), len(self.sizes))
                if value == len(self.sizes):
                    self.sizes.append(alias_set.size)
                values.append(value)
        return values


def _is_task(node: Node) -> bool:
    return node.op == "call_function" and node.target is not memory_ops.alloc


def _is_getitem(node: Node) -> bool:
    return node.target is operator.getitem


def _keeps_order(step: Step) -> bool:
    """Whether a node may have side effects. Such nodes keep their order among themselves."""
    node = step.node
    if node.target is memory_ops.view or _is_getitem(node):
        return False
    op = aten_op(node.target)
    if op is None or step.bodies or is_control_flow(node) or op.namespace not in _KNOWN:
        return True
    return torch.Tag.nondeterministic_seeded in op.tags or not written_names(op)
