"""Scales, shifts and clamps of what a product reads, as batch norm before it, applied as it reads them."""

from __future__ import annotations

from dataclasses import dataclass

from rushlight.backends.cpu.aliases import Accesses
from rushlight.backends.cpu.bottlenecks import is_product
from rushlight.backends.cpu.drafts import BINARY, INFINITY, UNARY, ConvolutionDraft, Draft, ElementwiseDraft
from rushlight.backends.cpu.graph import StorageKind
from rushlight.backends.cpu.lowering import Lowering
from rushlight.backends.cpu.sizes import same
from rushlight.backends.cpu.tensor import Tensor

# In the order in which a product applies them.
_STAGES = {BINARY["mul"]: 0, BINARY["add"]: 1, UNARY["relu"]: 2, UNARY["clamp"]: 2}
# Rows of fewer channels are slower one by one.
_LEAST_CHANNELS = 16


def join_prologues(lowering: Lowering) -> None:
    """Joins a chain that gives clamp(x * scale + shift), by channel, each perhaps left out, and the product
    (a convolution of 1 x 1) that alone reads it, where that result would take memory of its own: it is never
    whole in memory then. Takes finished drafts.
    """
    accesses = Accesses(lowering.drafts)
    chains: dict[object, ElementwiseDraft] = {}
    gone: set[Draft] = set()
    for draft in lowering.drafts:
        source = draft.operands[0]
        chain = chains.get(source.storage) if source is not None else None
        if (
            chain is not None
            and isinstance(draft, ConvolutionDraft)
            and accesses.is_only_reader(draft, 0)
            and accesses.may_run_later(chain, draft)
            and not _is_in_place(chain, accesses)
            and _join(chain, draft)
        ):
            gone.add(chain)
        if isinstance(draft, ElementwiseDraft) and draft.out.storage.kind is StorageKind.ARENA:
            chains[draft.out.storage] = draft
    lowering.drafts[:] = [draft for draft in lowering.drafts if draft not in gone]


def _is_in_place(chain: ElementwiseDraft, accesses: Accesses) -> bool:
    """Whether the chain's result can take the memory of what it reads, which then is in cache still."""
    return any(
        t is not None
        and t.storage.kind is StorageKind.ARENA
        and t.lies_as(chain.out)
        and accesses.is_last_reader(chain, t.storage)
        for t in chain.operands[:-1]
    )


def _join(chain: ElementwiseDraft, product: ConvolutionDraft) -> bool:
    """Whether the product could be changed so that it reads what the chain does."""
    source = product.operands[0]
    prologue = _prologue(chain)
    if source is None or prologue is None or not is_product(product):
        return False
    written, x = _image(chain.out), prologue.x
    channels = x.sizes[3]
    if not source.lies_as(written) or not same(source.offset, written.offset):
        return False
    if not same(x.strides[3], 1) or not isinstance(channels, int) or channels < _LEAST_CHANNELS:
        return False
    product.operands = [x, *product.operands[1:4], *prologue.by_channel, product.out]
    product.ints = [*product.ints, 1 if prologue.bounds is None else 2]
    product.floats = [*product.floats, *(prologue.bounds or ())]
    product.nodes = [*chain.nodes, *(node for node in product.nodes if node not in chain.nodes)]
    return True


def _image(tensor: Tensor) -> Tensor:
    """[n, h, w, c] of images, or of rows as images of one line."""
    return (tensor if tensor.rank == 4 else tensor.with_one(2)).permute((0, 2, 3, 1))


def _is_by_channel(image: Tensor) -> bool:
    def is_same(axis: int) -> bool:
        return same(image.sizes[axis], 1) or same(image.strides[axis], 0)

    return is_same(1) and is_same(2) and same(image.strides[3], 1)


@dataclass(frozen=True)
class _Prologue:
    """Clamped to `bounds`, if there are any: x * scale + shift."""

    x: Tensor
    by_channel: tuple[Tensor | None, Tensor | None]
    bounds: tuple[float, float] | None


def _prologue(chain: ElementwiseDraft) -> _Prologue | None:
    """What the chain computes, as images, if it is no more than that."""
    if chain.out.rank not in (3, 4):
        return None
    operands = [_image(operand) for operand in chain.operands[:-1] if operand is not None]
    maps = [index for index, operand in enumerate(operands) if not _is_by_channel(operand)]
    if len(maps) != 1:
        return None
    factors: list[Tensor | None] = [None, None]
    bounds = None
    stage, current = -1, maps[0]
    for index, instruction in enumerate(chain.code):
        others = [source for source in instruction.sources if source != current]
        last, stage = stage, _STAGES.get(instruction.op, -1)
        if stage <= last or len(others) != len(instruction.sources) - 1 or any(s < 0 for s in others):
            return None
        if others:
            factors[stage] = operands[others[0]]
        elif instruction.op == UNARY["clamp"]:
            bounds = instruction.p, instruction.q
        else:
            bounds = 0.0, INFINITY
        current = -1 - index
    return _Prologue(operands[maps[0]], (factors[0], factors[1]), bounds)
