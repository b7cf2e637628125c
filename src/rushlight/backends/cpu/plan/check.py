"""Verifies finished plans: executes a plan symbolically, step by step, and tracks the content of all memory.

The check reads only the tables of the plan. It shares no code with the planner, except for the descriptions
of operands from the schema. Dynamic sizes have their upper bounds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from rushlight.backends.cpu.plan.evaluate import numbers
from rushlight.backends.cpu.plan.operation import Effect, Operand
from rushlight.backends.cpu.plan.tables import Plan, Step, StorageKind
from rushlight.format.elements import ELEMENT_SIZES
from rushlight.format.program import ScalarType
from rushlight.ir.errors import InternalError

Dims = tuple[tuple[int, int], ...]  # size and stride of each dimension, outermost first
Ends = npt.NDArray[np.int64]


def check_plan(plan: Plan, versions: Sequence[Sequence[int]]) -> None:
    """Checks the memory accesses of a plan.

    Every element that a step reads must belong to an input or a constant, or an earlier step must have
    written it, and no step in between may have overwritten its memory. A step may overwrite its own input
    only if its operation allows this and both have the same layout. An element must not be written again
    after a step has read it. Views must be within their storages, and storages of the arena within the arena.
    At the end, all elements of all outputs must be written. Before a step reads a state, the state must have
    been updated as often as `versions` requires.

    Args:
        plan: the plan.
        versions: for each operand of each step, in the order of Operation.operands(), the number of updates
            of its state in this call; an operand that updates the state counts its own update. The number is
            0 for operands that are not states.

    Raises:
        InternalError: the plan is wrong. The message contains the step, the operand and its value.
    """
    _Replay(plan, versions).run()


@dataclass(frozen=True)
class _View:
    """A value of the plan with numbers instead of expressions. Offsets and strides are in elements."""

    storage: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    item: int
    """The size of an element in bytes."""

    @property
    def is_empty(self) -> bool:
        return 0 in self.sizes

    @cached_property
    def dims(self) -> Dims:
        """The dimensions without those of size 1; adjacent dimensions that are contiguous are merged."""
        found: list[tuple[int, int]] = []
        pairs = zip(self.strides, self.sizes, strict=True)
        for stride, size in sorted((pair for pair in pairs if pair[0] and pair[1] != 1), reverse=True):
            if found and found[-1][1] == size * stride:
                found[-1] = (found[-1][0] * size, stride)
            else:
                found.append((size, stride))
        return tuple(found)

    @property
    def end(self) -> int:
        """The offset after the last element."""
        return self.offset + _reach(self.dims) + 1

    def is_whole(self, length: int) -> bool:
        """Returns whether the view is a whole storage of `length` elements."""
        return (self.offset, self.dims) == _dense(length)

    def has_layout_of(self, other: _View) -> bool:
        """Returns whether both views have the same elements in the same order, at the same offset."""
        mine, others = (
            [pair for pair in zip(view.sizes, view.strides, strict=True) if pair[0] != 1]
            for view in (self, other)
        )
        return (self.offset, self.item, mine) == (other.offset, other.item, others)


def _reach(dims: Dims) -> int:
    return sum((size - 1) * stride for size, stride in dims)


def _dense(length: int) -> tuple[int, Dims]:
    """Returns the offset and the dimensions of a value that has all elements of a storage in their order."""
    return 0, ((length, 1),) if length > 1 else ()


def _within_period(
    parts: dict[int, tuple[int, Dims]], length: int
) -> tuple[dict[int, tuple[int, Dims]], int] | None:
    """Reduces a storage in which all values repeat with the same period to one period.

    Args:
        parts: the offset and the dimensions of each value.
        length: the number of elements of the storage.

    Returns:
        The offsets and dimensions of the values within the period, and the length of the period. The result
        is None if not all values repeat with the same period.
    """
    outermost = {dims[:1] for offset, dims in parts.values() if (offset, dims) != _dense(length)}
    if len(outermost) != 1 or outermost == {()}:
        return None
    ((size, period),) = outermost.pop()
    if period == 1 or size * period != length:
        return None
    inner = {
        value: _dense(period) if (offset, dims) == _dense(length) else (offset, dims[1:])
        for value, (offset, dims) in parts.items()
    }
    fits = all(offset + _reach(dims) < period for offset, dims in inner.values())
    return (inner, period) if fits else None


class _Elements:
    """A set of elements of a storage, as sorted, disjoint intervals."""

    def __init__(self) -> None:
        self.begins: Ends = np.empty(0, np.int64)
        self.ends: Ends = np.empty(0, np.int64)

    @staticmethod
    def of(offset: int, dims: Dims) -> _Elements:
        """Returns the elements of a view."""
        outer, length = dims, 1
        if dims and dims[-1][1] == 1:
            outer, length = dims[:-1], dims[-1][0]
        begins = reduce(
            lambda begins, dim: np.add.outer(begins, np.arange(dim[0], dtype=np.int64) * dim[1]).ravel(),
            outer,
            np.array([offset], np.int64),
        )
        result = _Elements()
        result._set_intervals(begins, begins + length)
        return result

    def add(self, other: _Elements) -> None:
        self._set_intervals(
            np.concatenate((self.begins, other.begins)), np.concatenate((self.ends, other.ends))
        )

    def _set_intervals(self, begins: Ends, ends: Ends) -> None:
        order = np.argsort(begins, kind="stable")
        begins, ends = begins[order], np.maximum.accumulate(ends[order])
        apart = np.flatnonzero(begins[1:] > ends[:-1])
        self.begins = begins[np.append(0, apart + 1)]
        self.ends = ends[np.append(apart, len(ends) - 1)]

    def has(self, other: _Elements) -> bool:
        """Returns whether this set contains all elements of `other`."""
        if not len(self.begins):
            return False
        at = np.searchsorted(self.begins, other.begins, side="right") - 1
        return bool(((at >= 0) & (self.ends[at] >= other.ends)).all())

    def meets(self, other: _Elements) -> bool:
        """Returns whether both sets have a common element."""
        first = np.searchsorted(self.ends, other.begins, side="right")
        last = np.searchsorted(self.begins, other.ends, side="left")
        return bool((last > first).any())


class _Memory:
    """The content of one storage.

    Intervals of elements are computed only if a step does not write the whole storage.

    Args:
        length: the number of elements of the storage.
        views: all values of the storage, by index of the value in the plan.
    """

    def __init__(self, length: int, views: dict[int, _View]) -> None:
        self.length = length
        self._views = views
        self._is_full = length == 0
        self._written = _Elements()
        self._read: dict[int, None] = {}

    @cached_property
    def _parts(self) -> dict[int, _Elements]:
        """The elements of each value.

        If all values repeat with the same period, such as channels of pixels, only the elements of one period
        are computed.
        """
        length = self.length
        parts = {value: (view.offset, view.dims) for value, view in self._views.items() if not view.is_empty}
        while (inner := _within_period(parts, length)) is not None:
            parts, length = inner
        return {value: _Elements.of(offset, dims) for value, (offset, dims) in parts.items()}

    def write(self, value: int) -> bool:
        """Records a write of a value. Returns False if a step has read some of its elements before."""
        view = self._views[value]
        if view.is_empty:
            return True
        is_new = not any(self._parts[value].meets(self._parts[read]) for read in self._read)
        if view.is_whole(self.length):
            self._is_full = True
        elif not self._is_full:
            self._written.add(self._parts[value])
        return is_new

    def has(self, value: int) -> bool:
        """Returns whether all elements of a value are written."""
        return self._is_full or self._views[value].is_empty or self._written.has(self._parts[value])

    def read(self, value: int) -> None:
        """Records a read of a value."""
        if not self._views[value].is_empty:
            self._read[value] = None


@dataclass(frozen=True)
class _Access:
    """An operand of a step: its index among the step's operands, its field, and the index of its value."""

    place: int
    operand: Operand
    value: int


class _Replay:
    """The symbolic execution of a plan."""

    def __init__(self, plan: Plan, versions: Sequence[Sequence[int]]) -> None:
        self._plan = plan
        self._versions = versions
        self._step = 0
        self._views = _views(plan)
        by_storage: defaultdict[int, dict[int, _View]] = defaultdict(dict)
        for value, view in enumerate(self._views):
            by_storage[view.storage][value] = view
        self._memory = [
            _Memory(self._length(index, by_storage[index]), by_storage[index])
            for index in range(len(plan.storages))
        ]
        self._updates: defaultdict[int, int] = defaultdict(int)  # by state
        self._allocations: list[tuple[int, int, int]] = []  # sorted (begin, end, storage) of arena storages
        self._owners: set[int] = set()  # the storages in `_allocations`
        self._overwritten: dict[int, tuple[int, int]] = {}
        """For each storage of the arena that was overwritten: the step and the storage that overwrote it."""

    def _length(self, index: int, views: dict[int, _View]) -> int:
        """Returns the number of elements of a storage."""
        storage = self._plan.storages[index]
        if storage.kind == StorageKind.ARGUMENT:
            value = self._plan.arguments[storage.index].value
            assert value is not None
            return prod(self._views[value].sizes)
        return storage.bytes // next((view.item for view in views.values()), 1)

    def run(self) -> None:
        for value, view in enumerate(self._views):
            length = self._memory[view.storage].length
            if not view.is_empty and not 0 <= view.offset < view.end <= length:
                raise InternalError(
                    f"the plan is wrong: value {value} is not within the {length} elements of storage "
                    f"{view.storage}"
                )
        for index, step in enumerate(self._plan.steps):
            self._step = index
            self._run(step)
        for index, argument in enumerate(self._plan.arguments):
            if argument.is_output and (argument.value is None or not self._holds(argument.value)):
                raise InternalError(
                    f"the plan is wrong: no step writes some of the elements of output argument {index}"
                )

    def _run(self, step: Step) -> None:
        operands = [
            _Access(place, operand, value) for place, (operand, value) in enumerate(step.operation.operands())
        ]
        read = [access for access in operands if access.operand.is_read]
        written = [access for access in operands if not access.operand.is_read]
        for access in read:
            self._read(access)
        for access in written:
            if access.operand.effect is Effect.UPDATES and not self._holds(access.value):
                self._fail(access, "changes elements that no step has written")
            self._write(access)
        for access in written:
            if self._views[access.value].storage in self._overwritten:
                self._fail(access, "writes one output over another output")
        for access in read:
            if self._views[access.value].storage not in self._overwritten:
                continue
            is_alike = len(written) == 1 and self._have_same_memory(access.value, written[0].value)
            if not access.operand.in_place or not is_alike:
                self._fail(access, "reads memory that it also overwrites")

    def _kind(self, value: int) -> StorageKind:
        return StorageKind(self._plan.storages[self._views[value].storage].kind)

    def _is_input(self, value: int) -> bool:
        storage = self._plan.storages[self._views[value].storage]
        return storage.kind == StorageKind.ARGUMENT and not self._plan.arguments[storage.index].is_output

    def _holds(self, value: int) -> bool:
        """Returns whether each element of a value was written."""
        is_given = self._kind(value) in (StorageKind.CONSTANT, StorageKind.STATE) or self._is_input(value)
        return is_given or self._memory[self._views[value].storage].has(value)

    def _have_same_memory(self, a: int, b: int) -> bool:
        """Returns whether two values have the same bytes of the arena in the same order."""
        begins = (self._plan.storages[self._views[value].storage].offset for value in (a, b))
        return len(set(begins)) == 1 and self._views[a].has_layout_of(self._views[b])

    def _read(self, access: _Access) -> None:
        value = access.value
        storage = self._views[value].storage
        if storage in self._overwritten:
            step, other = self._overwritten[storage]
            self._fail(access, f"reads memory that step {step} has overwritten with storage {other}")
        if self._kind(value) is StorageKind.STATE:
            if self._updates[storage] != self._versions[self._step][access.place]:
                self._fail(access, f"reads a state that has been updated {self._updates[storage]} times")
        elif not self._holds(value):
            self._fail(access, "reads elements that no step has written")
        else:
            self._memory[storage].read(value)

    def _write(self, access: _Access) -> None:
        value = access.value
        storage = self._views[value].storage
        kind = self._kind(value)
        if kind is StorageKind.CONSTANT or self._is_input(value):
            self._fail(access, "writes over an input or a constant")
        if kind is StorageKind.STATE:
            self._updates[storage] += 1
            if self._updates[storage] != self._versions[self._step][access.place]:
                required = self._versions[self._step][access.place]
                self._fail(access, f"is update {self._updates[storage]} of its state instead of {required}")
            return
        if kind is StorageKind.ARENA:
            self._allocate(access, storage)
        if not self._memory[storage].write(value):
            self._fail(access, "writes over elements that an earlier step or the same step has read")

    def _allocate(self, access: _Access, storage: int) -> None:
        """Registers a storage of the arena at its first write; overlapping storages become overwritten."""
        if storage in self._overwritten:
            step = self._overwritten[storage][0]
            self._fail(access, f"writes to memory that another storage has used since step {step}")
        entry = self._plan.storages[storage]
        begin, end = entry.offset, entry.offset + entry.bytes
        if storage in self._owners or begin == end:
            return
        if end > self._plan.arena_bytes:
            self._fail(access, "writes beyond the arena")
        first = bisect_left(self._allocations, (begin, 0, 0))
        if first and self._allocations[first - 1][1] > begin:
            first -= 1
        last = bisect_left(self._allocations, (end, 0, 0))
        for _, _, other in self._allocations[first:last]:
            self._overwritten[other] = (self._step, storage)
            self._owners.remove(other)
        self._allocations[first:last] = [(begin, end, storage)]
        self._owners.add(storage)

    def _fail(self, access: _Access, what: str) -> NoReturn:
        operation = self._plan.steps[self._step].operation
        raise InternalError(
            f"the plan is wrong: step {self._step} ({type(operation).__name__}) {what}: "
            f"{access.operand.name}, value {access.value} of storage {self._views[access.value].storage}"
        )


def _views(plan: Plan) -> list[_View]:
    sizes = numbers(plan)
    return [
        _View(
            value.storage,
            sizes[value.offset],
            tuple(max(sizes[index], 0) for index in value.sizes),
            tuple(sizes[index] for index in value.strides),
            ELEMENT_SIZES[ScalarType(value.dtype)],
        )
        for value in plan.values
    ]
