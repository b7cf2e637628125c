"""Removes the copies of concatenations: steps write their results directly into the concatenated tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.optimize.read_parts import read_parts
from rushlight.backends.cpu.plan.aliases import Accesses
from rushlight.backends.cpu.plan.node import Chain, Convolution, PlanNode
from rushlight.backends.cpu.plan.operation import Operand, Operation
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tables import (
    Copy,
    GroupNormStatistics,
    Normalize,
    Pool2d,
    Reduce,
    Resize2d,
    StorageKind,
)
from rushlight.backends.cpu.plan.tensor import Storage, Tensor

# Operations that support any stride between the pixels of all their operands.
_BY_PIXEL = (Pool2d, Chain, Copy, Resize2d, Normalize)

# An input is early if there are more steps than this between its last writer and its copy.
_EARLY_STEPS = 8
# Early inputs are copied if this reduces the peak memory to at most this share.
_WORTH_COPIES = 0.95

# Operations that support any stride between the pixels of the operand `input`.
_READ_BY_PIXEL = (Reduce, GroupNormStatistics)


@dataclass(frozen=True)
class _Place:
    """The place of a dense image storage in another storage.

    The channels of pixel p start at p * step + offset in the other storage.
    """

    storage: Storage
    channels: int  # of the dense storage
    step: int
    offset: int

    def moved(self, tensor: Tensor) -> Tensor | None:
        """Returns a view of the dense storage as a view of the other storage; None if that is impossible."""
        numbers = (*tensor.sizes, *tensor.strides, tensor.offset)
        if not all(isinstance(number, int) for number in numbers):
            return None
        pixel, channel = divmod(tensor.offset, self.channels)
        last = channel  # the last channel of a pixel that the view reads
        strides = []
        for size, stride in zip(tensor.sizes, tensor.strides, strict=True):
            if size == 1:
                strides.append(1)
            elif stride % self.channels == 0:
                strides.append(stride // self.channels * self.step)
            else:
                last += (size - 1) * stride
                strides.append(stride)
        if last >= self.channels:
            return None
        offset = pixel * self.step + channel + self.offset
        return replace(tensor, storage=self.storage, strides=tuple(strides), offset=offset)


def place_concatenations(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Lets steps write directly into the storage to which copies would move their whole result.

    If an input of a concatenation is computed long before the other inputs, such as a skip connection of a
    U-Net, the memory of the whole result is in use for a long time. If this increases the peak memory,
    convolutions read such an input from its own storage, or the input is copied.
    """
    before = _Arrangement.of(steps)
    placed = _Arrangement.of(_place_all(steps, context))
    peak = _peak(placed.restored(), context)
    separate = _place_all(read_parts(before.restored()), context)
    return placed.restored() if _peak(separate, context) > _WORTH_COPIES * peak else separate


@dataclass(frozen=True)
class _Arrangement:
    """Steps and their operations at one moment; `restored` gives the steps these operations again."""

    entries: list[tuple[PlanNode, Operation[Tensor]]]

    @classmethod
    def of(cls, steps: list[PlanNode]) -> _Arrangement:
        return cls([(step, step.operation) for step in steps])

    def restored(self) -> list[PlanNode]:
        """Restores the operation of each step, and returns the steps."""
        for step, operation in self.entries:
            step.operation = operation
        return [step for step, _ in self.entries]


def _place_all(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    separate = _Arrangement.of(steps)
    steps, early = _place_parts(steps, frozenset())
    if not early:
        return steps
    placed, peak = _Arrangement.of(steps), _peak(steps, context)
    steps, _ = _place_parts(separate.restored(), early)
    return placed.restored() if _peak(steps, context) > _WORTH_COPIES * peak else steps


def _place_parts(
    steps: list[PlanNode], kept: frozenset[PlanNode]
) -> tuple[list[PlanNode], frozenset[PlanNode]]:
    """Lets steps write into concatenations, and removes the copies.

    Args:
        steps: the steps.
        kept: copies that are not removed.

    Returns:
        The remaining steps, and the removed copies of early inputs.
    """
    accesses = Accesses(steps)
    concatenations = dict.fromkeys(s for s in accesses.storages() if _is_concatenation(s, accesses))
    written = {s: max(map(accesses.turn, accesses.writers(s)), default=0) for s in accesses.storages()}
    # Copies to storages with elements that are written twice (first padding, then the image) are kept,
    # because their order is important.
    copies = [
        step
        for step in steps
        if step.of(Copy) is not None and step not in kept and step.output.storage in concatenations
    ]
    early = set()
    for step in reversed(copies):
        (source,), target = step.operation.reads(), step.output
        if source.storage is target.storage:
            continue
        place = _place(source, target)
        is_early = accesses.turn(step) - written.get(source.storage, 0) > _EARLY_STEPS
        if place is not None and _move(source.storage, place, accesses, [step]) and is_early:
            early.add(step)
    for storage in concatenations:
        _replace_by_adjacent_inputs(storage, accesses)
    return [step for step in steps if step in accesses], frozenset(early)


def _peak(steps: list[PlanNode], context: Context) -> int:
    """Returns the maximum number of bytes of arena storages that are in use at the same time."""
    spans: dict[Storage, tuple[int, int]] = {}
    for index, step in enumerate(steps):
        for storage in (*step.reads(), *step.writes()):
            if storage.kind is StorageKind.ARENA:
                first, _ = spans.get(storage, (index, index))
                spans[storage] = (first, index)
    changes = [0] * (len(steps) + 1)
    for storage, (first, last) in spans.items():
        size = context.symbols.upper(storage.numel) * storage.dtype.itemsize
        changes[first] += size
        changes[last + 1] -= size
    return max(accumulate(changes))


def _is_concatenation(storage: Storage, accesses: Accesses) -> bool:
    """Returns whether only copies write the storage, each element once."""
    writers = accesses.writers(storage)
    return (
        storage.kind is StorageKind.ARENA
        and all(step.of(Copy) is not None for step in writers)
        and same(sum(product(step.output.sizes) for step in writers), storage.numel)
    )


def _place(source: Tensor, target: Tensor) -> _Place | None:
    """Returns the place that the storage of `source` has after a copy of `source` to `target`, or None."""
    numbers = (*source.sizes, *source.strides, *target.strides, target.offset)
    is_known = all(isinstance(number, int) for number in numbers)
    if not is_known or source.dtype is not target.dtype or source.storage.kind is not StorageKind.ARENA:
        return None
    dims = sorted(
        (s, n, t) for n, s, t in zip(source.sizes, source.strides, target.strides, strict=True) if n != 1
    )
    if len(dims) < 2 or dims[0][2] != 1 or 0 in source.sizes or not source.is_dense():
        return None
    channels, step = dims[0][1], dims[1][2]
    if step < channels or any(t != s // channels * step for s, _, t in dims[1:]):
        return None
    return _Place(target.storage, channels, step, target.offset)


def _moved(storage: Storage, place: _Place, step: PlanNode) -> Operation[Tensor] | None:
    """Returns the step's operation on the moved storage; None if it does not support the new layout."""
    operands = [
        (operand, tensor) for operand, tensor in step.operation.operands() if tensor.storage is storage
    ]
    if any(
        place.moved(tensor) is None or not _supports_layout(step, operand) for operand, tensor in operands
    ):
        return None

    def change(_: Operand, tensor: Tensor) -> Tensor:
        moved = place.moved(tensor) if tensor.storage is storage else tensor
        assert moved is not None
        return moved

    return step.operation.mapped(change)


def _supports_layout(step: PlanNode, operand: Operand) -> bool:
    operation = step.operation
    if isinstance(operation, Convolution):
        if type(operation) is not Convolution or operand.name == "residual":
            return False
        # Only a Gemm supports a residual whose layout differs from the layout of the output.
        return operand.is_read or operation.residual is None
    return isinstance(operation, _BY_PIXEL) or (
        isinstance(operation, _READ_BY_PIXEL) and operand.name == "input"
    )


def _move(storage: Storage, place: _Place, accesses: Accesses, removed: list[PlanNode]) -> bool:
    """Moves the storage to its place, and removes the copies that are then unnecessary.

    Returns:
        Whether all steps support the new layout. Otherwise nothing is changed.
    """
    others = [step for step in accesses.users(storage) if step not in removed]
    moved = {step: _moved(storage, place, step) for step in others}
    if any(operation is None for operation in moved.values()):
        return False
    for step, operation in moved.items():
        assert operation is not None
        accesses.change(step, operation)
    for step in removed:
        accesses.remove(step)
    return True


def _replace_by_adjacent_inputs(storage: Storage, accesses: Accesses) -> None:
    """Removes a concatenation of inputs that are already adjacent, in the same order, in another storage."""
    writers = accesses.writers(storage)
    if not writers or not _is_concatenation(storage, accesses):
        return
    places = {_place_of_target(step.operation.reads()[0], step.output) for step in writers}
    place = places.pop()
    if place is not None and not places and place.storage is not storage:
        _move(storage, place, accesses, writers)


def _place_of_target(source: Tensor, target: Tensor) -> _Place | None:
    """Returns the place of the storage of `target` at which `target` coincides with `source`, or None."""
    numbers = (*source.sizes, *source.strides, *target.strides, source.offset, target.offset)
    is_known = all(isinstance(number, int) for number in numbers)
    if not is_known or source.dtype is not target.dtype or source.storage.kind is not StorageKind.ARENA:
        return None
    dims = sorted(
        (t, n, s) for n, s, t in zip(source.sizes, source.strides, target.strides, strict=True) if n != 1
    )
    if len(dims) < 2 or dims[0][0] != 1 or dims[0][2] != 1:
        return None
    # The smallest stride of the target between pixels is the number of channels of the whole concatenation.
    channels, _, step = dims[1]
    if target.offset % channels + dims[0][1] > channels or step < channels:
        return None
    if any(t % channels != 0 or s != t // channels * step for t, _, s in dims[1:]):
        return None
    pixel, channel = divmod(target.offset, channels)
    offset = source.offset - pixel * step - channel
    return _Place(source.storage, channels, step, offset) if offset >= 0 else None
