"""Planning algorithms on TensorSpecs, with ExecuTorch's names.

The arguments of an algorithm are `(alignment, specs, graph_module, graph_signature, extra_padding)`. It reads
`lifetime`, `mem_id` and `allocated_memory` of each spec. It returns a MemoryAlgoResult, or it writes `mem_id`
and `mem_offset` into the specs and returns the memory sizes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from rushlight.ir.spec import TensorSpec
from rushlight.memory.exact import DEFAULT_SECONDS, ExactPlanner
from rushlight.memory.first_fit import first_fit
from rushlight.memory.naive import naive as naive_plan
from rushlight.memory.problem import Buffer, PlanError, Planner, Problem
from rushlight.memory.slots import slots


@dataclass
class SpecAllocResult:
    """The memory and the offset (`mem_offset`, in bytes) of one spec."""

    mem_id: int
    mem_obj_id: int
    mem_offset: int


@dataclass
class MemoryAlgoResult:
    """The planned memory and offset of each spec, and the bytes of each memory by id; entry 0 is unused."""

    spec_dict: dict[TensorSpec, SpecAllocResult] = field(default_factory=dict)
    bufsizes: list[int] = field(default_factory=list)


SpecAlgorithm: TypeAlias = Callable[..., "MemoryAlgoResult | list[int]"]


def greedy(
    alignment: int,
    specs: Iterable[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature | None,
    extra_padding: int = 0,
    *,
    allow_overlapping_allocations: bool = True,
) -> MemoryAlgoResult:
    """Plans with first fit by decreasing size.

    Args:
        alignment: the alignment of every tensor in bytes.
        specs: the tensors.
        graph_module: the graph.
        graph_signature: its signature, or None.
        extra_padding: the number of unused bytes after the last tensor of each memory.
        allow_overlapping_allocations: if False, two tensors may share bytes only if they have the same
            offset. A memory then consists of slots, and the tensors of a slot are never alive at the same
            time.

    Returns:
        The memories and offsets of the specs.
    """
    planner = first_fit if allow_overlapping_allocations else slots
    return _place(list(specs), planner, alignment, extra_padding)


def exact(
    alignment: int,
    specs: Iterable[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature | None,
    extra_padding: int = 0,
    *,
    seconds: float = DEFAULT_SECONDS,
) -> MemoryAlgoResult:
    """Plans with first fit, then searches for the smallest peak of each memory for at most `seconds`."""
    return _place(list(specs), ExactPlanner(seconds), alignment, extra_padding)


def naive(
    alignment: int,
    specs: Iterable[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature | None,
    extra_padding: int = 0,
) -> MemoryAlgoResult:
    """Plans separate bytes for each tensor."""
    return _place(list(specs), naive_plan, alignment, extra_padding)


class MemoryPlanningAlgorithmSuite:
    """Runs several algorithms, and keeps the result with the fewest bytes.

    Args:
        algo_list: the algorithms; the default is only `greedy`.
    """

    def __init__(self, algo_list: Sequence[Callable[..., MemoryAlgoResult]] | None = None) -> None:
        self.algo_list: list[Callable[..., MemoryAlgoResult]] = list(algo_list or [greedy])

    def __call__(
        self,
        alignment: int,
        specs: Iterable[TensorSpec],
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature | None,
        extra_padding: int = 0,
    ) -> list[int]:
        """Writes the best result into the specs, and returns the size in bytes of each memory."""
        listed = list(specs)
        results = [
            algorithm(alignment, listed, graph_module, graph_signature, extra_padding)
            for algorithm in self.algo_list
        ]
        if len({len(result.bufsizes) for result in results}) != 1:
            raise PlanError(
                "the algorithms " + ", ".join(map(name_of, self.algo_list)) + " plan different memories"
            )
        best = min(results, key=lambda result: sum(result.bufsizes))
        write_result(best)
        return best.bufsizes


def write_result(result: MemoryAlgoResult) -> None:
    """Writes the memories and offsets of a result into its specs."""
    for spec, place in result.spec_dict.items():
        spec.mem_id, spec.mem_obj_id, spec.mem_offset = place.mem_id, place.mem_obj_id, place.mem_offset


def name_of(algorithm: object) -> str:
    """Returns the name of an algorithm for messages."""
    while isinstance(algorithm, functools.partial):
        algorithm = algorithm.func
    return str(getattr(algorithm, "__name__", algorithm))


def _place(specs: list[TensorSpec], planner: Planner, alignment: int, extra_padding: int) -> MemoryAlgoResult:
    buffers = []
    for index, spec in enumerate(specs):
        size = spec.realign(alignment)
        first, last = spec.lifetime
        if first is None or last is None:
            raise PlanError(f"{spec!r} has no lifetime; set `lifetime` to its first and last step")
        if spec.storage_base is None:
            buffers.append(Buffer(index, size, first, last + 1, spec.mem_id or 1, alignment))
    problem = Problem.of(buffers)
    plan = planner(problem)
    result = MemoryAlgoResult()
    for buffer in buffers:
        place = SpecAllocResult(buffer.mem_id, 0, plan.offsets[buffer.id])
        result.spec_dict[specs[buffer.id]] = place
    for spec in specs:
        place_in_base(spec, result)
    peaks = plan.peaks(problem)
    result.bufsizes = [0] * (max(peaks, default=1) + 1)
    for mem_id, peak in peaks.items():
        result.bufsizes[mem_id] = peak + extra_padding
    return result


def place_in_base(spec: TensorSpec, result: MemoryAlgoResult) -> None:
    """Places a spec with a `storage_base` inside this base; other specs are not changed.

    Raises:
        PlanError: the bases of the spec form a cycle, or the last base is not in `result`.
    """
    offset, base, seen = 0, spec, {spec}
    while base.storage_base is not None:
        offset += base.storage_base_offset
        base = base.storage_base
        if base in seen:
            raise PlanError(f"{spec!r} is its own storage_base")
        seen.add(base)
    if base is spec:
        return
    if base not in result.spec_dict:
        raise PlanError(f"{spec!r} has the storage_base {base!r}, which is not planned")
    place = result.spec_dict[base]
    result.spec_dict[spec] = SpecAllocResult(place.mem_id, place.mem_obj_id, place.mem_offset + offset)
