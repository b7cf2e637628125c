"""Plans several memories of limited sizes ("banks"), as `executorch.exir.banked_memory_planning` does.

For memories with different costs, use `MemoryPlanningPass(memories=...)`: see `rushlight.memory.hierarchy`.
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
    """A memory of limited size into which the planner may place tensors.

    Attributes:
        name: a name for reports and messages, such as "sram".
        size: the number of bytes that the program may use.
        mem_id: the number of the memory in the program, starting at 1.
        alignment: the alignment of the tensors in this bank, in bytes. It is a multiple of the plan's
            alignment; None means the plan's alignment.
    """

    name: str
    size: int
    mem_id: int
    alignment: int | None = None


class TargetMemoryMap:
    """The banks of a device, in the order in which they are filled.

    A memory that is not a bank has no limit, and contains only tensors whose `mem_id` a pass has set.

    Args:
        banks: the banks, the preferred one first.

    Raises:
        ValueError: `banks` is empty, two banks have the same name or number, or a value is not positive.
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
                    raise ValueError(f"bank {bank.name} has the {what} {value}, but it must be positive")
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
            ValueError: no bank has this number.
        """
        if mem_id not in self._by_id:
            raise ValueError(f"no bank has the mem_id {mem_id}; the banks are {self.describe()}")
        return self._by_id[mem_id]

    def mem_id(self, name: str) -> int:
        """Returns the number of the bank with a name.

        Raises:
            ValueError: no bank has this name.
        """
        for bank in self.banks:
            if bank.name == name:
                return bank.mem_id
        raise ValueError(f"no bank has the name {name!r}; the banks are {self.describe()}")

    def describe(self) -> str:
        """Returns the names, numbers and sizes of the banks as text."""
        return ", ".join(f"{bank.name} (mem_id {bank.mem_id}, {bank.size} bytes)" for bank in self.banks)


class _Space(Protocol):
    """The used and free bytes of a memory."""

    def find(self, buffer: Buffer) -> int:
        """Returns the lowest offset at which the buffer fits."""

    def take(self, buffer: Buffer, offset: int) -> None:
        """Marks the bytes of a buffer at an offset as used."""


class _Gaps:
    """Places each tensor in the lowest gap that is free during the tensor's lifetime."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._occupancy = Occupancy(spans)

    def find(self, buffer: Buffer) -> int:
        return lowest_gap(self._occupancy.taken(buffer.lower, buffer.upper), buffer)

    def take(self, buffer: Buffer, offset: int) -> None:
        self._occupancy.take(buffer.lower, buffer.upper, offset, offset + buffer.size)


class _Memory:
    """A memory during planning. `bank` is None for a memory without a limit."""

    def __init__(self, bank: Bank | None, space: _Space, reserved: int, padding: int) -> None:
        self.bank, self._space, self._reserved, self._padding = bank, space, reserved, padding
        self._peak = reserved
        self._is_used = False

    @property
    def size(self) -> int:
        """The size that the memory needs, in bytes."""
        return self._peak + self._padding * self._is_used

    @property
    def free(self) -> int:
        """The number of bytes behind the last tensor of the bank."""
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
    """An algorithm that places each tensor in the first bank into which the tensor fits, the largest first.

    Tensors whose `mem_id` a pass has set are placed in that memory, before all other tensors. With a single
    bank, the plan equals that of `greedy`.

    Args:
        target: the banks.
        allow_overlapping_allocations: if False, two tensors may share bytes only if they have the same
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
            graph_module: the graph. Its attribute `input_mem_buffer_sizes` has for each memory the number of
                bytes at the start that are already in use.
            graph_signature: the signature of the graph, or None.
            extra_padding: the number of bytes after the last tensor of each memory.

        Returns:
            The memory and offset of each tensor, and the size of each memory.

        Raises:
            BankPlacementError: a tensor does not fit into any bank or is not in CPU memory, or the alignment
                of a bank is not a multiple of the plan's alignment.
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
        raise BankPlacementError(f"{tensor} does not fit into any bank; bytes behind the last tensor: {left}")

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
                f"banks are memory of the CPU, but the graph has tensors on {', '.join(others)}; use "
                "MemoryPlanningPass(memories=...), in which each memory has a device"
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
        allow_overlapping_allocations: the option of `BankedGreedy`.
        **kwargs: other options of `MemoryPlanningPass`.

    Raises:
        ValueError: `share_mutable_buffers` is set, which reserves memory 2 for shared buffers.
    """
    if kwargs.get("share_mutable_buffers"):
        raise ValueError(
            "share_mutable_buffers cannot be used with banks: it places shared buffers in memory 2 and all "
            "other tensors in memory 1"
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
    """Returns a table with the use of each bank.

    Args:
        target: the banks.
        bufsizes: the size of each memory in bytes, by number.
        mem_ids: the number of each tensor's memory, from `planned_mem_ids`.
    """
    counts = Counter(mem_ids)
    rows = []
    for bank in target.banks:
        used = bufsizes[bank.mem_id] if bank.mem_id < len(bufsizes) else 0
        share = f"{100 * used / bank.size:.1f}%"
        rows.append([bank.name, str(bank.mem_id), str(used), str(bank.size), share, str(counts[bank.mem_id])])
    head = ["bank", "mem_id", "bytes used", "bytes", "share", "tensors"]
    return text_table(head, rows, right={1, 2, 3, 4, 5})
