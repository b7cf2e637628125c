"""Convolutions around a depthwise one as one step: large maps between them are never whole in memory."""

from __future__ import annotations

from rushlight.backends.cpu.aliases import Accesses
from rushlight.backends.cpu.drafts import ConvolutionDraft, Draft
from rushlight.backends.cpu.graph import StepKind, StorageKind
from rushlight.backends.cpu.lowering import Lowering
from rushlight.backends.cpu.tensor import Tensor


def join_bottlenecks(lowering: Lowering) -> None:
    """Joins a convolution, a depthwise one that alone reads its result, and a product (one of 1 x 1) that
    alone reads that, where the first result does not stay in the second level cache. Takes finished drafts.
    """
    accesses = Accesses(lowering.drafts)
    writers = {s: d for d in lowering.drafts if isinstance(d, ConvolutionDraft) for s in d.writes()}
    products = {
        d.operands[0].storage: d
        for d in lowering.drafts
        if isinstance(d, ConvolutionDraft) and d.operands[0] is not None and is_product(d)
    }

    def passes(tensor: Tensor, reader: Draft) -> bool:
        """Whether the reader alone reads all of it, as it was written."""
        source = reader.operands[0]
        storage = tensor.storage
        return (
            source is not None
            and storage.kind is StorageKind.ARENA
            and accesses.is_only_reader(reader, 0)
            and source.lies_as(tensor)
            and tensor.is_dense()
        )

    joined: dict[Draft, Draft] = {}
    gone: set[Draft] = set()
    for depthwise in lowering.drafts:
        source = depthwise.operands[0]
        if depthwise.kind is not StepKind.DEPTHWISE or source is None:
            continue
        first = writers.get(source.storage)
        if first is None or not _may_be_first(first, lowering) or not passes(first.out, depthwise):
            continue
        last = products.get(depthwise.out.storage)
        if last is not None and not passes(depthwise.out, last):
            last = None
        if not all(accesses.may_run_later(draft, last or depthwise) for draft in (first, depthwise)):
            continue
        joined[last or depthwise] = _join(first, depthwise, last)
        gone |= {first, depthwise}
    lowering.drafts[:] = [joined.get(d, d) for d in lowering.drafts if d in joined or d not in gone]


def is_product(draft: ConvolutionDraft) -> bool:
    """Whether it is a product of its pixels alone."""
    return (
        draft.kind is StepKind.PRODUCT
        and type(draft) is ConvolutionDraft
        and draft.groups == 1
        and not draft.more
        and draft.weight.shape[2:] == (1, 1)
        and draft.stride == (1, 1)
        and draft.padding == (0, 0)
    )


def _may_be_first(draft: ConvolutionDraft, lowering: Lowering) -> bool:
    source = draft.operands[0]
    if (
        draft.kind is not StepKind.PRODUCT
        or draft.groups != 1
        or draft.more
        or draft.residual is not None
        or source is None
    ):
        return False
    sizes = [lowering.symbols.upper(size) for size in draft.out.sizes]
    if 4 * sizes[1] * sizes[2] * sizes[3] <= lowering.options.target.cache:
        return False
    window = zip(
        source.sizes[1:3],
        draft.out.sizes[1:3],
        draft.weight.shape[2:],
        draft.stride,
        draft.padding,
        draft.dilation,
        strict=True,
    )
    return all(
        isinstance(size, int) and out == (size + 2 * padding - (kernel - 1) * dilation - 1) // stride + 1
        for size, out, kernel, stride, padding, dilation in window
    )


def _join(first: ConvolutionDraft, depthwise: Draft, last: ConvolutionDraft | None) -> Draft:
    parts = [part for part in (first, depthwise, last) if part is not None]
    product = [None, None, None] if last is None else last.operands[1:4]
    ints = [*_without_groups(first.ints), *depthwise.ints]
    return Draft(
        StepKind.BOTTLENECK,
        [*first.operands[:3], *depthwise.operands[1:3], *product, parts[-1].out],
        ints=ints if last is None else [*ints, *_without_groups(last.ints)],
        floats=[number for part in parts for number in part.floats],
        nodes=[node for part in parts for node in part.nodes],
    )


def _without_groups(ints: list[int]) -> list[int]:
    return [*ints[:8], *ints[9:13]]
