"""The scale of each group of weights."""

from __future__ import annotations

import math

import torch


def group_for(group_size: int, columns: int) -> int:
    """The size of groups that divides a row: `group_size`, a divisor of both from 8 up, or the whole row."""
    common = math.gcd(group_size, columns)
    return common if common >= 8 else columns


def quantize_groups(
    weight: torch.Tensor, group: int, low: int, high: int, candidates: int = 24
) -> tuple[torch.Tensor, torch.Tensor]:
    """int8 [R, C] in low .. high, and float32 scales [R, C / group]; weight [R, C] is about their product."""
    rows = weight.to(torch.float32).reshape(weight.shape[0], -1, group)
    peak = rows.abs().amax(-1, keepdim=True).clamp_min(1e-12)
    best = torch.full_like(peak, math.inf)
    scales = peak / high
    for step in range(candidates):
        scale = peak / (high + 0.5) * (1.05 - 0.4 * step / candidates)
        rounded = torch.clamp(torch.round(rows / scale), low, high) * scale
        error = (rounded - rows).square().sum(-1, keepdim=True)
        scales = torch.where(error < best, scale, scales)
        best = torch.minimum(error, best)
    q = torch.clamp(torch.round(rows / scales), low, high).to(torch.int8)
    return q.reshape(weight.shape).contiguous(), scales.squeeze(-1).contiguous()
