"""Products of block floating-point numbers: int16 with a scale for each block of them.

Wilkinson, "Rounding Errors in Algebraic Processes" (1963), calls numbers with a common exponent so; here the
common factor is any float32, chosen so that a block's numbers fill int16 and sums of products fit int32.
"""

from __future__ import annotations

import torch

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.pack.panels import padded
from rushlight.backends.cpu.plan.node import Convolution, PlanNode
from rushlight.backends.cpu.plan.sizes import product
from rushlight.backends.cpu.plan.tables import BlockGemm
from rushlight.backends.cpu.plan.tensor import Tensor, constant, stored
from rushlight.backends.cpu.target import Target

ERROR_BUDGET = 1e-3
"""What the steps of a plan may add to an output together, as a share of its largest number."""
ERROR_OF_PRODUCT = 1e-4
"""What one such product adds, about; errors of different steps add up as squares."""

_MOST_PAIRS = 96  # of a block, as runtime/microkernels/tables/block.h has it
_NORM = 46340 - 10  # the root of the largest int32, less what rounding adds to a norm
_LEAST_WORK = 1 << 22  # multiplications from which on the time counts
_LARGEST = 1e17  # weights whose squares have a sum


def block_gemms(steps: list[PlanNode], context: Context) -> set[PlanNode]:
    """Those products of a plan that are made of blocks: the most expensive ones within the error budget.

    Linear layers alone: networks of convolutions that nothing normalizes make more of an error.
    """
    if context.options.is_highest or not context.options.target.has_block_products:
        return set()
    works = {
        step: context.symbols.upper(product(convolution.output.sizes)) * convolution.weight.shape[1]
        for step in steps
        if (convolution := step.of(Convolution)) is not None
        and convolution.is_linear
        and _may_have_blocks(convolution, context)
    }
    most = round((ERROR_BUDGET / ERROR_OF_PRODUCT) ** 2)
    candidates = (step for step, work in works.items() if work >= _LEAST_WORK)
    return set(sorted(candidates, key=lambda step: -works[step])[:most])


def _may_have_blocks(convolution: Convolution, context: Context) -> bool:
    rows = context.symbols.upper(product(convolution.output.sizes[:3]))
    return (
        convolution.stored is torch.float32
        and not convolution.more
        and rows >= 2 * context.options.target.rows
        and bool(convolution.weight.abs().max() <= _LARGEST)
    )


def block_gemm(convolution: Convolution, context: Context) -> BlockGemm[Tensor]:
    """A product with a constant matrix as one of blocks."""
    outputs, channels = convolution.weight.shape[:2]
    blocks = -(-channels // (2 * _MOST_PAIRS))
    matrix = convolution.weight.view(outputs, channels).t()
    return BlockGemm(
        input=convolution.input,
        weight=stored(pack_blocks(matrix, blocks, context.options.target)),
        bias=None if convolution.bias is None else constant(padded(convolution.bias)),
        residual=convolution.residual,
        output=convolution.output,
        channels=channels,
        outputs=outputs,
        blocks=blocks,
        epilogue=convolution.epilogue,
    )


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
