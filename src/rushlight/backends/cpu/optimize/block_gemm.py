"""Products of block floating-point numbers: int16 with a common scale for each block.

Wilkinson, "Rounding Errors in Algebraic Processes" (1963), uses this term for numbers with a common exponent.
Here the common factor is a float32 number. It is chosen so that the numbers of a block use the range of int16
and sums of products fit int32.
"""

from __future__ import annotations

import torch

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.pack.panels import padded
from rushlight.backends.cpu.plan.node import Convolution, PlanNode
from rushlight.backends.cpu.plan.sizes import product
from rushlight.backends.cpu.plan.tables import BlockGemm
from rushlight.backends.cpu.plan.tensor import Tensor, constant, stored_constant
from rushlight.backends.cpu.target import Target

ERROR_BUDGET = 1e-3
"""The maximum error that all products of blocks in a plan may cause, relative to the largest output."""
ERROR_OF_PRODUCT = 1e-4
"""The approximate error of one product of blocks. The total error is the root of the sum of the squares."""

_MAX_PAIRS = 96  # the maximum number of pairs in a block; see runtime/microkernels/tables/block.h
_NORM = 46340 - 10  # the square root of the largest int32, minus the rounding error of a norm
_MIN_WORK = 1 << 22  # products with fewer multiplications stay in float32
_LARGEST = 1e17  # the largest absolute weight for which the sum of squares of weights is finite


def block_gemms(steps: list[PlanNode], context: Context) -> set[PlanNode]:
    """Selects the products that use blocks: the most expensive products within the error budget.

    Only linear layers are selected, because convolutional networks without norms amplify the error.
    """
    if context.options.is_highest or not context.options.target.has_block_gemm:
        return set()
    works = {
        step: context.symbols.upper(product(convolution.output.sizes)) * convolution.weight.shape[1]
        for step in steps
        if (convolution := step.of(Convolution)) is not None
        and convolution.is_linear
        and _may_have_blocks(convolution, context)
    }
    most = round((ERROR_BUDGET / ERROR_OF_PRODUCT) ** 2)
    candidates = (step for step, work in works.items() if work >= _MIN_WORK)
    return set(sorted(candidates, key=lambda step: -works[step])[:most])


def _may_have_blocks(convolution: Convolution, context: Context) -> bool:
    rows = context.symbols.upper(product(convolution.output.sizes[:3]))
    return (
        convolution.weight_dtype is torch.float32
        and not convolution.more_inputs
        and rows >= 2 * context.options.target.rows
        and bool(convolution.weight.abs().max() <= _LARGEST)
    )


def block_gemm(convolution: Convolution, context: Context) -> BlockGemm[Tensor]:
    """Converts a product with a constant matrix to a product of blocks."""
    outputs, channels = convolution.weight.shape[:2]
    blocks = -(-channels // (2 * _MAX_PAIRS))
    matrix = convolution.weight.view(outputs, channels).t()
    return BlockGemm(
        input=convolution.input,
        weight=stored_constant(pack_blocks(matrix, blocks, context.options.target)),
        bias=None if convolution.bias is None else constant(padded(convolution.bias)),
        residual=convolution.residual,
        output=convolution.output,
        channels=channels,
        outputs=outputs,
        blocks=blocks,
        epilogue=convolution.epilogue,
    )


def pack_blocks(matrix: torch.Tensor, blocks: int, target: Target) -> torch.Tensor:
    """Packs a matrix as int16 numbers and scales, in the order in which microkernels read them.

    Args:
        matrix: float32 [k, n].
        blocks: the number of blocks along k.
        target: the instruction set.

    Returns:
        Consecutive panels as flat int32. A panel contains the numbers [block, pair, column]: an int32 is a
        pair of int16 numbers of one column, the first in the low bits. The bits of the float32 scales
        [block, column] follow. The last panel has only as many vectors as its columns need.
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
    """Splits values into int16 numbers and scales.

    The norm of the numbers of a column in a block is at most 46340, the square root of the largest int32. No
    number except 0 becomes 0, so that products with infinity keep their sign.

    Args:
        values: float32 [blocks, length, columns].

    Returns:
        The numbers, int16 [blocks, length, columns], and the scales, float32 [blocks, columns].
    """
    exact = values.double()
    scales = torch.maximum(exact.abs().amax(1) / 32767, exact.norm(dim=1) / _NORM).clamp(min=1e-30).float()
    numbers = (exact / scales.double()[:, None]).round().clamp(-32767, 32767)
    numbers = torch.where((numbers == 0) & (values != 0), values.sign().double(), numbers)
    return numbers.to(torch.int16), scales
