"""Lets resize and copy steps write the layout to which a copy would convert their results."""

from __future__ import annotations

import math
from dataclasses import replace

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.plan.aliases import Accesses
from rushlight.backends.cpu.plan.node import PlanNode
from rushlight.backends.cpu.plan.tables import Copy, Resize2d, StorageKind
from rushlight.backends.cpu.plan.tensor import Tensor


def merge_copies(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Removes a copy if the only step that writes its input can write its output.

    For example, the result of a segmentation network can be a copy of a resized image [n, h, w, c] to memory
    [n, c, h, w]. A pixel shuffle copies elements to [n, c, h, r, w, r], and a convolution after it needs
    their copy as [n, h * r, w * r, c].
    """
    accesses = Accesses(steps)
    for copy in steps:
        operation = copy.of(Copy)
        if operation is None or operation.input.storage.kind is not StorageKind.ARENA:
            continue
        source, target = operation.input, operation.output
        others = [step for step in accesses.users(source.storage) if step is not copy]
        writer = others[0] if len(others) == 1 else None
        written = None if writer is None else writer.of(Resize2d) or writer.of(Copy)
        if writer is None or written is None or written.output.storage is not source.storage:
            continue
        if target.storage.kind is StorageKind.STATE:  # its updates have numbers
            continue
        between = range(accesses.position(writer), accesses.position(copy))
        if any(accesses.position(step) in between for step in accesses.users(target.storage)):
            continue
        output = _in_layout_of(written.output, source, target)
        # A resize step writes whole lines of a plane.
        if output is not None and (isinstance(written, Copy) or output.strides[2] == 1):
            accesses.change(writer, replace(written, output=output))
            accesses.remove(copy)
    return [step for step in steps if step in accesses]


def _in_layout_of(image: Tensor, source: Tensor, target: Tensor) -> Tensor | None:
    """Returns the elements of `image` in the layout of `target`.

    Args:
        image: the output of the step that writes the input of the copy.
        source: the input of the copy, which must have the same elements as `image`. A dimension of it may
            consist of several dimensions of `image`.
        target: the output of the copy.

    Returns:
        A view of the storage of `target`; None if `source` has other elements.
    """
    views = (image, source, target)
    numbers = [number for view in views for number in (*view.sizes, *view.strides, view.offset)]
    if not all(isinstance(number, int) for number in numbers) or source.dtype is not target.dtype:
        return None
    if image.offset != source.offset or math.prod(image.sizes) != math.prod(source.sizes):
        return None
    dims = [dim for dim in zip(source.sizes, source.strides, target.strides, strict=True) if dim[0] != 1]
    strides = []
    parts = [1] * len(dims)  # the product of the dimensions of `image` that each dimension consists of
    for size, stride in zip(image.sizes, image.strides, strict=True):
        found = [
            i
            for i, (whole, step, _) in enumerate(dims)
            if 0 < step <= stride and stride % step == 0 and size * stride <= whole * step
        ]
        if size == 1:
            strides.append(1)
        elif len(found) == 1:
            (i,) = found
            parts[i] *= size
            strides.append(stride // dims[i][1] * dims[i][2])
        else:
            return None
    if parts != [size for size, _, _ in dims]:
        return None
    return replace(image, storage=target.storage, strides=tuple(strides), offset=target.offset)
