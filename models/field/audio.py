"""Networks for sound and time series, with random weights. They are defined in this file."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.field.entry import entry, seeded


class _Separable(nn.Sequential):
    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__(
            nn.Conv1d(inputs, inputs, kernel, padding=kernel // 2, groups=inputs, bias=False),
            nn.Conv1d(inputs, outputs, 1, bias=False),
            nn.BatchNorm1d(outputs),
            nn.ReLU(),
        )


class QuartzNet(nn.Module):
    """Long depthwise convolutions in time, with residual blocks. Kriman et al., 2019.

    (1, bands, frames) to log probabilities (1, classes, frames / 2).
    """

    def __init__(self, bands: int = 64, width: int = 256, kernels: tuple[int, ...] = (33, 39, 51)) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(bands, width, 33, 2, 16), nn.BatchNorm1d(width), nn.ReLU())
        self.blocks = nn.ModuleList(
            nn.Sequential(*(_Separable(width, width, kernel) for _ in range(3))) for kernel in kernels
        )
        self.head = nn.Sequential(_Separable(width, 2 * width, 75), nn.Conv1d(2 * width, 29, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = F.relu(block(x) + x)
        return self.head(x).log_softmax(1)


class KeywordSpotter(nn.Module):
    """Separable convolutions over 49 x 10 coefficients. Zhang et al., 2017."""

    def __init__(self, width: int = 64, classes: int = 12) -> None:
        super().__init__()
        layers = [nn.Conv2d(1, width, (10, 4), 2, (5, 1), bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        for _ in range(4):
            layers += [nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False)]
            layers += [nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 1, bias=False)]
            layers += [nn.BatchNorm2d(width), nn.ReLU()]
        self.features, self.head = nn.Sequential(*layers), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).mean((2, 3)))


class _MaskBlock(nn.Module):
    def __init__(self, width: int, hidden: int, dilation: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(width, hidden, 1),
            nn.PReLU(),
            nn.GroupNorm(1, hidden),
            nn.Conv1d(hidden, hidden, 3, padding=dilation, dilation=dilation, groups=hidden),
            nn.PReLU(),
            nn.GroupNorm(1, hidden),
            nn.Conv1d(hidden, width, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class ConvTasNet(nn.Module):
    """Separates two speakers. Luo and Mesgarani, 2019. (1, 1, samples) to (1, 2, samples)."""

    def __init__(self, filters: int = 256, width: int = 128, hidden: int = 256) -> None:
        super().__init__()
        self.encoder = nn.Conv1d(1, filters, 16, 8, bias=False)
        self.start = nn.Sequential(nn.GroupNorm(1, filters), nn.Conv1d(filters, width, 1))
        self.blocks = nn.Sequential(*(_MaskBlock(width, hidden, 1 << (i % 6)) for i in range(12)))
        self.masks = nn.Sequential(nn.PReLU(), nn.Conv1d(width, 2 * filters, 1), nn.Sigmoid())
        self.decoder = nn.ConvTranspose1d(filters, 1, 16, 8, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        code = self.encoder(x)
        masks = self.masks(self.blocks(self.start(code))).unflatten(1, (2, -1))
        return self.decoder((masks * code[:, None]).flatten(0, 1)).transpose(0, 1)


class _Residuals(nn.Module):
    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.LeakyReLU(0.1),
                nn.Conv1d(width, width, kernel, padding=(kernel - 1) // 2 * dilation, dilation=dilation),
                nn.LeakyReLU(0.1),
                nn.Conv1d(width, width, kernel, padding=(kernel - 1) // 2),
            )
            for dilation in (1, 3, 5)
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


class HifiGan(nn.Module):
    """A vocoder. Kong et al., 2020. (1, bands, frames) to (1, 1, 256 frames)."""

    def __init__(self, bands: int = 80, width: int = 128) -> None:
        super().__init__()
        self.first = nn.Conv1d(bands, width, 7, padding=3)
        self.ups, self.blocks = nn.ModuleList(), nn.ModuleList()
        for level, (factor, kernel) in enumerate(((8, 16), (8, 16), (2, 4), (2, 4))):
            size = width >> level
            up = nn.ConvTranspose1d(size, size // 2, kernel, factor, (kernel - factor) // 2)
            self.ups.append(nn.Sequential(nn.LeakyReLU(0.1), up))
            self.blocks.append(nn.ModuleList(_Residuals(size // 2, k) for k in (3, 7)))
        self.last = nn.Conv1d(width >> 4, 1, 7, padding=3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for up, blocks in zip(self.ups, self.blocks, strict=True):
            x = up(x)
            x = sum((block(x) for block in blocks), torch.zeros(())) / len(blocks)
        return torch.tanh(self.last(F.leaky_relu(x)))


class TemporalNetwork(nn.Module):
    """Causal convolutions with growing dilation. Bai et al., 2018. (1, inputs, steps) to (1, outputs)."""

    def __init__(self, inputs: int = 8, width: int = 64, outputs: int = 4) -> None:
        super().__init__()
        self.first = nn.Conv1d(inputs, width, 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(nn.Conv1d(width, width, 3, dilation=1 << i) for _ in range(2)) for i in range(6)
        )
        self.head = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for i, (one, two) in enumerate(self.layers):
            pad = (2 << i, 0)
            y = F.relu(two(F.pad(F.relu(one(F.pad(x, pad))), pad)))
            x = F.relu(x + y)
        return self.head(x[:, :, -1])


@entry("speech")
def quartznet() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Four seconds: 400 frames of 64 bands."""
    return QuartzNet(), (seeded(1, 64, 400),)


@entry("speech")
def keyword_spotter() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return KeywordSpotter(), (seeded(1, 1, 49, 10),)


@entry("speech")
def conv_tasnet() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Half a second at 16 kHz."""
    return ConvTasNet(), (seeded(1, 1, 8000),)


@entry("speech")
def hifigan() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A third of a second at 22 kHz."""
    return HifiGan(), (seeded(1, 80, 32),)


@entry("series")
def temporal_network() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return TemporalNetwork(), (seeded(1, 8, 512),)
