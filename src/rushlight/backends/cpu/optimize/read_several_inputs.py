"""Lets convolutions read several inputs instead of their concatenation along the channels.

Example: an image a with 48 channels and an image b with 80 channels, both of 2 x 2 pixels, are concatenated,
and a convolution reads the result of 128 channels. All images are [n, h, w, c] in memory.

    tensor                          sizes             strides               offset
    a                               (1, 2, 2, 48)     (192, 96, 48, 1)           0
    b                               (1, 2, 2, 80)     (320, 160, 80, 1)          0
    the result                      (1, 2, 2, 128)    (512, 256, 128, 1)         0
    target of the copy of a         (1, 2, 2, 48)     (512, 256, 128, 1)         0
    target of the copy of b         (1, 2, 2, 80)     (512, 256, 128, 1)        48

The offset of a target is its first channel in the result. a begins at channel 0, and b at channel 48, where a
ends. Therefore the convolution gets the operands input=a and more_inputs=[b], and both copies are removed. It
multiplies gcd(48, 80) = 16 channels at a time, so that a product never has channels of both images. Images of
3 and 5 channels, as in place_concatenations.py, stay concatenated, because products of fewer than MIN_PIECE
channels are slow.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from rushlight.backends.cpu.plan.aliases import Accesses
from rushlight.backends.cpu.plan.node import MAX_SOURCES, MIN_PIECE, Convolution, PlanNode
from rushlight.backends.cpu.plan.sizes import product, same
from rushlight.backends.cpu.plan.tables import Copy, StorageKind
from rushlight.backends.cpu.plan.tensor import Storage, Tensor


def read_several_inputs(steps: list[PlanNode]) -> list[PlanNode]:
    """Removes concatenations of channels that only convolutions read; the convolutions read their inputs.

    Args:
        steps: the steps, which are not changed.

    Returns:
        The remaining steps.
    """
    steps = [replace(step) for step in steps]
    accesses = Accesses(steps)
    for storage in accesses.storages():
        copies, readers = accesses.writers(storage), accesses.readers(storage)
        if storage.kind is not StorageKind.ARENA or not 1 < len(copies) <= MAX_SOURCES or not readers:
            continue
        if any(step.of(Copy) is None for step in copies):
            continue
        sources_of = {step: _sources(step, storage, copies) for step in readers}
        if any(sources is None for sources in sources_of.values()):
            continue
        if not all(accesses.may_run_later(copy, readers[-1]) for copy in copies):
            continue
        for step, sources in sources_of.items():
            convolution = step.of(Convolution)
            assert sources is not None and convolution is not None
            accesses.change(step, replace(convolution, input=sources[0], more_inputs=sources[1:]))
        for step in copies:
            accesses.remove(step)
    return [step for step in steps if step in accesses]


def _sources(step: PlanNode, storage: Storage, copies: list[PlanNode]) -> list[Tensor] | None:
    """Returns the inputs that a convolution reads instead of the concatenated storage; None if it cannot."""
    convolution = step.of(Convolution)
    if convolution is None or type(convolution) is not Convolution:
        return None
    if convolution.groups != 1 or convolution.more_inputs:
        return None
    image = convolution.input
    if image.storage is not storage or step.reads().count(storage) != 1:
        return None
    if not image.is_dense() or not same(image.strides[-1], 1):
        return None
    by_first_channel: dict[int, Tensor] = {}
    for copy in copies:
        (source,), target = copy.operation.reads(), copy.output
        part = _input_as_image(image, source, target)
        if part is None or not isinstance(target.offset, int):
            return None
        by_first_channel[target.offset] = part
    sources = []
    end = 0  # the first channel of the result that is in none of the inputs so far
    piece = 0  # the number of channels that the convolution multiplies at a time
    for first_channel, part in sorted(by_first_channel.items()):
        channels = part.sizes[-1]
        if first_channel != end or not isinstance(channels, int):
            return None
        end, piece = end + channels, gcd(piece, channels)
        sources.append(part)
    return sources if same(end, image.sizes[-1]) and piece >= MIN_PIECE else None


def _input_as_image(image: Tensor, source: Tensor, target: Tensor) -> Tensor | None:
    """Returns the input of a concatenation as an image with fewer channels.

    Args:
        image: the result of the concatenation [n, h, w, c].
        source: the input.
        target: the part of the result to which the input is copied, with the dimensions of `source`.

    Returns:
        A view [n, h, w, channels of the input]; None if the input is not such an image.
    """
    # (size, stride in the result, stride in the input) of each dimension that is not in the view yet
    left = [
        (size, stride, step)
        for size, stride, step in zip(target.sizes, target.strides, source.strides, strict=True)
        if not same(size, 1)
    ]
    sizes, strides = [], []
    for axis, (size, stride) in enumerate(zip(image.sizes, image.strides, strict=True)):
        # The axis of the image has the same stride in the result. Only the channels may have another size.
        found = next(
            (dim for dim in left if same(dim[1], stride) and (axis == 3 or same(dim[0], size))), None
        )
        if found is None:
            if not same(size, 1):
                return None
            found = (1, 1, 1)
        else:
            left.remove(found)
        sizes.append(found[0])
        strides.append(found[2])
    is_image = not left and same(strides[-1], 1) and same(product(sizes), source.storage.numel)
    return replace(source, sizes=tuple(sizes), strides=tuple(strides)) if is_image else None
