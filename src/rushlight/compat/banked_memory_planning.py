"""Planning of several memories of limited sizes ("banks"), as `executorch.exir.banked_memory_planning`.

`MemoryPlanningPass(memories=...)` is the planner for memories with costs: see `rushlight.memory.hierarchy`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from rushlight.compat.memory_checks import get_node_tensor_specs
from rushlight.ir.spec import DEFAULT_ALIGNMENT, DeviceType, TensorSpec
from rushlight.ir.text_table import text_table
from rushlight.memory.algorithms import (
    MemoryAlgoResult,
    MemoryPlanningAlgorithmSuite,
    SpecAllocResult,
    place_in_base,
)
from rushlight.memory.first_fit import by_size, lowest_gap
from rushlight.memory.occupancy import Occupancy
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.memory.problem import Buffer, PlanError, align_up
from rushlight.memory.slots import Slots, by_slot_size


class BankPlacementError(PlanError):
    """The tensors of a graph do not fit into the banks."""


@dataclass(frozen=True)
class Bank:
    """A memory that the planner may fill.

    Attributes:
        name: a name for reports and messages, such as "sram".
        size: the bytes that the program may take.
        mem_id: the number of the memory in the program, from 1.
        alignment: the alignment in bytes of the tensors in it, a multiple of that of the plan; None takes
            that of the plan.
    """

    name: str
    size: int
    mem_id: int
    alignment: int | None = None


class TargetMemoryMap:
    """The banks of a device, in the order in which they are filled.

    Memories without a bank hold only what a pass puts there by `mem_id`, and have no limit.

    Args:
        banks: the banks, the preferred one first.

    Raises:
        ValueError: there is none, two have the same name or number, or a number is not positive.
    """

    def __init__(self, banks: Sequence[Bank]) -> None:
        if not banks:
            raise ValueError("a memory map needs at least one bank")
        for what in ("name", "mem_id"):
            counts = Counter(getattr(bank, what) for bank in banks)
            twice = [value for value, count in counts.items() if count > 1]
            if twice:
                raise ValueError(f"several banks have the {what} {twice[0]!r}")
        for bank in banks:
            for what in ("size", "mem_id", "alignment"):
                value = getattr(bank, what)
                if value is not None and value < 1:
                    raise ValueError(f"bank {bank.name} has the {what} {value}; it is a positive number")
        self.banks = list(banks)
        self._by_id = {bank.mem_id: bank for bank in banks}

    def mem_ids(self) -> list[int]:
        """Returns the numbers of the banks, the preferred one first."""
        return [bank.mem_id for bank in self.banks]

    def manages(self, mem_id: int) -> bool:
        """Whether the memory with a number is a bank."""
        return mem_id in self._by_id

    def bank(self, mem_id: int) -> Bank:
        """Returns the bank with a number.

        Raises:
            ValueError: there is none.
        """
        if mem_id not in self._by_id:
            raise ValueError(f"no bank has the mem_id {mem_id}; there are {self.describe()}")
        return self._by_id[mem_id]

    def mem_id(self, name: str) -> int:
        """Returns the number of the bank with a name.

        Raises:
            ValueError: there is none.
        """
        for bank in self.banks:
            if bank.name == name:
                return bank.mem_id
        raise ValueError(f"no bank has the name {name!r}; there are {self.describe()}")

    def describe(self) -> str:
        """Returns the banks as text."""
        return ", ".join(f"{bank.name} (mem_id {bank.mem_id}, {bank.size} bytes)" for bank in self.banks)


class _Space(Protocol):
    """The bytes of a memory that are in use."""

    def find(self, buffer: Buffer) -> int:
        """The lowest offset at which the buffer may lie."""

    def take(self, buffer: Buffer, offset: int) -> None:
        """Puts the buffer there."""


class _Gaps:
    """Places each tensor in the lowest gap that is free during its lifetime."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._occupancy = Occupancy(spans)

    def find(self, buffer: Buffer) -> int:
        return lowest_gap(self._occupancy.taken(buffer.lower, buffer.upper), buffer)

    def take(self, buffer: Buffer, offset: int) -> None:
        self._occupancy.take(buffer.lower, buffer.upper, offset, offset + buffer.size)


class _Memory:
    """A memory while it is filled; `bank` is None for one without a limit."""

    def __init__(self, bank: Bank | None, space: _Space, reserved: int, padding: int) -> None:
        self.bank, self._space, self._reserved, self._padding = bank, space, reserved, padding
        self._peak = reserved
        self._is_used = False

    @property
    def size(self) -> int:
        """The bytes that it needs."""
        return self._peak + self._padding * self._is_used

    @property
    def free(self) -> int:
        """The bytes of the bank behind the last tensor."""
        return 0 if self.bank is None else self.bank.size - self.size

    def place(self, buffer: Buffer) -> int | None:
        """Places a tensor and returns its offset, or None if it does not fit."""
        offset = align_up(self._reserved, buffer.alignment)
        offset += self._space.find(buffer) if buffer.size else 0
        end = offset + buffer.size
        if self.bank is not None and max(end, self._peak) + self._padding > self.bank.size:
            return None
        if buffer.size:
            self._space.take(buffer, offset - align_up(self._reserved, buffer.alignment))
        self._peak, self._is_used = max(self._peak, end), True
        return offset


class BankedGreedy:
    """An algorithm that places each tensor in the first bank with room for it, the largest tensor first.

    Tensors whose `mem_id` a pass has set are placed in that memory, before all others. With one bank the
    plan is that of `greedy`.

    Args:
        target: the banks.
        allow_overlapping_allocations: without it, two tensors share bytes only if they begin at the same
            offset.
    """

    def __init__(self, target: TargetMemoryMap, allow_overlapping_allocations: bool = True) -> None:
        self.target = target
        self.allow_overlapping_allocations = allow_overlapping_allocations
        self.__name__ = "banked_greedy"

    def __call__(
        self,
        alignment: int,
        specs: Iterable[TensorSpec],
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature | None = None,
        extra_padding: int = 0,
    ) -> MemoryAlgoResult:
        """Plans the tensors.

        Args:
            alignment: the alignment of every tensor in bytes.
            specs: the tensors.
            graph_module: the graph; its `input_mem_buffer_sizes` are bytes at the start of each memory that
                are in use already.
            graph_signature: its signature, or None.
            extra_padding: bytes after the last tensor of each memory.

        Returns:
            The places.

        Raises:
            BankPlacementError: a tensor fits into no bank, or lies on another device than the CPU, or the
                alignment of a bank is no multiple of that of the plan.
        """
        listed = list(specs)
        self._check(alignment, listed)
        planned = [spec for spec in listed if spec.storage_base is None]
        buffers = {spec: _buffer(place, spec, alignment) for place, spec in enumerate(planned)}
        spans = [(buffer.lower, buffer.upper) for buffer in buffers.values()]
        new: Callable[[], _Space] = lambda: (  # noqa: E731 (the spans are the same for all memories)
            _Gaps(spans) if self.allow_overlapping_allocations else Slots()
        )
        reserved = list(getattr(graph_module, "input_mem_buffer_sizes", None) or ())
        numbers = {*self.target.mem_ids(), *(spec.mem_id for spec in planned if spec.mem_id is not None)}
        memories = {
            number: _Memory(
                self.target.bank(number) if self.target.manages(number) else None,
                new(),
                reserved[number] if number < len(reserved) else 0,
                extra_padding,
            )
            for number in numbers
        }
        order: Callable[[Buffer], Any] = by_size if self.allow_overlapping_allocations else by_slot_size
        result = MemoryAlgoResult()
        for spec in sorted(planned, key=lambda spec: (spec.mem_id is None, *order(buffers[spec]))):
            wanted = self.target.mem_ids() if spec.mem_id is None else [spec.mem_id]
            result.spec_dict[spec] = self._place(spec, buffers[spec], wanted, memories, alignment)
        for spec in listed:
            place_in_base(spec, result)
        result.bufsizes = [0] * (max(numbers) + 1)
        for number, memory in memories.items():
            result.bufsizes[number] = memory.size
        return result

    def _place(
        self,
        spec: TensorSpec,
        buffer: Buffer,
        wanted: Sequence[int],
        memories: dict[int, _Memory],
        alignment: int,
    ) -> SpecAllocResult:
        for number in wanted:
            bank = memories[number].bank
            own = alignment if bank is None or bank.alignment is None else bank.alignment
            size = spec.realign(own)
            offset = memories[number].place(replace(buffer, size=size, alignment=own))
            if offset is not None:
                return SpecAllocResult(number, 0, offset)
        tensor = f"a tensor of {spec.allocated_memory} bytes (shape {list(spec.shape)})"
        if spec.mem_id is not None:
            name = self.target.bank(spec.mem_id).name
            raise BankPlacementError(
                f"{tensor} is pinned to bank {name} (mem_id {spec.mem_id}), which has "
                f"{memories[spec.mem_id].free} bytes left; a pinned tensor has no fallback bank"
            )
        left = ", ".join(
            f"{bank.name} {memories[bank.mem_id].free} of {bank.size}" for bank in self.target.banks
        )
        raise BankPlacementError(f"{tensor} fits into no bank; bytes behind the last tensor: {left}")

    def _check(self, alignment: int, specs: Sequence[TensorSpec]) -> None:
        for bank in self.target.banks:
            if bank.alignment is not None and bank.alignment % alignment:
                raise BankPlacementError(
                    f"bank {bank.name} has the alignment {bank.alignment}, which is not a multiple of "
                    f"{alignment}, the alignment of the plan"
                )
        others = sorted({DeviceType(spec.device).name for spec in specs if spec.device != DeviceType.CPU})
        if others:
            raise BankPlacementError(
                f"banks are memory of the CPU, and the graph has tensors on {', '.join(others)}; plan these "
                "with MemoryPlanningPass(memories=...), whose memories name their device"
            )


def _buffer(place: int, spec: TensorSpec, alignment: int) -> Buffer:
    first, last = spec.lifetime
    if first is None or last is None:
        raise PlanError(f"{spec!r} has no lifetime")
    return Buffer(place, spec.realign(alignment), first, last + 1, spec.mem_id or 1, alignment)


def banked_memory_planning_pass(
    target: TargetMemoryMap,
    alignment: int = DEFAULT_ALIGNMENT,
    allow_overlapping_allocations: bool = True,
    **kwargs: Any,
) -> MemoryPlanningPass:
    """Returns a pass that plans the tensors of a graph into banks.

    Args:
        target: the banks.
        alignment: the alignment of every tensor in bytes.
        allow_overlapping_allocations: as for `BankedGreedy`.
        **kwargs: further options of `MemoryPlanningPass`.

    Raises:
        ValueError: `share_mutable_buffers` is asked for, which needs memory 2 for itself.
    """
    if kwargs.get("share_mutable_buffers"):
        raise ValueError(
            "share_mutable_buffers cannot be used with banks: shared buffers lie in memory 2, and all others "
            "in memory 1"
        )
    planner = BankedGreedy(target, allow_overlapping_allocations)
    suite = MemoryPlanningAlgorithmSuite(algo_list=[planner])
    return MemoryPlanningPass(memory_planning_algo=suite, alignment=alignment, **kwargs)


def planned_mem_ids(graph_module: GraphModule) -> list[int]:
    """Returns the number of the memory of each planned tensor of a graph."""
    return [spec.mem_id for spec in _specs(graph_module) if not spec.const and spec.mem_id is not None]


def _specs(graph_module: GraphModule) -> Iterator[TensorSpec]:
    specs = (spec for node in graph_module.graph.nodes for spec in get_node_tensor_specs(node))
    yield from {id(spec): spec for spec in specs}.values()


def format_placement_report(
    target: TargetMemoryMap, bufsizes: Sequence[int], mem_ids: Iterable[int] = ()
) -> str:
    """Returns a table of the banks.

    Args:
        target: the banks.
        bufsizes: the bytes of each memory, by number.
        mem_ids: the memory of each tensor, as `planned_mem_ids` returns them.
    """
    counts = Counter(mem_ids)
    rows = []
    for bank in target.banks:
        used = bufsizes[bank.mem_id] if bank.mem_id < len(bufsizes) else 0
        share = f"{100 * used / bank.size:.1f}%"
        rows.append([bank.name, str(bank.mem_id), str(used), str(bank.size), share, str(counts[bank.mem_id])])
    head = ["bank", "mem_id", "bytes used", "bytes", "share", "tensors"]
    return text_table(head, rows, right={1, 2, 3, 4, 5})
