"""Packs float32 weights into the order in which microkernels read them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rushlight.backends.cpu.target import Target


def pack_panels(matrices: torch.Tensor, target: Target) -> torch.Tensor:
    """Packs matrices [count, k, n] as flat panels [count, panel, k, column].

    The last panel has only as many vectors as its columns need.
    """
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
    """Packs convolution weights [outputs, channels, kh, kw] as matrices [kh * kw * channels, outputs]."""
    outputs, channels, height, width = weight.shape
    matrices = weight.view(groups, outputs // groups, channels, height, width).permute(0, 3, 4, 2, 1)
    return pack_panels(matrices.reshape(groups, height * width * channels, outputs // groups), target)


# The matrix G of F(m x m, 3 x 3), by m. The interpolation points are infinity and the first m + 1 of 0, 1,
# -1, 2, -2. Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), section 4.
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


def winograd_taps(weight: torch.Tensor, groups: int, target: Target) -> torch.Tensor:
    """Packs untransformed weights [groups * outputs, channels, 3, 3].

    Returns:
        A matrix [channels, outputs] for each of the nine taps and each group, in panels.
    """
    return pack_panels(_matrices(weight.flatten(2).permute(2, 0, 1), groups), target)


def winograd_weights(weight: torch.Tensor, groups: int, m: int, target: Target) -> torch.Tensor:
    """Transforms and packs weights [groups * outputs, channels, 3, 3].

    Returns:
        A matrix [channels, outputs] for each of the (m + 2)^2 points and each group, in panels.
    """
    g = np.kron(WINOGRAD_G[m], WINOGRAD_G[m])
    return pack_panels(_matrices(_transformed(weight, g), groups), target)


def _transformed(weight: torch.Tensor, matrix: NDArray[Any]) -> torch.Tensor:
    """Multiplies the nine taps of each filter by `matrix` [points, 9], in float64.

    Returns:
        The transformed filters, float32 [points, outputs, channels].
    """
    outputs, channels = weight.shape[:2]
    points = torch.from_numpy(matrix) @ weight.reshape(outputs * channels, 9).t().double()
    return points.float().view(-1, outputs, channels)


def _matrices(points: torch.Tensor, groups: int) -> torch.Tensor:
    """Returns [points, groups * outputs, channels] as matrices [points * groups, channels, outputs]."""
    count, outputs, channels = points.shape
    return points.reshape(count * groups, outputs // groups, channels).transpose(1, 2)


# Stride 2 in one dimension: for each of the points 0, 1 and infinity, the factors of the three taps. The
# outer taps are a filter of two taps on the even inputs, computed by F(2, 2). The middle tap multiplies the
# odd inputs; its products are added to the products at 0 and infinity.
_STRIDE2_FACTORS = (((1, 0, 0), (0, 1, 0)), ((1, 0, 1),), ((0, 1, 0), (0, 0, 1)))


def winograd_weights_stride2(weight: torch.Tensor, groups: int, target: Target) -> torch.Tensor:
    """Transforms and packs weights [groups * outputs, channels, 3, 3] for stride 2.

    Returns:
        A matrix [terms * channels, outputs] for each of the nine points and each group, in panels.
    """
    outputs = weight.shape[0] // groups
    packed = []
    for rows, columns in product(_STRIDE2_FACTORS, _STRIDE2_FACTORS):
        terms = _transformed(weight, np.kron(np.array(rows, np.float64), np.array(columns, np.float64)))
        matrices = terms.unflatten(1, (groups, outputs)).permute(1, 0, 3, 2)
        packed.append(pack_panels(matrices.flatten(1, 2), target))
    return torch.cat(packed)


def padded(bias: torch.Tensor, multiple: int = 64) -> torch.Tensor:
    """Pads a bias with zeros to a multiple of `multiple` numbers, so that kernels can read whole vectors."""
    result = torch.zeros(-(-bias.numel() // multiple) * multiple)
    result[: bias.numel()] = bias
    return result
