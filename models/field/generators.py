"""Networks whose result is an image: generators, translators, transfer of a style, super-resolution."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.common import image
from models.field.entry import entry, seeded


class Generator(nn.Module):
    """A generator of images from noise. Radford et al., 2016. (1, 100) to (1, 3, 64, 64)."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        widths = [8 * width, 4 * width, 2 * width, width]
        layers: list[nn.Module] = [nn.ConvTranspose2d(100, widths[0], 4, bias=False)]
        for inputs, outputs in zip(widths, widths[1:], strict=False):
            layers += [nn.BatchNorm2d(inputs), nn.ReLU(), nn.ConvTranspose2d(inputs, outputs, 4, 2, 1)]
        self.layers = nn.Sequential(
            *layers, nn.BatchNorm2d(width), nn.ReLU(), nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh()
        )

    def forward(self, noise: Tensor) -> Tensor:
        return self.layers(noise[:, :, None, None])


class Translator(nn.Module):
    """An encoder and a decoder with skip connections. Isola et al., 2017. (1, 3, size, size) to the same."""

    def __init__(self, width: int = 32, depth: int = 4) -> None:
        super().__init__()
        widths = [3, *(width << i for i in range(depth))]
        self.down = nn.ModuleList(
            nn.Conv2d(inputs, outputs, 4, 2, 1) for inputs, outputs in zip(widths, widths[1:], strict=False)
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(inputs if i == 0 else 2 * inputs, outputs, 4, 2, 1)
            for i, (inputs, outputs) in enumerate(zip(widths[:0:-1], widths[-2::-1], strict=True))
        )

    def forward(self, x: Tensor) -> Tensor:
        maps = []
        for layer in self.down:
            x = F.leaky_relu(F.instance_norm(layer(x)), 0.2)
            maps.append(x)
        for layer, skip in zip(self.up, [None, *maps[-2::-1]], strict=True):
            x = layer(F.relu(x if skip is None else torch.cat([x, skip], 1)))
            x = F.instance_norm(x) if layer.out_channels != 3 else torch.tanh(x)
        return x


def _stylized(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.ReflectionPad2d(kernel // 2),
        nn.Conv2d(inputs, outputs, kernel, stride),
        nn.InstanceNorm2d(outputs, affine=True),
        nn.ReLU(),
    )


class _Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(_stylized(width, width, 3), *_stylized(width, width, 3)[:-1])

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class Style(nn.Module):
    """Transfer of a style. Johnson et al., 2016. (1, 3, size, size) to the same."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            _stylized(3, width, 9),
            _stylized(width, 2 * width, 3, 2),
            _stylized(2 * width, 4 * width, 3, 2),
            *(_Block(4 * width) for _ in range(5)),
            nn.Upsample(scale_factor=2),
            _stylized(4 * width, 2 * width, 3),
            nn.Upsample(scale_factor=2),
            _stylized(2 * width, width, 3),
            nn.ReflectionPad2d(4),
            nn.Conv2d(width, 3, 9),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class PhotoEnlarger(nn.Module):
    """Super-resolution with windows of 9 x 9 pixels. Ledig et al., 2017. The result has twice the size."""

    def __init__(self, width: int = 64, blocks: int = 4) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, width, 9, padding=4), nn.PReLU())
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1),
                nn.BatchNorm2d(width),
                nn.PReLU(),
                nn.Conv2d(width, width, 3, padding=1),
                nn.BatchNorm2d(width),
            )
            for _ in range(blocks)
        )
        self.last = nn.Sequential(
            nn.Conv2d(width, 4 * width, 3, padding=1),
            nn.PixelShuffle(2),
            nn.PReLU(),
            nn.Conv2d(width, 3, 9, padding=4),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


@entry("generators")
def image_generator() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Generator(), (seeded(1, 100),)


@entry("generators")
def image_translator() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Translator(), image(128)


@entry("generators")
def style_transfer() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return Style(), image(128)


@entry("generators")
def photo_enlarger() -> tuple[nn.Module, tuple[Tensor, ...]]:
    return PhotoEnlarger(), image(48)
