"""The last decisions about each step: the algorithm of convolutions, the packing of weights, the numbers."""

from __future__ import annotations

import torch

from rushlight.backends.cpu.blocks import block_products, finish_block_product
from rushlight.backends.cpu.bottlenecks import join_bottlenecks
from rushlight.backends.cpu.byte_drafts import ByteProductDraft, ScaledProductDraft
from rushlight.backends.cpu.concatenations import place_in_concatenations
from rushlight.backends.cpu.drafts import ConvolutionDraft, ElementwiseDraft, RecurrentDraft
from rushlight.backends.cpu.graph import StepKind
from rushlight.backends.cpu.lowering import Lowering, Options
from rushlight.backends.cpu.neighbours import join_neighbours
from rushlight.backends.cpu.pack import (
    pack_panels,
    padded,
    product_weights,
    winograd_taps,
    winograd_weights,
    winograd_weights_apart,
)
from rushlight.backends.cpu.prologues import join_prologues
from rushlight.backends.cpu.sizes import Symbols, same
from rushlight.backends.cpu.target import Target

# In multiplications per cycle of a tile at its best, by measurement.
_TRANSFORM = 0.55  # cycles a transform takes for a vector of inputs and outputs, per point
_MOST_WEIGHT = 1e8  # transformed numbers stay finite for inputs of 1e19; larger ones are not transformed


def finish(lowering: Lowering) -> None:
    """Completes all drafts."""
    place_in_concatenations(lowering)
    join_neighbours(lowering)
    of_blocks = block_products(lowering)
    for draft in lowering.drafts:
        if isinstance(draft, ElementwiseDraft):
            draft.ints, draft.floats = draft.numbers()
        elif isinstance(draft, (ByteProductDraft, ScaledProductDraft)):
            draft.finish(lowering)
        elif isinstance(draft, ConvolutionDraft) and draft in of_blocks:
            finish_block_product(lowering, draft)
        elif isinstance(draft, ConvolutionDraft):
            _finish_convolution(lowering, draft)
        elif isinstance(draft, RecurrentDraft):
            weights = pack_panels(draft.weight.t()[None], lowering.options.target)
            draft.operands[1] = lowering.stored(weights, draft.stored)
    join_bottlenecks(lowering)
    join_prologues(lowering)


def _finish_convolution(lowering: Lowering, draft: ConvolutionDraft) -> None:
    target = lowering.options.target
    outputs, channels, *kernel = draft.weight.shape
    e = draft.epilogue
    draft.floats = e.floats()
    window = [*kernel, *draft.stride, *draft.padding, *draft.dilation]
    bias = draft.bias
    if draft.is_depthwise:
        draft.kind = StepKind.DEPTHWISE
        weights = draft.weight.view(outputs, -1).t()
        source, *_, out = draft.operands
        draft.operands = [
            source,
            lowering.stored(weights.flatten(), draft.stored),
            None if bias is None else lowering.constant(bias),
            out,
        ]
        draft.ints = [*window, *e.ints()]
        return
    draft.operands[2] = None if bias is None else lowering.constant(padded(bias))
    m = winograd_size(draft, lowering.options, lowering.symbols)
    if m:
        draft.kind = StepKind.WINOGRAD
        compact = stores_taps(draft, lowering.options)
        if draft.stride == (2, 2):
            weights = winograd_weights_apart(draft.weight, target)
        elif compact:
            weights = winograd_taps(draft.weight, target)
        else:
            weights = winograd_weights(draft.weight, m, target)
        draft.operands[1] = lowering.stored(weights, draft.stored)
        draft.ints = [m, *draft.padding, channels, outputs, *e.ints(), int(compact), draft.stride[0]]
        return
    weights = product_weights(draft.weight, draft.groups, target)
    draft.operands[1] = lowering.stored(weights, draft.stored)
    draft.ints = [*window, draft.groups, channels, outputs // draft.groups, *e.ints(), int(draft.rounds)]


def stores_taps(draft: ConvolutionDraft, options: Options) -> bool:
    """Whether the file has weights as they are: transformed ones of 16 bits would be too inexact."""
    return options.compact or draft.stored is not torch.float32


def winograd_size(draft: ConvolutionDraft, options: Options, symbols: Symbols) -> int:
    """m of F(m x m, 3 x 3) if that takes less time than the convolution as it is, else 0; 2 at stride 2.

    Errors, as a share of the largest result, about 1e-7 for m = 2 (less than a plain sum's), up to 4e-6 for
    m = 3 and 1e-5 for m = 4, which the precision "highest" refuses.
    """
    outputs, channels, *kernel = draft.weight.shape
    apart = draft.stride == (2, 2)
    if kernel != [3, 3] or draft.groups != 1 or draft.dilation != (1, 1) or max(draft.padding) > 2:
        return 0
    if channels < 16 or outputs < 16 or not (draft.stride == (1, 1) or apart):
        return 0
    if apart and stores_taps(draft, options):
        return 0
    if not draft.weight.abs().max() <= _MOST_WEIGHT:  # nor may it be NaN
        return 0
    source, residual = draft.operands[0], draft.residual
    assert source is not None
    if not apart and any(
        not same(out, size + 2 * padding - 2)
        for out, size, padding in zip(draft.out.sizes[1:3], source.sizes[1:3], draft.padding, strict=True)
    ):
        return 0
    if residual is not None and not residual.lies_as(draft.out):
        return 0
    images, height, width = (symbols.upper(size) for size in draft.out.sizes[:3])
    target = options.target
    costs = {0: product_cycles(images * height * width, 9 * channels, outputs, target)}
    for m in (2,) if options.is_highest or apart else (2, 3, 4):
        tiles = images * -(-height // m) * -(-width // m)
        inputs, points = (25, 9) if apart else ((m + 2) ** 2, (m + 2) ** 2)
        products = inputs * product_cycles(tiles, channels, outputs, target)
        moves = tiles * (inputs * channels + points * outputs) / target.vector * _TRANSFORM
        costs[m] = products + moves * 2
    return min(costs, key=lambda m: costs[m])


def product_cycles(rows: int, depth: int, columns: int, target: Target) -> float:
    """About how long a product with a constant matrix takes on one core."""
    vectors = -(-columns // target.vector)
    tiles = -(-rows // target.rows) * target.rows
    compute = tiles * depth * vectors / 2
    weights = depth * vectors * target.vector * 4
    return max(compute, weights / target.weight_bytes)
