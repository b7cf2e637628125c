"""Products whose numbers are int16 with a scale for each block of them (block floating point).

Wilkinson, "Rounding Errors in Algebraic Processes" (1963), calls numbers with a common exponent so; here the
common factor is any float32, chosen so that a block's numbers fill int16 and sums of products fit int32.
"""

from __future__ import annotations

import torch

from rushlight.backends.cpu.drafts import ConvolutionDraft
from rushlight.backends.cpu.graph import StepKind
from rushlight.backends.cpu.lowering import Lowering
from rushlight.backends.cpu.pack import padded
from rushlight.backends.cpu.sizes import product
from rushlight.backends.cpu.target import Target

ERROR_BUDGET = 1e-3
"""What the steps of a plan may add to an output together, as a share of its largest number."""
ERROR_OF_PRODUCT = 1e-4
"""What one such product adds, about; errors of different steps add up as squares."""

_MOST_PAIRS = 96  # of a block, as runtime/kernels/optimized/tiles/block_tiles.h has it
_NORM = 46340 - 10  # the root of the largest int32, less what rounding adds to a norm
_LEAST_WORK = 1 << 22  # multiplications from which on the time counts
_LARGEST = 1e17  # weights whose squares have a sum


def block_products(lowering: Lowering) -> set[ConvolutionDraft]:
    """Those products of a plan that are made of blocks: the most expensive ones within the error budget.

    Linear layers alone: networks of convolutions that nothing normalizes make more of an error.
    """
    target = lowering.options.target
    if lowering.options.is_highest or not target.has_block_products:
        return set()
    works = {
        draft: lowering.symbols.upper(product(draft.out.sizes)) * draft.weight.shape[1]
        for draft in lowering.drafts
        if isinstance(draft, ConvolutionDraft) and draft.is_linear and _may_have_blocks(draft, lowering)
    }
    most = round((ERROR_BUDGET / ERROR_OF_PRODUCT) ** 2)
    candidates = (draft for draft, work in works.items() if work >= _LEAST_WORK)
    return set(sorted(candidates, key=lambda draft: -works[draft])[:most])


def _may_have_blocks(draft: ConvolutionDraft, lowering: Lowering) -> bool:
    rows = lowering.symbols.upper(product(draft.out.sizes[:3]))
    return (
        draft.stored is torch.float32
        and not draft.more
        and rows >= 2 * lowering.options.target.rows
        and bool(draft.weight.abs().max() <= _LARGEST)
    )


def finish_block_product(lowering: Lowering, draft: ConvolutionDraft) -> None:
    outputs, channels = draft.weight.shape[:2]
    blocks = -(-channels // (2 * _MOST_PAIRS))
    e = draft.epilogue
    draft.kind = StepKind.BLOCK_PRODUCT
    matrix = draft.weight.view(outputs, channels).t()
    draft.operands[1] = lowering.stored(pack_blocks(matrix, blocks, lowering.options.target))
    draft.operands[2] = None if draft.bias is None else lowering.constant(padded(draft.bias))
    draft.ints = [channels, outputs, blocks, *e.ints()]
    draft.floats = e.floats()


def pack_blocks(matrix: torch.Tensor, blocks: int, target: Target) -> torch.Tensor:
    """A matrix [k, n] as int16 and scales, in the order in which tiles read them; int32, flat.

    Panels follow each other: numbers [block, pair, column], two of a column in an int32, the first in its low
    bits, then the scales' bits [block, column]. The last panel is as wide as its vectors need.
    """
    k, n = matrix.shape
    length = -(-k // blocks)
    pairs = (length + 1) // 2
    columns = -(-n // target.vector) * target.vector
    filled = torch.zeros(blocks * pairs * 2, columns)
    filled[:k, :n] = matrix
    numbers, scales = block_numbers(filled.view(blocks, 2 * pairs, columns))
    halves = numbers.view(blocks, pairs, 2, columns).to(torch.int32)
    words = torch.cat(
        ((halves[:, :, 1] << 16 | halves[:, :, 0] & 0xFFFF).flatten(0, 1), scales.view(torch.int32))
    )
    return torch.cat([panel.flatten() for panel in words.split(target.panel, dim=1)])


def block_numbers(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """float32 [blocks, length, columns] as int16 and scales [blocks, columns]: values = numbers * scales.

    The numbers of a column in a block have a norm of at most 46340. None but 0 becomes 0, so that products
    with infinities have their sign.
    """
    exact = values.double()
    scales = torch.maximum(exact.abs().amax(1) / 32767, exact.norm(dim=1) / _NORM).clamp(min=1e-30).float()
    numbers = (exact / scales.double()[:, None]).round().clamp(-32767, 32767)
    numbers = torch.where((numbers == 0) & (values != 0), values.sign().double(), numbers)
    return numbers.to(torch.int16), scales
