"""Plans the memory of one method: reads the graph, runs a planner, checks its plan, and writes the specs."""

from __future__ import annotations

import operator
import sys
from dataclasses import dataclass, field, replace
from functools import cached_property

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from rushlight.ir import memory_ops, meta
from rushlight.ir.spec import DEFAULT_ALIGNMENT, BufferDevice, DeviceType
from rushlight.memory.alias_sets import AliasSet, Owner, check_alignment
from rushlight.memory.aliases import Aliases, Ownership, find_aliases
from rushlight.memory.check import check_plan
from rushlight.memory.devices import separate_devices
from rushlight.memory.exact import ExactPlanner
from rushlight.memory.hierarchy import CPU, Memory, plan_memories
from rushlight.memory.in_place import in_place_pairs
from rushlight.memory.lower_bound import lower_bound
from rushlight.memory.problem import Buffer, Plan, PlanError, Planner, Problem
from rushlight.memory.reorder import reorder_nodes, restore_order
from rushlight.memory.replay import replay_plan
from rushlight.memory.report import PlanReport, make_report


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """The options of memory planning.

    Attributes:
        planner: the planner of a single memory.
        alignment: the alignment of all offsets, in bytes.
        preferred_alignment: the alignment to use if it does not increase the peak, in bytes.
        inputs, outputs, state: whether the plan has memory for inputs, outputs and mutable buffers. The
            caller provides memory for the others.
        in_place: let elementwise operators write their results over inputs whose lifetimes end there.
        per_device: plan separate memories for each device; if False, all tensors are in host memory.
        reorder: let the planner reorder nodes if this lowers the peak.
        memories: the memories from which the planner chooses one for each tensor; empty for a single memory.
    """

    planner: Planner = ExactPlanner()
    alignment: int = DEFAULT_ALIGNMENT
    preferred_alignment: int = 64
    inputs: bool = True
    outputs: bool = True
    state: bool = True
    in_place: bool = True
    per_device: bool = False
    reorder: bool = False
    memories: tuple[Memory, ...] = ()


@dataclass
class MethodProblem:
    """The planning problem of a method.

    Attributes:
        problem: the buffers.
        alias_sets: the alias set of each buffer: buffer i is alias set i.
        aliases: the alias analysis of the graph.
        in_place: the number of results that share the memory of an argument.
        alignment: the alignment of all offsets, in bytes.
        sizes: the planned bytes of each memory by memory id; entry 0 is unused.
        devices: the memories that are not in host memory.
    """

    problem: Problem
    alias_sets: list[AliasSet]
    aliases: Aliases
    in_place: int
    alignment: int
    sizes: list[int] = field(default_factory=lambda: [0, 0])
    devices: list[BufferDevice] = field(default_factory=list)

    @cached_property
    def traffic(self) -> dict[int, int]:
        """The number of bytes that nodes read and write in each buffer, by buffer id."""
        number = {id(alias_set): i for i, alias_set in enumerate(self.alias_sets)}
        found = dict.fromkeys(range(len(self.alias_sets)), 0)
        for step in self.aliases.timeline.steps:
            node = step.node
            if node.target in (memory_ops.alloc, memory_ops.view, operator.getitem):
                continue
            for value in (*node.all_input_nodes, node):
                for spec in meta.tensor_specs(value) if value.target is not memory_ops.alloc else ():
                    index = number.get(id(self.aliases.alias_sets.of(spec)))
                    if index is not None:
                        found[index] += spec.nbytes()
        return found


def plan_memory(
    graph_module: GraphModule,
    signature: ExportGraphSignature | None = None,
    options: PlanOptions | None = None,
) -> PlanReport:
    """Assigns a memory id and an offset to each tensor for which the plan has memory.

    Tensors with dynamic shapes get the bytes of their upper bounds. The runtime allocates tensors without an
    upper bound.

    Args:
        graph_module: a graph of out variants with TensorSpecs. The plan is written to `lifetime`,
            `alignment`, `mem_id` and `mem_offset` of the specs. The order of nodes may change; nothing else
            in the graph changes.
        signature: its signature, which defines the inputs that are constants and mutable buffers.
        options: the options; None means the defaults.

    Returns:
        The report of the plan.

    Raises:
        PlanError: the planning problem has no valid plan, or the plan of the planner is wrong.
    """
    options = options or PlanOptions()
    method, plan, moved = _plan_in_best_order(graph_module, signature, options)
    capacities = None
    if options.memories:
        capacities = {m.id: sys.maxsize if m.size is None else m.size for m in options.memories}
    check_plan(method.problem, plan, capacities)
    write_plan(method, plan)
    finish(graph_module, method)
    replay_plan(graph_module, signature)
    report = make_report(
        method.problem, plan, method.sizes.__getitem__, method.in_place, method.aliases.views
    )
    uses = tuple(
        replace(use, memory=next((m for m in options.memories if m.id == use.mem_id), None), traffic=traffic)
        for use in report.memories
        for traffic in [sum(method.traffic[b.id] for b in method.problem.buffers if b.mem_id == use.mem_id)]
    )
    return replace(report, memories=uses, moved=moved, least=least_bytes(method))


def _plan_in_best_order(
    graph_module: GraphModule, signature: ExportGraphSignature | None, options: PlanOptions
) -> tuple[MethodProblem, Plan, int]:
    """Plans a method. Reorders its nodes first if the options allow this and if it lowers the peak.

    Returns:
        The problem, its plan and the number of moved nodes.
    """
    method = read_problem(graph_module, signature, options)
    if options.reorder and sum(lower_bound(method.problem).values()) > least_bytes(method):
        reordered = _plan_reordered(graph_module, signature, options, method)
        if reordered is not None:
            return reordered
    return method, _plan(method, options), 0


def _plan(method: MethodProblem, options: PlanOptions) -> Plan:
    return _choose_memories(method, options) if options.memories else _run_planner(method.problem, options)


def _choose_memories(method: MethodProblem, options: PlanOptions) -> Plan:
    """Plans the buffers of a method in several memories, and writes the chosen memories to its problem."""
    devices: dict[int, tuple[int, int]] = {}
    fixed: dict[int, int] = {}
    for buffer, alias_set in zip(method.problem.buffers, method.alias_sets, strict=True):
        found = {(int(spec.device), spec.device_index) for spec in alias_set.offsets}
        if len(found) > 1:
            raise PlanError(
                f"tensors of {buffer.label} share bytes, but are on different devices: {sorted(found)}"
            )
        (devices[buffer.id],) = found
        if alias_set.mem_id is not None:
            fixed[buffer.id] = alias_set.mem_id
    planner = options.planner if isinstance(options.planner, ExactPlanner) else ExactPlanner()
    method.problem, plan = plan_memories(
        method.problem, options.memories, method.traffic, devices, fixed, planner
    )
    used = {buffer.mem_id for buffer in method.problem.buffers}
    method.devices = [
        BufferDevice(memory.id, DeviceType(memory.device[0]), memory.device[1])
        for memory in sorted(options.memories, key=lambda memory: memory.id)
        if memory.id in used and memory.device != CPU
    ]
    return plan


def _plan_reordered(
    graph_module: GraphModule,
    signature: ExportGraphSignature | None,
    options: PlanOptions,
    unordered: MethodProblem,
) -> tuple[MethodProblem, Plan, int] | None:
    """Reorders the nodes if this lowers the peak.

    Args:
        graph_module: the graph, whose nodes are reordered.
        signature: its signature.
        options: the options.
        unordered: the planning problem of the graph in its present order.

    Returns:
        The new problem, its plan and the number of moved nodes; None if the nodes keep their order.
    """
    ownership = Ownership(options.inputs, options.outputs, options.state)
    before = reorder_nodes(graph_module, signature, ownership, options.alignment)
    if before is None:
        return None
    method = read_problem(graph_module, signature, options)
    bound = sum(lower_bound(unordered.problem).values())
    if sum(lower_bound(method.problem).values()) < bound:
        plan = _plan(method, options)
        peak = sum(plan.peaks(method.problem).values())
        # With several memories, a smaller live set leaves space for more tensors in the cheap memories.
        better = peak < bound or bool(options.memories)
        if better or peak < sum(_plan(unordered, options).peaks(unordered.problem).values()):
            moved = sum(old is not new for old, new in zip(before, graph_module.graph.nodes, strict=True))
            return method, plan, moved
    restore_order(graph_module, before)
    return None


def least_bytes(method: MethodProblem) -> int:
    """Returns a lower bound of the peak for any order of the nodes.

    The bound is the largest number of bytes that one node needs for its arguments and results, plus the bytes
    of the mutable buffers, which are always alive.
    """
    least = 0
    always = sum(s.size for s in method.alias_sets if s.state)
    for step in method.aliases.timeline.steps:
        node = step.node
        if node.op != "call_function":
            continue
        sets: dict[int, AliasSet] = {}
        for value in (*node.all_input_nodes, node):
            for spec in meta.tensor_specs(value):
                alias_set = method.aliases.alias_sets.of(spec)
                if alias_set.owner is Owner.PLAN and not alias_set.state:
                    sets[id(alias_set)] = alias_set
        need = sum(alias_set.size for alias_set in sets.values())
        # In another order, the result may share the memory of an argument.
        for source, result in in_place_pairs(node):
            apart = method.aliases.alias_sets.of(source) is not method.aliases.alias_sets.of(result)
            if apart:
                need -= method.aliases.alias_sets.of(result).size
                break
        least = max(least, need + always)
    return least


def read_problem(
    graph_module: GraphModule, signature: ExportGraphSignature | None, options: PlanOptions
) -> MethodProblem:
    """Reads the planning problem from a graph of out variants, which is not changed."""
    ownership = Ownership(options.inputs, options.outputs, options.state)
    aliases = find_aliases(graph_module, signature, ownership, options.alignment)
    in_place = share_in_place(aliases) if options.in_place else 0
    alias_sets = [s for s in aliases.alias_sets.all() if s.owner is Owner.PLAN and s.last >= 0]
    for alias_set in alias_sets:
        check_alignment(alias_set)
    devices = separate_devices(alias_sets) if options.per_device and not options.memories else []
    buffers = [
        Buffer(i, s.size, s.first, s.last + 1, s.mem_id or 1, options.alignment, s.name)
        for i, s in enumerate(alias_sets)
    ]
    problem = Problem.of(buffers)
    return MethodProblem(problem, alias_sets, aliases, in_place, options.alignment, devices=devices)


def share_in_place(aliases: Aliases) -> int:
    """Lets elementwise operators write their results over arguments whose lifetimes end there.

    Returns:
        The number of results that share the memory of an argument.
    """
    shared = 0
    for step in aliases.timeline.steps:
        if step.node.op != "call_function":
            continue
        for source, result in in_place_pairs(step.node):
            if aliases.may_compute_in_place(source, result, step):
                aliases.alias_sets.share(result, source)
                shared += 1
                break
    return shared


def write_plan(method: MethodProblem, plan: Plan) -> None:
    """Writes a checked plan to the specs of its alias sets."""
    for buffer, alias_set in zip(method.problem.buffers, method.alias_sets, strict=True):
        base = plan.offsets[buffer.id] - alias_set.low
        for spec, offset in alias_set.offsets.items():
            spec.mem_id = buffer.mem_id
            spec.mem_offset = base + offset
    peaks = plan.peaks(method.problem)
    method.sizes = [0] * (max(peaks, default=1) + 1)
    for mem_id, peak in peaks.items():
        method.sizes[mem_id] = peak


def finish(graph_module: GraphModule, method: MethodProblem) -> None:
    """Writes lifetimes and alignments to the specs, and memory sizes and devices to the graphs."""
    for spec, (first, last) in method.aliases.touched.items():
        spec.lifetime = [first, min(last, method.aliases.timeline.last - 1)]
    for module in _graphs(graph_module):
        for node in module.graph.nodes:
            for spec in meta.tensor_specs(node):
                spec.realign(method.alignment)
        meta.set_planned_sizes(module, list(method.sizes))
        meta.set_buffer_devices(module, list(method.devices))


def _run_planner(problem: Problem, options: PlanOptions) -> Plan:
    """Plans with the preferred alignment if the peak stays the same, else with the required alignment."""
    preferred, planner = options.preferred_alignment, options.planner
    if preferred <= options.alignment or preferred % options.alignment:
        return planner(problem)
    wide = Problem(tuple(replace(buffer, alignment=preferred) for buffer in problem.buffers))
    if all(buffer.size % preferred == 0 for buffer in problem.buffers):
        return planner(wide)
    # The search runs only for the required alignment.
    quick = replace(planner, seconds=0.0) if isinstance(planner, ExactPlanner) else planner
    plan = quick(wide)
    check_plan(wide, plan)
    if plan.peaks(problem) == lower_bound(problem):
        return plan
    narrow = planner(problem)
    check_plan(problem, narrow)
    better = sum(narrow.peaks(problem).values()) < sum(plan.peaks(problem).values())
    return narrow if better else Plan(plan.offsets, narrow.searches)


def _graphs(graph_module: GraphModule) -> list[GraphModule]:
    return [module for module in graph_module.modules() if isinstance(module, GraphModule)]
