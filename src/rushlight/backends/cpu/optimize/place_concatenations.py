"""Removes the copies of concatenations: steps write their results directly into the concatenated tensor.

Example: an image a with 3 channels and an image b with 5 channels, both of 2 x 2 pixels, are concatenated.
All images are [n, h, w, c] in memory: the channels of a pixel are adjacent. The pixel stride is the number of
elements from the start of a pixel to the start of the next pixel.

    storage      elements   pixel stride   position of channel c of pixel p
    a                  12              3    p * 3 + c
    b                  20              5    p * 5 + c
    result             32              8    p * 8 + c

Lowering makes four steps: the steps that compute a and b, and a copy of each to the result. The copies move a
to the channels 0 to 2 of the result, and b to the channels 3 to 7. Channel c of pixel p of b is then at
p * 8 + 3 + c in the result. This location is a slice of the channels:

    ChannelSlice(result, channels=5, pixel_stride=8, offset=3)

If every step that uses b supports a pixel stride of 8, all of them use the slice instead of b, and the copy
is removed. Each view of b is translated (the stride of a dimension of one element is irrelevant):

    view of b                  sizes           strides          offset
    the whole image            (1, 2, 2, 5)    (20, 10, 5, 1)    0
    the same in the slice      (1, 2, 2, 5)    (1, 16, 8, 1)     3
    channel 2 of pixel 2       (1,)            (1,)             12 = 2 * 5 + 2
    the same in the slice      (1,)            (1,)             21 = 2 * 8 + 2 + 3

In another case, a and b are adjacent channels of one image x. For example, x has 10 channels, a is x[:, 0:3]
and b is x[:, 3:8]. Then x already contains the concatenation, as
ChannelSlice(x, channels=8, pixel_stride=10, offset=0). The steps that read the result read this slice of x
instead, and both copies are removed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from rushlight.backends.cpu.optimize.channel_slices import ChannelSlice, use_slice
from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.optimize.read_several_inputs import read_several_inputs
from rushlight.backends.cpu.plan.aliases import Accesses
from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tables import (
    Copy,
    StorageKind,
)
from rushlight.backends.cpu.plan.tensor import Storage, Tensor

# An input is early if there are more steps than this between its last writer and its copy.
_EARLY_STEPS = 8
# Early inputs are copied if this reduces the peak memory to at most this share.
_WORTH_COPIES = 0.95


class _CopiedDimension(NamedTuple):
    """A dimension of more than one element of a copy from an input to its part of a concatenation."""

    size: int
    source_stride: int
    target_stride: int


class _PlacedSteps(NamedTuple):
    """Steps that write into concatenations.

    Attributes:
        steps: the steps, without the copies that are unnecessary.
        early: the indices of the removed copies of early inputs in the steps before.
    """

    steps: list[PlanNode]
    early: frozenset[int]


def place_concatenations(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Lets steps write directly into the storage to which copies would move their whole result.

    If an input of a concatenation is computed long before the other inputs, such as a skip connection of a
    U-Net, the memory of the whole result is in use for a long time. If this increases the peak memory,
    convolutions read such an input from its own storage, or the input is copied.
    """
    return _with_lower_peak(
        _place_inputs(steps, context), _place_inputs(read_several_inputs(steps), context), context
    )


def _with_lower_peak(placed: list[PlanNode], other: list[PlanNode], context: Context) -> list[PlanNode]:
    """Returns `other` if its peak memory is clearly smaller than that of `placed`; otherwise `placed`."""
    return placed if _peak(other, context) > _WORTH_COPIES * _peak(placed, context) else other


def _place_inputs(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Removes the copies of all inputs, or of all but the early inputs if this reduces the peak memory."""
    placed = _remove_copies(steps, frozenset())
    if not placed.early:
        return placed.steps
    copied = _remove_copies(steps, placed.early)
    return _with_lower_peak(placed.steps, copied.steps, context)


def _remove_copies(steps: list[PlanNode], kept: frozenset[int]) -> _PlacedSteps:
    """Lets steps write into concatenations, and removes the copies.

    Args:
        steps: the steps, which are not changed.
        kept: indices of copies in `steps` that are not removed.
    """
    steps = [replace(step) for step in steps]
    accesses = Accesses(steps)
    concatenations = dict.fromkeys(s for s in accesses.storages() if _is_concatenation(s, accesses))
    last_write = {s: max(map(accesses.position, accesses.writers(s)), default=0) for s in accesses.storages()}
    # Copies to storages with elements that are written twice (first padding, then the image) are kept,
    # because their order is important.
    copies = [
        (index, step)
        for index, step in enumerate(steps)
        if step.of(Copy) is not None and index not in kept and step.output.storage in concatenations
    ]
    early = set()
    for index, step in reversed(copies):
        (source,), target = step.operation.reads(), step.output
        if source.storage is target.storage:
            continue
        location = _slice_of_input(source, target)
        is_early = accesses.position(step) - last_write.get(source.storage, 0) > _EARLY_STEPS
        if location is not None and use_slice(source.storage, location, accesses, [step]) and is_early:
            early.add(index)
    for storage in concatenations:
        _replace_by_adjacent_inputs(storage, accesses)
    return _PlacedSteps([step for step in steps if step in accesses], frozenset(early))


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


def _copied_dimensions(source: Tensor, target: Tensor) -> list[_CopiedDimension] | None:
    """Returns the dimensions of a copy that have more than one element.

    The result is None if a number is unknown, if the copy converts the dtype, or if the source is not in the
    arena.
    """
    numbers = (*source.sizes, *source.strides, *target.strides, source.offset, target.offset)
    is_known = all(isinstance(number, int) for number in numbers)
    if not is_known or source.dtype is not target.dtype or source.storage.kind is not StorageKind.ARENA:
        return None
    dims = zip(source.sizes, source.strides, target.strides, strict=True)
    return [_CopiedDimension(*dim) for dim in dims if dim[0] != 1]


def _slice_of_input(source: Tensor, target: Tensor) -> ChannelSlice | None:
    """Returns the slice of the concatenation to which a copy moves a whole input.

    In the example, this is the slice of the result for b.

    Args:
        source: the input, which must be dense.
        target: the part of the concatenation that the copy writes, with the dimensions of `source`.

    Returns:
        The slice; None if the part is not a slice of the channels, or if a number is unknown.
    """
    dims = _copied_dimensions(source, target)
    if dims is None or len(dims) < 2 or 0 in source.sizes or not source.is_dense():
        return None
    channel, *pixel = sorted(dims, key=lambda dim: (dim.source_stride, dim.size, dim.target_stride))
    channels, pixel_stride = channel.size, pixel[0].target_stride
    if channel.target_stride != 1 or pixel_stride < channels:
        return None
    if any(dim.target_stride != dim.source_stride // channels * pixel_stride for dim in pixel):
        return None
    return ChannelSlice(target.storage, channels, pixel_stride, target.offset)


def _slice_of_result(source: Tensor, target: Tensor) -> ChannelSlice | None:
    """Returns the slice of an input's storage that is the whole concatenation, if the other inputs agree.

    In the second case of the module docstring, the copies of a and b have the same slice of x.

    Args:
        source: the input, a view of a larger storage.
        target: the part of the concatenation to which the input is copied, with the dimensions of `source`.

    Returns:
        The slice; None if there is none, or if a number is unknown.
    """
    dims = _copied_dimensions(source, target)
    if dims is None or len(dims) < 2:
        return None
    channel, *pixel = sorted(dims, key=lambda dim: (dim.target_stride, dim.size, dim.source_stride))
    if channel.target_stride != 1 or channel.source_stride != 1:
        return None
    # The concatenation is dense, so that its pixel stride is its number of channels.
    channels, pixel_stride = pixel[0].target_stride, pixel[0].source_stride
    first_pixel, first_channel = divmod(target.offset, channels)
    if first_channel + channel.size > channels or pixel_stride < channels:
        return None
    for dim in pixel:
        pixels, rest = divmod(dim.target_stride, channels)
        if rest != 0 or dim.source_stride != pixels * pixel_stride:
            return None
    offset = source.offset - first_pixel * pixel_stride - first_channel
    return ChannelSlice(source.storage, channels, pixel_stride, offset) if offset >= 0 else None


def _replace_by_adjacent_inputs(storage: Storage, accesses: Accesses) -> None:
    """Removes a concatenation of inputs that are already adjacent, in the same order, in another storage."""
    writers = accesses.writers(storage)
    if not writers or not _is_concatenation(storage, accesses):
        return
    slices = {_slice_of_result(step.operation.reads()[0], step.output) for step in writers}
    location = slices.pop()
    if location is not None and not slices and location.storage is not storage:
        use_slice(storage, location, accesses, writers)
