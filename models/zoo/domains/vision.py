"""Models for pictures, videos and volumes."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from models.zoo.cases import Lambda, Model, model, zoo

GROUP = "domains"


@zoo(GROUP)
def spatial_transformer() -> Model:
    def run(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
        theta = net(x.flatten(1)).view(-1, 2, 3) * 0.1 + torch.eye(2, 3)
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False, padding_mode="border")

    return model(Lambda(run, nn.Linear(192, 6)), torch.randn(2, 3, 8, 8))


@zoo(GROUP)
def super_resolution() -> Model:
    network = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.PReLU(8), nn.Conv2d(8, 12, 3, padding=1), nn.PixelShuffle(2)
    )
    run = lambda m, x: m(x) + F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)  # noqa: E731
    return model(Lambda(run, network), torch.rand(1, 3, 9, 7))


@zoo(GROUP)
def video_classifier_3d() -> Model:
    network = nn.Sequential(
        nn.Conv3d(3, 8, (3, 5, 5), (1, 2, 2), (1, 2, 2), bias=False),
        nn.BatchNorm3d(8),
        nn.ReLU(),
        nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)),
        nn.Conv3d(8, 8, 3, padding=1, groups=4),
        nn.AdaptiveAvgPool3d((2, 1, 1)),
        nn.Flatten(),
        nn.Linear(16, 4),
    )
    return model(network, torch.randn(1, 3, 6, 16, 16))


@zoo(GROUP)
def volume_segmenter() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Conv3d(1, 4, 3, padding=1), nn.Conv3d(4, 8, 2, 2)
            self.up, self.c = nn.ConvTranspose3d(8, 4, 2, 2), nn.Conv3d(8, 2, 3, padding=1)
            self.norm = nn.InstanceNorm3d(4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            a = F.leaky_relu(self.norm(self.a(x)))
            return self.c(torch.cat([self.up(self.b(a)), a], 1)).softmax(1)

    return model(M(), torch.randn(1, 1, 8, 8, 8))


@zoo(GROUP)
def deformable_sampling() -> Model:
    """Attention to sampled points of two levels."""

    def run(net: nn.Module, query: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        offsets, weights = net(query).split([16, 8], -1)
        points = offsets.view(1, -1, 2, 4, 2).tanh()
        weights = weights.view(1, -1, 8).softmax(-1).view(1, -1, 2, 4)
        mixed = [
            F.grid_sample(level, points[:, :, i], align_corners=False) * weights[:, None, :, i]
            for i, level in enumerate((a, b))
        ]
        return torch.stack(mixed).sum((0, -1)).transpose(1, 2)

    shapes = torch.randn(1, 5, 8), torch.randn(1, 6, 8, 8), torch.randn(1, 6, 4, 4)
    return model(Lambda(run, nn.Linear(8, 24)), *shapes)


@zoo(GROUP)
def quantile_policy() -> Model:
    """Heads of a reinforcement learning agent: dueling values, quantiles, a squashed Gaussian."""

    def run(net: nn.Module, x: torch.Tensor, noise: torch.Tensor) -> Any:
        h = net(x)
        value, advantage = h[:, :1], h[:, 1:5]
        q = value + advantage - advantage.mean(1, True)
        mean, log_std = h[:, 5:7], h[:, 7:9].clamp(-5, 2)
        action = mean + log_std.exp() * noise
        log = -0.5 * noise.square() - log_std - 0.5 * math.log(2 * math.pi)
        squashed = action.tanh()
        log = log - 2 * (math.log(2) - action - F.softplus(-2 * action))
        return q, squashed, log.sum(-1), q.argmax(1), h.quantile(torch.tensor([0.25, 0.5]), 1)

    return model(Lambda(run, nn.Linear(6, 9)), torch.randn(3, 6), torch.randn(3, 2))
