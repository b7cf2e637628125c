"""Moves images into larger storages, where the pixels have a larger stride."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from rushlight.backends.cpu.plan.aliases import Accesses
from rushlight.backends.cpu.plan.node import Chain, Convolution, PlanNode
from rushlight.backends.cpu.plan.operation import Operand, Operation
from rushlight.backends.cpu.plan.tables import (
    Copy,
    DepthwiseConv2d,
    Gemm,
    GroupNormStatistics,
    Normalize,
    Pool2d,
    Reduce,
    Resize2d,
)
from rushlight.backends.cpu.plan.tensor import Storage, Tensor

# Operations that support any pixel stride of all operands that can be in the arena.
_BY_PIXEL = (Pool2d, Chain, Copy, Resize2d, Normalize, DepthwiseConv2d)
# The operands of other operations that support any pixel stride.
_OPERANDS_BY_PIXEL = {
    Gemm: ("input", "residual", "output"),
    Reduce: ("input",),
    GroupNormStatistics: ("input",),
}


@dataclass(frozen=True)
class ChannelSlice:
    """The location of a dense image in a larger storage; `place_concatenations` has an example.

    Channel c of pixel p is at p * pixel_stride + offset + c in the larger storage, and at p * channels + c in
    the storage of the image.
    """

    storage: Storage  # the larger storage
    channels: int  # of the image
    pixel_stride: int
    offset: int

    def translate(self, view: Tensor) -> Tensor | None:
        """Returns a view of the storage of the image as a view of the larger storage.

        The result is None if a row of elements of the view continues in the channels of the next pixel, or if
        a number is unknown.
        """
        numbers = (*view.sizes, *view.strides, view.offset)
        if not all(isinstance(number, int) for number in numbers):
            return None
        pixel, channel = divmod(view.offset, self.channels)
        last = channel  # the last channel of a pixel that the view reads
        strides = []
        for size, stride in zip(view.sizes, view.strides, strict=True):
            if size == 1:
                strides.append(1)
            elif stride % self.channels == 0:
                strides.append(stride // self.channels * self.pixel_stride)
            else:
                last += (size - 1) * stride
                strides.append(stride)
        if last >= self.channels:
            return None
        offset = pixel * self.pixel_stride + channel + self.offset
        return replace(view, storage=self.storage, strides=tuple(strides), offset=offset)


def use_slice(
    storage: Storage, location: ChannelSlice, accesses: Accesses, removed: Collection[PlanNode] = ()
) -> bool:
    """Lets all steps use a slice instead of the storage, and removes the copies that are then unnecessary.

    Args:
        storage: the storage of the image.
        location: the slice of the larger storage.
        accesses: the accesses of all steps, which are changed.
        removed: steps that copy the image to the slice.

    Returns:
        Whether all steps support the pixel stride of the slice. Otherwise nothing is changed.
    """
    others = [step for step in accesses.users(storage) if step not in removed]
    changed = {step: _with_slice(storage, location, step) for step in others}
    if any(operation is None for operation in changed.values()):
        return False
    for step, operation in changed.items():
        assert operation is not None
        accesses.change(step, operation)
    for step in removed:
        accesses.remove(step)
    return True


def _with_slice(storage: Storage, location: ChannelSlice, step: PlanNode) -> Operation[Tensor] | None:
    """Returns the step's operation with views of the slice; None if the step does not support them."""
    operands = [(operand, view) for operand, view in step.operation.operands() if view.storage is storage]
    if any(
        location.translate(view) is None or not _supports_pixel_stride(step, operand)
        for operand, view in operands
    ):
        return None

    def change(_: Operand, view: Tensor) -> Tensor:
        translated = location.translate(view) if view.storage is storage else view
        assert translated is not None
        return translated

    return step.operation.mapped(change)


def _supports_pixel_stride(step: PlanNode, operand: Operand) -> bool:
    """Returns whether the operand may have any pixel stride."""
    operation = step.operation
    if isinstance(operation, Convolution):
        if type(operation) is not Convolution or operand.name == "residual":
            return False
        # Only a Gemm supports a residual whose layout differs from the layout of the output.
        return operand.is_read or operation.residual is None
    return isinstance(operation, _BY_PIXEL) or operand.name in _OPERANDS_BY_PIXEL.get(type(operation), ())
