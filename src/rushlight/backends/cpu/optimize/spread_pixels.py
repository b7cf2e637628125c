"""Adds unused elements after the pixels of images whose pixels share too few sets of the cache.

The middle bits of an address select the set of the first level cache to which its cache line belongs. If the
size of a pixel is a multiple of 1024 bytes, for example with 256 or 512 channels, the same channel of all
pixels is in at most four sets. A window of 5 x 5 pixels reads more cache lines than these sets can contain,
so that each line is loaded more than once. A depthwise convolution with 512 channels then takes three times
as long as one with 528 channels.
"""

from __future__ import annotations

from rushlight.backends.cpu.optimize.channel_slices import ChannelSlice, use_slice
from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.plan.aliases import Accesses
from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.tables import DepthwiseConv2d, StorageKind
from rushlight.backends.cpu.plan.tensor import Storage, Tensor

_FEW_SETS = 1024  # bytes; pixels whose size is a multiple of this share at most four sets
_LINE = 64  # bytes of a cache line


def spread_pixels(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Adds an unused cache line after each pixel of inputs of depthwise convolutions.

    An input is changed if its pixels share too few sets of the cache, if it is in the arena, if its sizes are
    known, and if all steps that use it support any pixel stride.
    """
    accesses = Accesses(steps)
    for step in steps:
        depthwise = step.of(DepthwiseConv2d)
        if depthwise is None or (depthwise.window.kernel_h, depthwise.window.kernel_w) == (1, 1):
            continue
        location = _spread(depthwise.input)
        if location is not None:
            use_slice(depthwise.input.storage, location, accesses)
    return steps


def _spread(image: Tensor) -> ChannelSlice | None:
    """Returns a location for an image with unused elements after each pixel, or None if it needs none."""
    channels, numel, itemsize = image.sizes[-1], image.storage.numel, image.dtype.itemsize
    if not isinstance(channels, int) or not isinstance(numel, int):
        return None
    is_whole = image.storage.kind is StorageKind.ARENA and image.is_dense()
    if not is_whole or (channels * itemsize) % _FEW_SETS != 0:
        return None
    pixel_stride = channels + _LINE // itemsize
    return ChannelSlice(Storage(numel // channels * pixel_stride, image.dtype), channels, pixel_stride, 0)
