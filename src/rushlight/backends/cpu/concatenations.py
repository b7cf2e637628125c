"""Concatenations without copies: what is joined is computed in its place within the whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

from rushlight.backends.cpu.aliases import Accesses
from rushlight.backends.cpu.drafts import ConvolutionDraft, Draft
from rushlight.backends.cpu.graph import StepKind, StorageKind
from rushlight.backends.cpu.lowering import Lowering
from rushlight.backends.cpu.sizes import product, same
from rushlight.backends.cpu.sources import read_apart
from rushlight.backends.cpu.tensor import Storage, Tensor

# Steps whose operands are pixels any number of floats apart.
_BY_PIXEL = frozenset(
    {
        StepKind.PRODUCT,
        StepKind.POOL,
        StepKind.ELEMENTWISE,
        StepKind.COPY,
        StepKind.RESAMPLE,
        StepKind.NORMALIZE,
    }
)

# Steps from a part to its copy beyond which it waits long.
_LONG = 8
# The share of memory above which copies are not worth their time.
_WORTH_COPIES = 0.95

_READ_BY_PIXEL = frozenset({StepKind.REDUCE, StepKind.GROUP_SCALES})


@dataclass(frozen=True)
class _Place:
    """Where a dense storage of pixels lies in another: pixel p's channels from p * step + offset on."""

    storage: Storage
    channels: int  # of the dense storage
    step: int
    offset: int

    def moved(self, tensor: Tensor) -> Tensor | None:
        """A view of the dense storage as one of the other, None if it is no strided view of it."""
        numbers = (*tensor.sizes, *tensor.strides, tensor.offset)
        if not all(isinstance(number, int) for number in numbers):
            return None
        pixel, channel = divmod(tensor.offset, self.channels)
        last = channel  # the farthest channel of a pixel
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


def place_in_concatenations(lowering: Lowering) -> None:
    """Lets steps that write all of a storage, of which copies join a part of another one, write there.

    What waits long for the other parts, as skipped maps of a U-Net do, keeps the whole allocated meanwhile:
    convolutions read it where it is, or it is copied, if that takes less memory. Takes drafts that are not
    finished.
    """
    before = _arrangement(lowering)
    _place_all(lowering)
    placed, peak = _arrangement(lowering), _peak(lowering)
    _arrange(lowering, before)
    read_apart(lowering)
    _place_all(lowering)
    if _peak(lowering) > _WORTH_COPIES * peak:
        _arrange(lowering, placed)


def _place_all(lowering: Lowering) -> None:
    separate = _arrangement(lowering)
    waiting = _place_parts(lowering, frozenset())
    if not waiting:
        return
    joined, peak = _arrangement(lowering), _peak(lowering)
    _arrange(lowering, separate)
    _place_parts(lowering, waiting)
    if _peak(lowering) > _WORTH_COPIES * peak:
        _arrange(lowering, joined)


def _place_parts(lowering: Lowering, left: frozenset[Draft]) -> frozenset[Draft]:
    """Places all parts but those of the copies `left`; gives the dropped copies of parts that wait long."""
    accesses = Accesses(lowering.drafts)
    joined = dict.fromkeys(s for s in accesses.storages() if _is_joined(s, accesses))
    written = {s: max(map(accesses.turn, accesses.writers(s)), default=0) for s in accesses.storages()}
    # Not what is written twice, as padding and then what it surrounds: the order of both matters.
    copies = [
        draft
        for draft in lowering.drafts
        if draft.kind is StepKind.COPY and draft not in left and draft.out.storage in joined
    ]
    waiting = set()
    for draft in reversed(copies):
        source, target = draft.operands
        assert source is not None and target is not None
        if source.storage is target.storage:
            continue
        place = _place(source, target)
        waits = accesses.turn(draft) - written.get(source.storage, 0) > _LONG
        if place is not None and _move(source.storage, place, accesses, [draft], lowering) and waits:
            waiting.add(draft)
    for storage in joined:
        _take_for_the_same(storage, accesses, lowering)
    return frozenset(waiting)


def _arrangement(lowering: Lowering) -> list[tuple[Draft, list[Tensor | None]]]:
    return [(draft, draft.operands) for draft in lowering.drafts]


def _arrange(lowering: Lowering, arrangement: list[tuple[Draft, list[Tensor | None]]]) -> None:
    """Sets drafts and operands back to what _arrangement() gave."""
    lowering.drafts[:] = [draft for draft, _ in arrangement]
    for draft, operands in arrangement:
        draft.operands = operands


def _peak(lowering: Lowering) -> int:
    """The most bytes that are needed at a time."""
    spans: dict[Storage, tuple[int, int]] = {}
    for index, draft in enumerate(lowering.drafts):
        for tensor in draft.operands:
            if tensor is not None and tensor.storage.kind is StorageKind.ARENA:
                first, _ = spans.get(tensor.storage, (index, index))
                spans[tensor.storage] = (first, index)
    changes = [0] * (len(lowering.drafts) + 1)
    for storage, (first, last) in spans.items():
        size = lowering.symbols.upper(storage.numel) * storage.dtype.itemsize
        changes[first] += size
        changes[last + 1] -= size
    return max(accumulate(changes))


def _is_joined(storage: Storage, accesses: Accesses) -> bool:
    """Whether copies alone write the storage, each element once."""
    writers = accesses.writers(storage)
    return (
        storage.kind is StorageKind.ARENA
        and all(draft.kind is StepKind.COPY for draft in writers)
        and same(sum(product(draft.out.sizes) for draft in writers), storage.numel)
    )


def _place(source: Tensor, target: Tensor) -> _Place | None:
    """Where the storage that `source` is all of lies if it is `target`."""
    numbers = (*source.sizes, *source.strides, *target.strides, target.offset)
    is_known = all(isinstance(number, int) for number in numbers)
    if not is_known or source.dtype is not target.dtype or source.storage.kind is not StorageKind.ARENA:
        return None
    dims = sorted(
        (s, n, t) for n, s, t in zip(source.sizes, source.strides, target.strides, strict=True) if n != 1
    )
    if len(dims) < 2 or dims[0][2] != 1 or not source.is_dense():
        return None
    channels, step = dims[0][1], dims[1][2]
    if step < channels or any(t != s // channels * step for s, _, t in dims[1:]):
        return None
    return _Place(target.storage, channels, step, target.offset)


def _moved(storage: Storage, place: _Place, drafts: list[Draft]) -> dict[Draft, list[Tensor | None]] | None:
    """The drafts' operands after the move, None if a draft cannot take them."""
    found: dict[Draft, list[Tensor | None]] = {}
    for draft in drafts:
        operands = list(draft.operands)
        for index, tensor in enumerate(operands):
            if tensor is None or tensor.storage is not storage:
                continue
            moved = place.moved(tensor)
            if moved is None or not _takes(draft, index):
                return None
            operands[index] = moved
        found[draft] = operands
    return found


def _takes(draft: Draft, index: int) -> bool:
    if isinstance(draft, ConvolutionDraft):
        if type(draft) is not ConvolutionDraft or index == 3:
            return False
        # A residual has to lie as the output does, or the plain algorithm alone takes it.
        return index + 1 < len(draft.operands) or draft.residual is None
    return draft.kind in _BY_PIXEL or (draft.kind in _READ_BY_PIXEL and index == 0)


def _move(
    storage: Storage,
    place: _Place,
    accesses: Accesses,
    gone: list[Draft],
    lowering: Lowering,
) -> bool:
    """Puts the storage in its place, and drops the copies that this makes useless."""
    others = [draft for draft in accesses.users(storage) if draft not in gone]
    moved = _moved(storage, place, others)
    if moved is None:
        return False
    for draft, operands in moved.items():
        accesses.change(draft, operands)
    for draft in gone:
        lowering.drafts.remove(draft)
        accesses.remove(draft)
    return True


def _take_for_the_same(storage: Storage, accesses: Accesses, lowering: Lowering) -> None:
    """Drops a concatenation of what lies in the same order, one after the other, in another one already."""
    writers = accesses.writers(storage)
    if not writers or not _is_joined(storage, accesses):
        return
    places = set()
    for draft in writers:
        source, target = draft.operands
        assert source is not None and target is not None
        places.add(_within(source, target))
    place = places.pop()
    if place is not None and not places and place.storage is not storage:
        _move(storage, place, accesses, writers, lowering)


def _within(source: Tensor, target: Tensor) -> _Place | None:
    """Where the storage of `target` lies if that part of it is `source`."""
    numbers = (*source.sizes, *source.strides, *target.strides, source.offset, target.offset)
    is_known = all(isinstance(number, int) for number in numbers)
    if not is_known or source.dtype is not target.dtype or source.storage.kind is not StorageKind.ARENA:
        return None
    dims = sorted(
        (t, n, s) for n, s, t in zip(source.sizes, source.strides, target.strides, strict=True) if n != 1
    )
    if len(dims) < 2 or dims[0][0] != 1 or dims[0][2] != 1:
        return None
    # The smallest step of the target is from pixel to pixel: the channels of the whole.
    channels, _, step = dims[1]
    if target.offset % channels + dims[0][1] > channels or step < channels:
        return None
    if any(t % channels != 0 or s != t // channels * step for t, _, s in dims[1:]):
        return None
    pixel, channel = divmod(target.offset, channels)
    offset = source.offset - pixel * step - channel
    return _Place(source.storage, channels, step, offset) if offset >= 0 else None
