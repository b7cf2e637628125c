"""Fuses scales, shifts and clamps of the input of a product, such as a batch norm, into the product."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.optimize.fuse_bottlenecks import is_pointwise
from rushlight.backends.cpu.plan.aliases import Accesses
from rushlight.backends.cpu.plan.node import INFINITY, Chain, PlanNode, nodes_of
from rushlight.backends.cpu.plan.sizes import same
from rushlight.backends.cpu.plan.tables import BinaryFunction, Gemm, Prologue, StorageKind, UnaryFunction
from rushlight.backends.cpu.plan.tensor import Tensor

# The order in which a product applies the operations: it scales, shifts and clamps.
_STAGES = {
    (BinaryFunction, BinaryFunction.MUL): 0,
    (BinaryFunction, BinaryFunction.ADD): 1,
    (UnaryFunction, UnaryFunction.RELU): 2,
    (UnaryFunction, UnaryFunction.CLAMP): 2,
}
# With fewer channels, the fused product is slower.
_MIN_CHANNELS = 16


def fuse_prologues(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Fuses a chain clamp(x * scale + shift) by channel into a 1 x 1 convolution that is its only reader.

    Each of the three operations may be absent. A chain is fused only if its result would need memory of its
    own. The convolution then computes the chain for a few rows at a time.
    """
    accesses = Accesses(steps)
    chains: dict[object, PlanNode] = {}
    removed: set[PlanNode] = set()
    for step in steps:
        gemm = step.of(Gemm)
        before = None if gemm is None else chains.get(gemm.input.storage)
        if (
            gemm is not None
            and before is not None
            and accesses.is_only_reader(step, gemm.input.storage)
            and accesses.may_run_later(before, step)
            and _fuse(before, step, gemm, accesses)
        ):
            removed.add(before)
        if step.of(Chain) is not None and step.output.storage.kind is StorageKind.ARENA:
            chains[step.output.storage] = step
    return [step for step in steps if step not in removed]


def _is_in_place(step: PlanNode, chain: Chain, accesses: Accesses) -> bool:
    """Returns whether the result of the chain can reuse the memory of an input."""
    return any(
        tensor.storage.kind is StorageKind.ARENA
        and tensor.has_layout_of(chain.output)
        and accesses.is_last_reader(step, tensor.storage)
        for tensor in chain.inputs
    )


def _fuse(before: PlanNode, step: PlanNode, gemm: Gemm[Tensor], accesses: Accesses) -> bool:
    """Fuses the chain into the product; returns whether this was possible."""
    chain = before.of(Chain)
    if chain is None or _is_in_place(before, chain, accesses):
        return False
    match = _match(chain)
    if match is None or not is_pointwise(gemm):
        return False
    written, x = chain.output.as_image(), match.x
    channels = x.sizes[3]
    if not gemm.input.has_layout_of(written) or not same(gemm.input.offset, written.offset):
        return False
    if not same(x.strides[3], 1) or not isinstance(channels, int) or channels < _MIN_CHANNELS:
        return False
    step.operation = replace(
        gemm,
        input=x,
        prologue_scale=match.scale,
        prologue_shift=match.shift,
        prologue=match.prologue,
    )
    step.nodes = nodes_of((before, step))
    return True


def _is_by_channel(image: Tensor) -> bool:
    """Returns whether an image [n, h, w, c] varies only by channel: all its pixels have the same numbers."""

    def is_same(axis: int) -> bool:
        return same(image.sizes[axis], 1) or same(image.strides[axis], 0)

    return is_same(1) and is_same(2) and same(image.strides[3], 1)


@dataclass(frozen=True)
class _ScaleShiftClamp:
    """A chain clamp(x * scale + shift).

    Attributes:
        x: the images [n, h, w, c].
        scale: the factor of each channel, as [n, h, w, c] with the same number for all pixels; None for 1.
        shift: the summand of each channel, in the same form; None for 0.
        prologue: the bounds of the clamp.
    """

    x: Tensor
    scale: Tensor | None
    shift: Tensor | None
    prologue: Prologue


def _match(chain: Chain) -> _ScaleShiftClamp | None:
    """Returns the operands if the chain is clamp(x * scale + shift) on images or rows; otherwise None."""
    if chain.output.rank not in (3, 4):
        return None
    operands = [operand.as_image() for operand in chain.inputs]
    images = [index for index, operand in enumerate(operands) if not _is_by_channel(operand)]
    if len(images) != 1:
        return None
    scale_and_shift: list[Tensor | None] = [None, None]  # by stage
    prologue = Prologue()
    stage = -1
    current = images[0]  # the source number of x, and then of the result of the last instruction
    for index, instruction in enumerate(chain.code):
        others = [source for source in instruction.sources if source != current]
        function = instruction.function
        last_stage, stage = stage, _STAGES.get((type(function), function), -1)
        is_next_stage = stage > last_stage
        reads_current_once = len(others) == len(instruction.sources) - 1
        if not is_next_stage or not reads_current_once or any(source < 0 for source in others):
            return None
        if others:
            scale_and_shift[stage] = operands[others[0]]
        elif function is UnaryFunction.CLAMP:
            prologue = Prologue(low=instruction.p, high=instruction.q)
        else:
            prologue = Prologue(low=0.0, high=INFINITY)
        current = -1 - index
    return _ScaleShiftClamp(operands[images[0]], scale_and_shift[0], scale_and_shift[1], prologue)
