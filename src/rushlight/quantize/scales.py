"""Computes the scale of each group of weights."""

from __future__ import annotations

import math

import torch


def group_for(group_size: int, columns: int) -> int:
    """Returns a group size that divides the length of a row.

    It is the greatest common divisor of `group_size` and `columns` if that is at least 8, else `columns`.
    """
    common = math.gcd(group_size, columns)
    return common if common >= 8 else columns


def quantize_groups(
    weight: torch.Tensor,
    group: int,
    low: int,
    high: int,
    importance: torch.Tensor | None = None,
    candidates: int = 24,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Quantizes a weight in groups. Each scale times the integers of its group approximates the weight.

    The function tries a grid of scales for each group. It rounds the group with each of them, and then fits
    the scale to the integers by least squares. The scale with the smallest squared error is used.

    Args:
        weight: float [R, C].
        group: the number of weights in a row that share a scale.
        low: the smallest integer.
        high: the largest integer.
        importance: float [C], weights of the squared errors, or None.
        candidates: the number of scales in the grid.

    Returns:
        int8 [R, C] from low to high, and float32 scales [R, C / group].
    """
    rows = weight.to(torch.float32).reshape(weight.shape[0], -1, group)
    peak = rows.abs().amax(-1, keepdim=True).clamp_min(1e-12)
    column_weights = None if importance is None else importance.to(torch.float32).reshape(-1, group)
    best_gain = torch.zeros_like(peak)
    scales = peak / high
    for step in range(candidates):
        q = rows / (peak / (high + 0.5) * (1.05 - 0.4 * step / candidates))
        q = q.round_().clamp_(low, high)
        weighted = q if column_weights is None else q * column_weights
        dot, norm = (rows * weighted).sum(-1, keepdim=True), (q * weighted).sum(-1, keepdim=True)
        norm = norm.clamp_min(1e-30)
        # The squared error with the fitted scale is the sum of the squared values minus the gain.
        gain = dot.square() / norm
        scales = torch.where(gain > best_gain, dot / norm, scales)
        best_gain = torch.maximum(gain, best_gain)
    q = torch.clamp(torch.round(rows / scales), low, high).to(torch.int8)
    return q.reshape(weight.shape).contiguous(), scales.squeeze(-1).contiguous()
