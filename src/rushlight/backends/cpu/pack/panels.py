"""Weights in the order in which tiles read them."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch

from rushlight.backends.cpu.target import Target


def pack_panels(matrices: torch.Tensor, target: Target) -> torch.Tensor:
    """Matrices [count, k, n] as panels [count, panel, k, column], the last as wide as it needs; flat."""
    count, k, n = matrices.shape
    whole = n // target.panel * target.panel
    rest = -(-(n - whole) // target.vector) * target.vector
    packed = torch.zeros(count, k * (whole + rest))
    panels = matrices[:, :, :whole].unflatten(2, (whole // target.panel, target.panel)).permute(0, 2, 1, 3)
    packed[:, : k * whole].view(panels.shape).copy_(panels)
    if rest:
        packed[:, k * whole :].view(count, k, rest)[:, :, : n - whole] = matrices[:, :, whole:]
    return packed.flatten()


def product_weights(weight: torch.Tensor, groups: int, target: Target) -> torch.Tensor:
    """Weights [outputs, channels, kh, kw] of a convolution, rows of matrices in the order kh, kw, channel."""
    outputs, channels, height, width = weight.shape
    matrices = weight.view(groups, outputs // groups, channels, height, width).permute(0, 3, 4, 2, 1)
    return pack_panels(matrices.reshape(groups, height * width * channels, outputs // groups), target)


# G of F(m x m, 3 x 3) at infinity and the first m + 1 of the points 0, 1, -1, 2, -2: Lavin and Gray, "Fast
# Algorithms for Convolutional Neural Networks" (2016), section 4.
WINOGRAD_G = {
    2: np.array([[1, 0, 0], [1 / 2, 1 / 2, 1 / 2], [1 / 2, -1 / 2, 1 / 2], [0, 0, 1]]),
    3: np.array(
        [[1 / 2, 0, 0], [-1 / 2, -1 / 2, -1 / 2], [-1 / 2, 1 / 2, -1 / 2], [1 / 6, 1 / 3, 2 / 3], [0, 0, 1]]
    ),
    4: np.array(
        [
            [1 / 4, 0, 0],
            [-1 / 6, -1 / 6, -1 / 6],
            [-1 / 6, 1 / 6, -1 / 6],
            [1 / 24, 1 / 12, 1 / 6],
            [1 / 24, -1 / 12, 1 / 6],
            [0, 0, 1],
        ]
    ),
}


def winograd_taps(weight: torch.Tensor, target: Target) -> torch.Tensor:
    """Weights [outputs, channels, 3, 3] as nine packed matrices [channels, outputs], not yet transformed."""
    return pack_panels(weight.permute(2, 3, 1, 0).flatten(0, 1), target)


def winograd_weights(weight: torch.Tensor, m: int, target: Target) -> torch.Tensor:
    """Weights [outputs, channels, 3, 3] as (m + 2)^2 packed matrices [channels, outputs]."""
    outputs, channels = weight.shape[:2]
    g = torch.from_numpy(np.kron(WINOGRAD_G[m], WINOGRAD_G[m]))
    points = g @ weight.reshape(outputs * channels, 9).t().double()
    return pack_panels(points.float().view(-1, outputs, channels).transpose(1, 2), target)


# What the points 0, 1 and infinity of F(2, 2) over even inputs take of three taps at stride 2: the middle one
# meets the odd inputs, whose products are added to those at 0 and infinity.
_APART = (((1, 0, 0), (0, 1, 0)), ((1, 0, 1),), ((0, 1, 0), (0, 0, 1)))


def winograd_weights_apart(weight: torch.Tensor, target: Target) -> torch.Tensor:
    """Weights [outputs, channels, 3, 3] of a stride of 2 as 9 packed matrices [terms * channels, outputs]."""
    outputs, channels = weight.shape[:2]
    taps = weight.reshape(outputs * channels, 9).t().double()
    packed = []
    for rows, columns in product(_APART, _APART):
        points = torch.from_numpy(np.kron(np.array(rows, np.float64), np.array(columns, np.float64))) @ taps
        matrix = points.float().view(-1, outputs, channels).transpose(1, 2).reshape(1, -1, outputs)
        packed.append(pack_panels(matrix, target))
    return torch.cat(packed)


def padded(bias: torch.Tensor, multiple: int = 64) -> torch.Tensor:
    """Zeros behind, so that whole vectors can be read."""
    result = torch.zeros(-(-bias.numel() // multiple) * multiple)
    result[: bias.numel()] = bias
    return result
