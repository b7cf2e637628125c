"""Memory planning as a pass, with ExecuTorch's name and options."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from rushlight.ir import memory_ops, meta
from rushlight.ir.constants import changed_targets
from rushlight.ir.spec import DEFAULT_ALIGNMENT, TensorSpec
from rushlight.memory.algorithms import MemoryAlgoResult, name_of, write_result
from rushlight.memory.alias_sets import AliasSet
from rushlight.memory.apply import (
    MethodProblem,
    PlanOptions,
    finish,
    plan_memory,
    read_problem,
    write_plan,
)
from rushlight.memory.check import check_plan
from rushlight.memory.exact import DEFAULT_SECONDS, ExactPlanner
from rushlight.memory.hierarchy import Memory, check_memories
from rushlight.memory.problem import Plan, PlanError, Problem
from rushlight.memory.replay import replay_plan
from rushlight.memory.report import PlanReport, make_report
from rushlight.memory.shared_arguments import share_arguments

SHARED_STATE_MEMORY = 2


@dataclass
class _SharedState:
    """The mutable buffers that methods share.

    Attributes:
        buffers: the buffers of all methods, by name of the state.
        updates: the specs whose storage is in another spec, by this spec.
        mutated: the names of the states that a method writes.
        graphs: the graphs of all methods.
    """

    buffers: dict[object, list[TensorSpec]] = field(default_factory=dict)
    updates: dict[TensorSpec, list[TensorSpec]] = field(default_factory=dict)
    mutated: set[object] = field(default_factory=set)
    graphs: list[GraphModule] = field(default_factory=list)

    def members(self, spec: TensorSpec) -> Iterator[tuple[TensorSpec, int]]:
        """Yields the spec and all specs in its storage, with their offsets from its start in bytes."""
        yield spec, 0
        for update in self.updates.get(spec, ()):
            for member, offset in self.members(update):
                yield member, offset + update.storage_base_offset


class MemoryPlanningPass(PassBase):
    """Plans the memory of all tensors for which the plan has memory.

    Args:
        memory_planning_algo: a planner on plain data (`Problem -> Plan`), or an algorithm on TensorSpecs as
            in `rushlight.memory.algorithms`. None is the default planner, which also computes elementwise
            operators in place.
        allow_lifetime_and_storage_overlap: do not check the plan of an algorithm on TensorSpecs. All other
            plans are checked.
        alloc_graph_input: whether the plan has memory for inputs; if not, the caller provides it.
        alloc_graph_output: whether the plan has memory for outputs; if not, the caller provides it.
        alloc_mutable_buffers: whether the plan has memory for mutable buffers.
        share_mutable_buffers: let buffers with the same qualified name share bytes of memory 2 in all
            methods. If False, only the buffers in the argument `shared_state` of `run` share bytes.
        alignment: the alignment of all offsets, in bytes.
        search_seconds: the limit of the search for the smallest peak of each memory, in seconds. 0 turns the
            search off. The default planner searches if the peak of first fit is above the lower bound.
        reorder: let the default planner reorder nodes if this lowers the peak. The results stay the same.
        memories: the memories from which the default planner chooses one for each tensor, see
            `rushlight.memory.hierarchy`.

    Attributes:
        enable_non_cpu_memory_planning: whether each device has separate memories. `to_executorch` sets it.
        reports: the report of each run.

    Raises:
        ValueError: two options contradict each other, or an option has an invalid value.
    """

    def __init__(
        self,
        memory_planning_algo: Callable[..., Any] | None = None,
        allow_lifetime_and_storage_overlap: bool = False,
        alloc_graph_input: bool = True,
        alloc_graph_output: bool = True,
        alloc_mutable_buffers: bool = True,
        share_mutable_buffers: bool = False,
        alignment: int = DEFAULT_ALIGNMENT,
        search_seconds: float = DEFAULT_SECONDS,
        reorder: bool = False,
        memories: Sequence[Memory] = (),
    ) -> None:
        if not 0 <= search_seconds < math.inf:
            raise ValueError(
                f"search_seconds={search_seconds} is not valid: give a finite number of seconds that is 0 "
                "or more"
            )
        if memory_planning_algo is not None and search_seconds != DEFAULT_SECONDS:
            raise ValueError(
                "search_seconds has no effect with a memory_planning_algo; give the limit to the algorithm "
                "instead"
            )
        if share_mutable_buffers and not alloc_mutable_buffers:
            raise ValueError("share_mutable_buffers=True needs alloc_mutable_buffers=True")
        self.memory_planning_algo = memory_planning_algo
        self.allow_lifetime_and_storage_overlap = allow_lifetime_and_storage_overlap
        self.alloc_graph_input = alloc_graph_input
        self.alloc_graph_output = alloc_graph_output
        self.alloc_mutable_buffers = alloc_mutable_buffers
        self.share_mutable_buffers = share_mutable_buffers
        self.alignment = alignment
        self.search_seconds = search_seconds
        self.enable_non_cpu_memory_planning = False
        self.reorder = reorder
        self.memories = check_memories(memories)
        if self.memories and memory_planning_algo is not None:
            raise ValueError(
                "memories has no effect with a memory_planning_algo, which chooses the memories itself"
            )
        if self.memories and share_mutable_buffers:
            raise ValueError(
                "share_mutable_buffers cannot be used with memories, because shared buffers need memory 2 "
                "for themselves"
            )
        self.reports: list[PlanReport] = []
        self._shared = _SharedState()

    def call(self, graph_module: GraphModule) -> PassResult:
        """Plans a graph without mutable buffers."""
        return self.run(graph_module)

    def run(
        self,
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature | None = None,
        shared_state: Mapping[str, str] | None = None,
    ) -> PassResult:
        """Plans the graph of one method.

        Args:
            graph_module: a graph of out variants with specs. The plan is written to the specs.
            graph_signature: its signature, which defines the inputs that are constants and mutable buffers.
            shared_state: the name of the state that a buffer shares with other methods, by the qualified name
                of the buffer.

        Raises:
            PlanError: the planning problem has no valid plan, or the plan is wrong.
        """
        self._set_alloc_node_spec(graph_module)
        state = shared_state or {}
        sharing = self.share_mutable_buffers or (self.alloc_mutable_buffers and bool(state))
        options = PlanOptions(
            planner=ExactPlanner(self.search_seconds),
            reorder=self.reorder and self.memory_planning_algo is None,
            memories=self.memories,
            alignment=self.alignment,
            inputs=self.alloc_graph_input,
            outputs=self.alloc_graph_output,
            state=self.alloc_mutable_buffers and not sharing,
            per_device=self.enable_non_cpu_memory_planning,
        )
        algorithm = self.memory_planning_algo
        if algorithm is None:
            report = plan_memory(graph_module, graph_signature, options)
        elif is_plain_planner(algorithm):
            report = plan_memory(graph_module, graph_signature, replace(options, planner=algorithm))
        else:
            report = self._run_algorithm(algorithm, graph_module, graph_signature, options)
        self.reports.append(report)
        if sharing and graph_signature is not None:
            self._collect_shared(graph_module, graph_signature, state)
        return PassResult(graph_module, True)

    def run_multimethod(self) -> None:
        """Places the shared mutable buffers in memory 2. Call this after `run` was called for each method."""
        shared, end = self._shared, 0
        for name, specs in shared.buffers.items():
            if name not in shared.mutated:
                continue
            kinds = sorted({f"{str(spec.dtype)[6:]}{list(spec.shape)}" for spec in specs})
            if len(kinds) > 1:
                raise PlanError(
                    f"methods cannot share the mutable buffer {name}, because it is {' and '.join(kinds)}; "
                    "give different buffers different names"
                )
            for spec in specs:
                for member, offset in shared.members(spec):
                    member.const = False
                    member.mem_id, member.mem_offset = SHARED_STATE_MEMORY, end + offset
            end += specs[0].realign(self.alignment)
        for graph in shared.graphs:
            sizes = meta.get_planned_sizes(graph) or [0, 0]
            meta.set_planned_sizes(graph, [*sizes, end])
            meta.set_shared_memory(graph, SHARED_STATE_MEMORY)
        self._shared = _SharedState()

    def _set_alloc_node_spec(self, graph_module: GraphModule) -> None:
        """Sets the spec of each allocation without a spec to the spec of the result that is written to it.

        Also writes the placements of results in arguments, see `share_arguments`.
        """
        share_arguments(graph_module)
        for node in graph_module.graph.nodes:
            outs = [value for value in node.kwargs.values() if isinstance(value, Node)]
            allocs = [value for value in outs if value.target is memory_ops.alloc]
            if any(not meta.tensor_specs(alloc) for alloc in allocs):
                for alloc, spec in zip(allocs, meta.tensor_specs(node), strict=False):
                    meta.set_spec(alloc, spec)

    def _run_algorithm(
        self,
        algorithm: Callable[..., Any],
        graph_module: GraphModule,
        signature: ExportGraphSignature | None,
        options: PlanOptions,
    ) -> PlanReport:
        """Runs an algorithm with one spec for each alias set, and checks the result."""
        method = read_problem(graph_module, signature, replace(options, in_place=False))
        specs = [_representative(alias_set) for alias_set in method.alias_sets]
        for spec in specs:
            spec.realign(self.alignment)
        result = self._place_by_device(algorithm, specs, method, graph_module, signature)
        offsets: dict[int, int] = {}
        buffers = []
        for buffer, spec in zip(method.problem.buffers, specs, strict=True):
            if spec.mem_id is None or spec.mem_offset is None:
                raise PlanError(
                    f"the algorithm {name_of(algorithm)} returned no memory id or no offset for "
                    f"{buffer.label}"
                )
            offsets[buffer.id] = spec.mem_offset
            buffers.append(replace(buffer, mem_id=spec.mem_id))
        method.problem, plan = Problem.of(buffers), Plan(offsets)
        if not self.allow_lifetime_and_storage_overlap:
            check_plan(method.problem, plan, dict(enumerate(result)))
        write_plan(method, plan)
        method.sizes = [0, *result[1:]] if len(result) > 1 else [0, 0]
        finish(graph_module, method)
        if not self.allow_lifetime_and_storage_overlap:
            replay_plan(graph_module, signature)
        return make_report(
            method.problem, plan, method.sizes.__getitem__, method.in_place, method.aliases.views
        )

    def _place_by_device(
        self,
        algorithm: Callable[..., Any],
        specs: list[TensorSpec],
        method: MethodProblem,
        graph_module: GraphModule,
        signature: ExportGraphSignature | None,
    ) -> list[int]:
        """Runs an algorithm for each device.

        An algorithm plans for one device, and numbers its memories from 1. The memories of the second device
        then follow those of the first one, and so on.

        Args:
            algorithm: the algorithm, which writes memory ids and offsets into the specs.
            specs: a spec for each alias set. If there are several devices, their specs have different memory
                ids.
            method: the planning problem. Its devices are replaced by those of the new memories.
            graph_module: the graph, for the algorithm.
            signature: its signature, for the algorithm.

        Returns:
            The size of each memory in bytes, by memory id; entry 0 is unused.
        """
        groups: dict[int | None, list[TensorSpec]] = {None: specs}
        if method.devices:
            groups = {}
            for spec in sorted(specs, key=lambda spec: spec.mem_id or 0):
                groups.setdefault(spec.mem_id, []).append(spec)
        device_of = {device.buffer_idx: device for device in method.devices}
        method.devices, sizes = [], [0]
        for mem_id, members in groups.items():
            if mem_id is not None:
                for spec in members:
                    spec.mem_id = None
            result = algorithm(self.alignment, members, graph_module, signature, 0)
            if isinstance(result, MemoryAlgoResult):
                write_result(result)
                result = result.bufsizes
            before = len(sizes) - 1
            sizes.extend(result[1:])
            for spec in members:
                spec.mem_id = None if spec.mem_id is None else spec.mem_id + before
            if mem_id in device_of:
                device = device_of[mem_id]
                method.devices.extend(
                    replace(device, buffer_idx=index) for index in range(before + 1, len(sizes))
                )
        return sizes

    def _collect_shared(
        self, graph_module: GraphModule, signature: ExportGraphSignature, shared_state: Mapping[str, str]
    ) -> None:
        sizes = meta.get_planned_sizes(graph_module)
        if sizes is None or len(sizes) != SHARED_STATE_MEMORY:
            raise PlanError(
                "mutable buffers can be shared between methods only if all other tensors are in memory 1"
            )
        method = len(self._shared.graphs)
        self._shared.graphs.append(graph_module)
        mutated = changed_targets(signature)
        buffers = signature.inputs_to_buffers
        for node in graph_module.graph.nodes:
            if node.op == "placeholder" and node.name in buffers:
                name = buffers[node.name]
                alone = name if self.share_mutable_buffers else (method, name)
                state = shared_state.get(name) or alone
                self._shared.buffers.setdefault(state, []).extend(meta.tensor_specs(node))
                if name in mutated:
                    self._shared.mutated.add(state)
            for spec in meta.tensor_specs(node):
                base = spec.storage_base
                if base is None and node.target is memory_ops.view:
                    (base,) = meta.tensor_specs(node.args[0])
                if base is not None:
                    self._shared.updates.setdefault(base, []).append(spec)


def is_plain_planner(algorithm: Callable[..., Any]) -> bool:
    """Whether an algorithm is a planner on plain data: it has exactly one required argument."""
    try:
        parameters = inspect.signature(algorithm).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(needed) == 1


def _representative(alias_set: AliasSet) -> TensorSpec:
    """Returns a spec with the size, memory and lifetime of the whole alias set."""
    whole = next((spec for spec in alias_set.offsets if alias_set.is_whole(spec)), None)
    if whole is None:
        whole = TensorSpec(torch.uint8, [alias_set.size])
    whole.mem_id, whole.mem_offset = alias_set.mem_id, None
    whole.storage_base, whole.storage_base_offset = None, 0
    whole.lifetime = [alias_set.first, alias_set.last]
    return whole
