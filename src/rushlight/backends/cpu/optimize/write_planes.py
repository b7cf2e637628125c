"""Lets resize steps write images in row-major memory directly."""

from __future__ import annotations

from dataclasses import replace

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.plan.aliases import Accesses
from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.tables import Copy, Resize2d, StorageKind
from rushlight.backends.cpu.plan.tensor import Tensor


def write_planes(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Lets a Resize2d write memory [n, c, h, w] if a copy would convert its result to this layout.

    For example, the result of a segmentation network can be such a copy.
    """
    accesses = Accesses(steps)
    for copy in steps:
        operation = copy.of(Copy)
        if operation is None or operation.input.storage.kind is not StorageKind.ARENA:
            continue
        source, target = operation.input, operation.output
        others = [step for step in accesses.users(source.storage) if step is not copy]
        resize = others[0].of(Resize2d) if len(others) == 1 else None
        if resize is None or resize.output.storage is not source.storage:
            continue
        writer = others[0]
        between = range(accesses.position(writer), accesses.position(copy))
        if any(accesses.position(step) in between for step in accesses.users(target.storage)):
            continue
        output = _in_layout_of(resize.output, source, target)
        if output is not None and output.strides[2] == 1:
            accesses.change(writer, replace(resize, output=output))
            accesses.remove(copy)
    return [step for step in steps if step in accesses]


def _in_layout_of(image: Tensor, source: Tensor, target: Tensor) -> Tensor | None:
    """Returns the elements of `image` in the layout of `target`.

    Args:
        image: the output of the resize step.
        source: the input of the copy, which must have the same elements as `image`.
        target: the output of the copy.

    Returns:
        A view of the storage of `target`; None if `source` has other elements.
    """
    places = {
        (size, stride): other
        for size, stride, other in zip(source.sizes, source.strides, target.strides, strict=True)
        if size != 1
    }
    dims = [(size, stride) for size, stride in zip(image.sizes, image.strides, strict=True) if size != 1]
    numbers = (*image.sizes, *image.strides, *source.sizes, *source.strides, *target.strides)
    if not all(isinstance(number, int) for number in numbers) or source.dtype is not target.dtype:
        return None
    if image.offset != source.offset or len(set(dims)) != len(dims) or set(dims) != places.keys():
        return None
    strides = tuple(
        places.get((size, stride), 1) for size, stride in zip(image.sizes, image.strides, strict=True)
    )
    return replace(image, storage=target.storage, strides=strides, offset=target.offset)
