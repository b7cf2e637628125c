"""int8 weights in the order in which tiles read them."""

from __future__ import annotations

import torch

from rushlight.backends.cpu.target import Target

MOST_PAIR = 128
"""Of two neighbours' sum in a column of weights: with two uint8 their products' sum fits 16 bits."""


def byte_packing(
    weight: torch.Tensor, groups: int, target: Target, *, is_winograd: bool = False
) -> list[int]:
    """Lanes, columns of a panel, and numbers of a group: what a step says of its packed weights.

    weight: [outputs, channels, kh, kw]. is_winograd: that the step may transform them, which takes int16.
    """
    group = target.byte_group
    if target.small_pair_group and not is_winograd:
        columns = byte_columns(weight, groups).flatten(0, 1).to(torch.int16)
        sums = columns[:, 0 : columns.shape[1] // 2 * 2].unflatten(1, (-1, 2)).sum(2)
        if sums.numel() == 0 or int(sums.abs().max()) <= MOST_PAIR:
            group = target.small_pair_group
    return [target.byte_lanes, 2 * target.byte_lanes, group]


def pack_columns(columns: torch.Tensor, packing: list[int]) -> torch.Tensor:
    """Columns [n, k] as their sums, int32, and panels [panel, group of k, column, number]; int8, flat.

    The last panel is as wide as its vectors need; sums and the whole end at multiples of 64 bytes.
    """
    n, k = columns.shape
    lanes, panel, group = packing
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


def byte_columns(weight: torch.Tensor, groups: int) -> torch.Tensor:
    """Weights [outputs, channels, kh, kw] as columns [groups, outputs, taps and channels]."""
    return weight.permute(0, 2, 3, 1).reshape(groups, weight.shape[0] // groups, -1)


def byte_weights(weight: torch.Tensor, groups: int, packing: list[int]) -> torch.Tensor:
    """Weights [outputs, channels, kh, kw] of a convolution, one packed matrix a group."""
    return torch.cat([pack_columns(matrix, packing) for matrix in byte_columns(weight, groups)])
