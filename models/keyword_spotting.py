"""A keyword-spotting network of the size of MLPerf Tiny's, for tests and measurements."""

from __future__ import annotations

import torch
from torch import nn

FRAMES, BANDS, KEYWORDS = 49, 10, 12
"""The input has FRAMES spectra of BANDS numbers. The output has a logit for each keyword."""


class KeywordSpotting(nn.Module):
    """A depthwise-separable CNN: [batch, 1, FRAMES, BANDS] float32 to [batch, KEYWORDS] logits.

    It has a 10 x 4 convolution with stride 2, four pairs of a depthwise 3 x 3 and a 1 x 1 convolution, a mean
    over the image and a linear layer. The application computes the softmax.

    Args:
        width: channels of the convolutions, 64 in MLPerf Tiny.
    """

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        layers = self._with_norm(nn.Conv2d(1, width, (10, 4), stride=2, padding=(5, 1), bias=False))
        for _ in range(4):
            layers += self._with_norm(nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False))
            layers += self._with_norm(nn.Conv2d(width, width, 1, bias=False))
        self.features = nn.Sequential(*layers)
        self.pool = nn.AvgPool2d(((FRAMES + 1) // 2, BANDS // 2))
        self.classifier = nn.Linear(width, KEYWORDS)

    @staticmethod
    def _with_norm(convolution: nn.Conv2d) -> list[nn.Module]:
        norm = nn.BatchNorm2d(convolution.out_channels)
        # This variance of random weights keeps the magnitude of activations constant over the layers.
        norm.running_var = torch.full((convolution.out_channels,), 1 / 6)
        return [convolution, norm, nn.ReLU()]

    def forward(self, spectra: torch.Tensor) -> torch.Tensor:
        """Returns the logits."""
        logits: torch.Tensor = self.classifier(torch.flatten(self.pool(self.features(spectra)), 1))
        return logits


def keyword_spectra(count: int = 4) -> torch.Tensor:
    """Returns spectra [count, 1, FRAMES, BANDS] that change slowly from frame to frame, as in speech."""
    generator = torch.Generator().manual_seed(1)
    steps = torch.randn((count, 1, FRAMES, BANDS), generator=generator)
    return steps.cumsum(2) / torch.arange(1, FRAMES + 1).sqrt()[:, None]
