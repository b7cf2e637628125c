"""Packs int8 weights in the order in which tiles read them."""

from __future__ import annotations

import torch

from rushlight.backends.cpu.plan.tables import Int8Packing
from rushlight.backends.cpu.target import Target

MOST_PAIR = 128
"""Limit of the sum of two neighbours in a column: with two uint8, the sum of their products fits 16 bits."""


def int8_packing(
    weight: torch.Tensor, groups: int, target: Target, *, is_winograd: bool = False
) -> Int8Packing:
    """Returns the packing parameters of a step's weights.

    weight: [outputs, channels, kh, kw]. is_winograd: the step may transform the weights, which requires
        int16.
    """
    group = target.int8_group
    if target.small_pair_group and not is_winograd:
        columns = int8_columns(weight, groups).flatten(0, 1).to(torch.int16)
        sums = columns[:, 0 : columns.shape[1] // 2 * 2].unflatten(1, (-1, 2)).sum(2)
        if sums.numel() == 0 or int(sums.abs().max()) <= MOST_PAIR:
            group = target.small_pair_group
    return Int8Packing(lanes=target.int8_lanes, panel=2 * target.int8_lanes, group=group)


def pack_columns(columns: torch.Tensor, packing: Int8Packing) -> torch.Tensor:
    """Packs columns [n, k] as int32 sums and panels [panel, group of k, column, number]; int8, flat.

    The last panel is as wide as its vectors need; the sums and the result are padded to multiples of 64
    bytes.
    """
    n, k = columns.shape
    lanes, panel, group = packing.lanes, packing.panel, packing.group
    depth = -(-k // group) * group
    whole = n // panel * panel
    rest = -(-(n - whole) // lanes) * lanes
    filled = torch.zeros(whole + rest, depth, dtype=torch.int8)
    filled[:n, :k] = columns
    parts = [_end_at_64(columns.sum(1, dtype=torch.int32).view(torch.int8))]
    if whole:
        parts.append(_panels(filled[:whole], panel, group))
    if rest:
        parts.append(_panels(filled[whole:], rest, group))
    return _end_at_64(torch.cat(parts))


def _panels(columns: torch.Tensor, width: int, group: int) -> torch.Tensor:
    count, depth = columns.shape
    blocks = columns.reshape(count // width, width, depth // group, group)
    return blocks.permute(0, 2, 1, 3).flatten()


def _end_at_64(data: torch.Tensor) -> torch.Tensor:
    return torch.cat([data, torch.zeros(-data.numel() % 64, dtype=torch.int8)])


def int8_columns(weight: torch.Tensor, groups: int) -> torch.Tensor:
    """Weights [outputs, channels, kh, kw] as columns [groups, outputs, taps and channels]."""
    return weight.permute(0, 2, 3, 1).reshape(groups, weight.shape[0] // groups, -1)


def int8_weights(weight: torch.Tensor, groups: int, packing: Int8Packing) -> torch.Tensor:
    """Packs weights [outputs, channels, kh, kw] of a convolution, one matrix for each group."""
    return torch.cat([pack_columns(matrix, packing) for matrix in int8_columns(weight, groups)])
