"""Convolutions that read what is joined where it is: their inputs' channels follow each other."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from rushlight.backends.cpu.aliases import Accesses
from rushlight.backends.cpu.drafts import ConvolutionDraft, Draft
from rushlight.backends.cpu.graph import StepKind, StorageKind
from rushlight.backends.cpu.lowering import Lowering
from rushlight.backends.cpu.sizes import product, same
from rushlight.backends.cpu.tensor import Storage, Tensor

MOST_SOURCES = 8  # of a convolution: Sources::kMost
# Products of fewer channels at a time are slower.
_LEAST_PIECE = 16


def read_apart(lowering: Lowering) -> None:
    """Drops concatenations of channels that convolutions alone read. Takes drafts that are not finished."""
    accesses = Accesses(lowering.drafts)
    for storage in accesses.storages():
        copies, readers = accesses.writers(storage), accesses.readers(storage)
        if storage.kind is not StorageKind.ARENA or not 1 < len(copies) <= MOST_SOURCES or not readers:
            continue
        if any(draft.kind is not StepKind.COPY for draft in copies):
            continue
        apart = {draft: _sources(draft, storage, copies) for draft in readers}
        if any(sources is None for sources in apart.values()):
            continue
        if not all(accesses.may_run_later(copy, readers[-1]) for copy in copies):
            continue
        for draft, sources in apart.items():
            assert sources is not None
            operands = [sources[0], *draft.operands[1:4], *sources[1:], draft.operands[-1]]
            accesses.change(draft, operands)
        for draft in copies:
            lowering.drafts.remove(draft)
            accesses.remove(draft)


def _sources(draft: Draft, storage: Storage, copies: list[Draft]) -> list[Tensor] | None:
    """What a convolution reads instead of the storage that the copies join, None if it cannot."""
    image, *others = draft.operands[:-1]
    if type(draft) is not ConvolutionDraft or draft.groups != 1 or draft.more or image is None:
        return None
    if image.storage is not storage or any(t is not None and t.storage is storage for t in others):
        return None
    if not image.is_dense() or not same(image.strides[-1], 1):
        return None
    parts: dict[int, Tensor] = {}
    for copy in copies:
        source, target = copy.operands
        assert source is not None and target is not None
        part = _part(image, source, target)
        if part is None or not isinstance(target.offset, int):
            return None
        parts[target.offset] = part
    sources, channel, piece = [], 0, 0
    for first, part in sorted(parts.items()):
        count = part.sizes[-1]
        if first != channel or not isinstance(count, int):
            return None
        channel, piece = channel + count, gcd(piece, count)
        sources.append(part)
    return sources if same(channel, image.sizes[-1]) and piece >= _LEAST_PIECE else None


def _part(image: Tensor, source: Tensor, target: Tensor) -> Tensor | None:
    """`source`, which is copied to `target` within `image` [n, h, w, c], as an image of fewer channels."""
    left = [
        (size, stride, step)
        for size, stride, step in zip(target.sizes, target.strides, source.strides, strict=True)
        if not same(size, 1)
    ]
    sizes, strides = [], []
    for axis, (size, stride) in enumerate(zip(image.sizes, image.strides, strict=True)):
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
