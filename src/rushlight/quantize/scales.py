"""Computes the scale of each group of weights."""

from __future__ import annotations

import math

import torch


def group_for(group_size: int, columns: int) -> int:
    """Returns the size of groups that divides a row: `group_size`, a common divisor of at least 8, or the
    whole row.
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
    """Quantizes a weight in groups. The weight is approximately the product of the two results.

    Candidates for the scale lie on a grid below the full range of a group; each is fitted to the rounded
    integers by least squares. The candidate with the smallest squared error is used.

    Args:
        weight: float [R, C].
        group: the number of weights in a row that share a scale.
        low: the smallest integer.
        high: the largest integer.
        importance: float [C], weights of the squared errors, or None.
        candidates: the number of candidates.

    Returns:
        int8 [R, C] from low to high, and float32 scales [R, C / group].
    """
    rows = weight.to(torch.float32).reshape(weight.shape[0], -1, group)
    peak = rows.abs().amax(-1, keepdim=True).clamp_min(1e-12)
    matter = None if importance is None else importance.to(torch.float32).reshape(-1, group)
    most = torch.zeros_like(peak)
    scales = peak / high
    for step in range(candidates):
        q = rows / (peak / (high + 0.5) * (1.05 - 0.4 * step / candidates))
        q = q.round_().clamp_(low, high)
        weighed = q if matter is None else q * matter
        along, length = (rows * weighed).sum(-1, keepdim=True), (q * weighed).sum(-1, keepdim=True)
        length = length.clamp_min(1e-30)
        # The squared error with the fitted scale is the sum of the squared values minus this.
        kept = along.square() / length
        scales = torch.where(kept > most, along / length, scales)
        most = torch.maximum(kept, most)
    q = torch.clamp(torch.round(rows / scales), low, high).to(torch.int8)
    return q.reshape(weight.shape).contiguous(), scales.squeeze(-1).contiguous()
