"""The scale of each group of weights."""

from __future__ import annotations

import math

import torch


def group_for(group_size: int, columns: int) -> int:
    """The size of groups that divides a row: `group_size`, a divisor of both from 8 up, or the whole row."""
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
    """int8 [R, C] in low .. high, and float32 scales [R, C / group]; weight [R, C] is about their product.

    Of the scales on a grid below a group's full range, each fitted to the whole numbers that it rounds to, by
    least squares, a group has the one which loses least in squares; importance [C] weighs these.
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
        # With the fitted scale the squares lost are those of the rows less this.
        kept = along.square() / length
        scales = torch.where(kept > most, along / length, scales)
        most = torch.maximum(kept, most)
    q = torch.clamp(torch.round(rows / scales), low, high).to(torch.int8)
    return q.reshape(weight.shape).contiguous(), scales.squeeze(-1).contiguous()
