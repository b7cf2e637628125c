"""Packs int8 weights into the order in which microkernels read them."""

from __future__ import annotations

import torch

from rushlight.backends.cpu.plan.tables import Int8Packing
from rushlight.backends.cpu.target import Target

MAX_PAIR = 128
"""The largest absolute sum of a pair of weights for which the sum of its products with uint8 fits int16."""


def int8_packing(
    weight: torch.Tensor, groups: int, target: Target, *, is_winograd: bool = False
) -> Int8Packing:
    """Returns the packing parameters of a step's weights.

    Args:
        weight: int8 [outputs, channels of a group, kh, kw].
        groups: the groups of the convolution.
        target: the instruction set.
        is_winograd: whether the runtime may transform the weights for Winograd's algorithm, which needs
            int16 products.
    """
    group = target.int8_group
    if target.small_pair_group and not is_winograd:
        columns = int8_columns(weight, groups).flatten(0, 1).to(torch.int16)
        sums = columns[:, 0 : columns.shape[1] // 2 * 2].unflatten(1, (-1, 2)).sum(2)
        if sums.numel() == 0 or int(sums.abs().max()) <= MAX_PAIR:
            group = target.small_pair_group
    return Int8Packing(lanes=target.int8_lanes, panel=2 * target.int8_lanes, group=group)


def pack_columns(columns: torch.Tensor, packing: Int8Packing) -> torch.Tensor:
    """Packs a matrix whose columns are the rows of `columns`.

    Args:
        columns: int8 [n, k].
        packing: the packing parameters.

    Returns:
        Flat int8: first the int32 sum of each column, then panels [panel, group of k, column, number]. The
        last panel has only as many vectors as its columns need. Zeros pad the sums and the whole result to
        multiples of 64 bytes.
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


def merge_groups(weight: torch.Tensor, groups: int, count: int) -> torch.Tensor:
    """Returns the weights of the same convolution with `count` times fewer groups.

    Args:
        weight: int8 [outputs, channels of a group, kh, kw].
        groups: the groups of the convolution, a multiple of `count`.
        count: the number of adjacent groups that become one group.

    Returns:
        int8 [outputs, count * channels of a group, kh, kw], with zeros between the groups.
    """
    if count == 1:
        return weight
    outputs, channels, height, width = weight.shape
    source = weight.view(groups // count, count, outputs // groups, channels, height, width)
    merged = weight.new_zeros(groups // count, count, outputs // groups, count, channels, height, width)
    for i in range(count):
        merged[:, i, :, i] = source[:, i]
    return merged.view(outputs, count * channels, height, width)


def int8_columns(weight: torch.Tensor, groups: int) -> torch.Tensor:
    """Returns weights [outputs, channels, kh, kw] as columns [groups, outputs, kh * kw * channels]."""
    return weight.permute(0, 2, 3, 1).reshape(groups, weight.shape[0] // groups, -1)


def int8_weights(weight: torch.Tensor, groups: int, packing: Int8Packing) -> torch.Tensor:
    """Packs weights [outputs, channels, kh, kw] of a convolution, one matrix for each group."""
    return torch.cat([pack_columns(matrix, packing) for matrix in int8_columns(weight, groups)])
