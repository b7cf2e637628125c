"""Rounds weights so that the error of the layer's outputs is small for its typical inputs.

Source: Frantar, Ashkboos, Hoefler, Alistarh, "GPTQ: Accurate Post-Training Quantization for Generative
Pre-trained Transformers", 2022. Columns are rounded one after the other. After each column, the
remaining columns are changed to compensate its rounding error, as far as the inputs are correlated.
"""

from __future__ import annotations

import torch

from rushlight.quantize.scales import quantize_groups

_DAMPING = 0.01
"""Added to the diagonal of the Gram matrix, relative to the mean of the diagonal."""


def round_by_inputs(
    weight: torch.Tensor, gram: torch.Tensor, group: int, low: int, high: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rounds a weight with GPTQ. Each scale times the integers of its group approximates the weight.

    Args:
        weight: float [R, C].
        gram: float [C, C], the Gram matrix: the sum of x^T x over the inputs x of the layer, which computes
            x @ weight^T.
        group: the number of weights in a row that share a scale.
        low: the smallest integer.
        high: the largest integer.

    Returns:
        int8 [R, C] from low to high, and float32 scales [R, C / group].
    """
    rest = weight.to(torch.float32).clone()
    damped = _damped(gram.to(torch.float64))
    factor = _inverse_factor(damped).to(torch.float32)
    importance = damped.diagonal() / damped.diagonal().mean()
    columns = rest.shape[1]
    q = torch.empty(rest.shape, dtype=torch.int8)
    scales = torch.empty(rest.shape[0], columns // group)
    for start in range(0, columns, group):
        end = start + group
        block = rest[:, start:end]
        _, scale = quantize_groups(block, group, low, high, importance[start:end])
        scales[:, start // group] = scale[:, 0]
        errors = torch.empty_like(block)
        for i in range(group):
            row = factor[start + i, start + i : end]
            rounded = torch.clamp(torch.round(block[:, i] / scale[:, 0]), low, high)
            q[:, start + i] = rounded.to(torch.int8)
            errors[:, i] = (block[:, i] - rounded * scale[:, 0]) / row[0]
            block[:, i + 1 :] -= errors[:, i, None] * row[1:]
        rest[:, end:] -= errors @ factor[start:end, end:]
    return q, scales


def _damped(gram: torch.Tensor) -> torch.Tensor:
    diagonal = gram.diagonal()
    return gram + torch.diag(torch.full_like(diagonal, float(diagonal.mean()) * _DAMPING + 1e-12))


def _inverse_factor(gram: torch.Tensor) -> torch.Tensor:
    """The upper triangular matrix U for which U^T U is the inverse of the Gram matrix."""
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram))
    factor: torch.Tensor = torch.linalg.cholesky(inverse, upper=True)
    return factor
