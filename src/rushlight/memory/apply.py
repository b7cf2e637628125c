"""Plan the memory of one method: read the graph, run a planner, check its plan, write it into the specs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.ir import memory_ops, meta
from rushlight.ir.spec import DEFAULT_ALIGNMENT, TensorSpec
from rushlight.memory.aliases import Aliases, Ownership, find_aliases
from rushlight.memory.check import check_plan
from rushlight.memory.in_place import in_place_pairs
from rushlight.memory.lower_bound import lower_bound
from rushlight.memory.outputs import separate_outputs
from rushlight.memory.portfolio import best_first_fit
from rushlight.memory.problem import Buffer, Plan, Planner, Problem
from rushlight.memory.replay import replay_plan
from rushlight.memory.report import PlanReport, make_report
from rushlight.memory.storage import Owner, Storage, check_alignment
from rushlight.memory.write_backs import drop_write_backs


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """How to plan.

    Offsets are multiples of `alignment` bytes, and of `preferred_alignment` where that costs no byte of the
    peak. `inputs`, `outputs` and `state` (mutable buffers) are planned, or left to the caller. `in_place`
    lets elementwise operators write over inputs that die with them, `state_in_place` lets parts of mutable
    buffers be written where they lie. `tail_padding` bytes are added to every memory, for kernels that read
    past the end of a tensor.
    """

    planner: Planner = best_first_fit
    alignment: int = DEFAULT_ALIGNMENT
    preferred_alignment: int = 64
    inputs: bool = True
    outputs: bool = True
    state: bool = True
    in_place: bool = True
    state_in_place: bool = True
    tail_padding: int = 0


@dataclass(slots=True)
class MethodProblem:
    """A method's planning problem and the way back from it: buffer i is storage i.

    `in_place` counts the results that take the bytes of an argument.
    """

    problem: Problem
    storages: list[Storage]
    aliases: Aliases
    in_place: int
    sizes: list[int] = field(default_factory=lambda: [0, 0])


def plan_memory(
    graph_module: GraphModule,
    signature: ExportGraphSignature | None = None,
    options: PlanOptions | None = None,
) -> PlanReport:
    """Give every tensor that the plan owns a memory id and an offset.

    `graph_module` is a graph of out variants whose nodes have TensorSpecs. The specs' `lifetime`, `mem_id`
    and `mem_offset` are written, dynamic shapes at their upper bounds. Tensors without a bound are left to
    the runtime and freed after their last use. Raises PlanError if the planner's plan is not right.
    """
    options = options or PlanOptions()
    method = read_problem(graph_module, signature, options)
    plan = _run_planner(method.problem, options)
    check_plan(method.problem, plan)
    write_plan(method, plan)
    finish(graph_module, method, options.tail_padding)
    replay_plan(graph_module, signature)
    return make_report(method.problem, plan, method.sizes.__getitem__, method.in_place, method.aliases.views)


def read_problem(
    graph_module: GraphModule, signature: ExportGraphSignature | None, options: PlanOptions
) -> MethodProblem:
    """The planning problem of a graph of out variants."""
    ownership = Ownership(options.inputs, options.outputs, options.state)
    give_allocations_specs(graph_module)
    for module in _graphs(graph_module):
        for node in module.graph.nodes:
            for spec in meta.tensor_specs(node):
                spec.realign(options.alignment)
    aliases = find_aliases(graph_module, signature, ownership)
    if separate_outputs(graph_module, signature, aliases, copy_views=not options.outputs):
        aliases = find_aliases(graph_module, signature, ownership)
    if signature is not None and options.state_in_place:
        if drop_write_backs(graph_module, signature, aliases):
            aliases = find_aliases(graph_module, signature, ownership)
    in_place = share_in_place(aliases) if options.in_place else 0
    storages = [s for s in aliases.storages.all() if s.owner is Owner.PLAN and s.last >= 0]
    for storage in storages:
        check_alignment(storage)
    buffers = [
        Buffer(i, s.size, s.first, s.last + 1, s.mem_id or 1, options.alignment, s.name)
        for i, s in enumerate(storages)
    ]
    return MethodProblem(Problem.of(buffers), storages, aliases, in_place)


def share_in_place(aliases: Aliases) -> int:
    """Give results of elementwise operators the bytes of arguments that die there; returns how many."""
    shared = 0
    for step in aliases.timeline.steps:
        if step.node.op != "call_function":
            continue
        for source, result in in_place_pairs(step.node):
            if aliases.may_compute_in_place(source, result, step):
                aliases.storages.share(result, source)
                shared += 1
                break
    return shared


def write_plan(method: MethodProblem, plan: Plan) -> None:
    """Write a checked plan into the specs of its storages."""
    for buffer, storage in zip(method.problem.buffers, method.storages, strict=True):
        base = plan.offsets[buffer.id] - storage.low
        for spec, offset in storage.offsets.items():
            spec.mem_id = buffer.mem_id
            spec.mem_offset = base + offset
    peaks = plan.peaks(method.problem)
    method.sizes = [0] * (max(peaks, default=1) + 1)
    for mem_id, peak in peaks.items():
        method.sizes[mem_id] = peak


def finish(graph_module: GraphModule, method: MethodProblem, tail_padding: int = 0) -> None:
    """Write lifetimes and memory sizes, and free what the runtime allocates."""
    for spec, (first, last) in method.aliases.touched.items():
        spec.lifetime = [first, last]
    method.sizes = [0] + [size + tail_padding if size else 0 for size in method.sizes[1:]]
    for module in _graphs(graph_module):
        meta.set_planned_sizes(module, list(method.sizes))
    _free_unbound(graph_module, method.aliases)


def give_allocations_specs(graph_module: GraphModule) -> None:
    """Let each allocation bear the spec of the operator that writes it, if it has none of its own."""
    for module in _graphs(graph_module):
        for node in module.graph.nodes:
            if node.op != "call_function" or node.target is memory_ops.alloc:
                continue
            outs = [
                value
                for given in node.kwargs.values()
                for value in (given if isinstance(given, (list, tuple)) else (given,))
                if isinstance(value, Node) and value.target is memory_ops.alloc
            ]
            if all(meta.has_spec(out) for out in outs):
                continue
            specs: Sequence[TensorSpec] = meta.tensor_specs(node)
            if len(outs) == 1 and len(specs) != 1:
                if not meta.has_spec(outs[0]):
                    meta.set_spec(outs[0], meta.get_spec(node))
                continue
            for out, spec in zip(outs, specs, strict=False):
                if not meta.has_spec(out):
                    meta.set_spec(out, spec)


def _run_planner(problem: Problem, options: PlanOptions) -> Plan:
    preferred = options.preferred_alignment
    if preferred > options.alignment and preferred % options.alignment == 0:
        wide = Problem(
            tuple(
                Buffer(b.id, b.size, b.lower, b.upper, b.mem_id, preferred, b.name) for b in problem.buffers
            )
        )
        plan = options.planner(wide)
        check_plan(wide, plan)
        if plan.peaks(problem) == lower_bound(problem):
            return plan
        narrow = options.planner(problem)
        check_plan(problem, narrow)
        better = sum(narrow.peaks(problem).values()) < sum(plan.peaks(problem).values())
        return narrow if better else plan
    return options.planner(problem)


def _free_unbound(graph_module: GraphModule, aliases: Aliases) -> None:
    """Insert a call to free after the last use of each tensor that the runtime allocates."""
    kept = {
        id(aliases.storages.of(spec))
        for node in graph_module.graph.nodes
        if node.op in ("placeholder", "output")
        for value in ([node] if node.op == "placeholder" else pytree.tree_leaves(node.args))
        if isinstance(value, Node)
        for spec in meta.tensor_specs(value)
    }
    dying: dict[int, list[Node]] = defaultdict(list)
    for storage in aliases.storages.all():
        if storage.owner is Owner.RUNTIME and id(storage) not in kept and storage.last >= 0:
            makers = [aliases.makers[spec] for spec in storage.offsets if spec in aliases.makers]
            dying[storage.last].append(makers[0])
    if not dying:
        return
    for step in aliases.timeline.steps:
        for maker in dying.get(step.end, ()):
            with step.node.graph.inserting_after(step.node):
                step.node.graph.call_function(memory_ops.free, (maker,))
    for module in _graphs(graph_module):
        module.recompile()


def _graphs(graph_module: GraphModule) -> list[GraphModule]:
    return [module for module in graph_module.modules() if isinstance(module, GraphModule)]
