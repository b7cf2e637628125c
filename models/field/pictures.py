"""Networks for pictures and volumes: detection, super-resolution, diffusion, text recognition, video."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from models.common import image
from models.field.entry import entry, seeded


def _conv(inputs: int, outputs: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.SiLU(),
    )


class _Split(nn.Module):
    """A cross-stage block: half of the channels pass residual blocks, and all results are concatenated."""

    def __init__(self, inputs: int, outputs: int, count: int, adds: bool) -> None:
        super().__init__()
        self.half, self.adds = outputs // 2, adds
        self.first, self.last = _conv(inputs, outputs, 1), _conv((2 + count) * self.half, outputs, 1)
        self.pairs = nn.ModuleList(
            nn.Sequential(_conv(self.half, self.half), _conv(self.half, self.half)) for _ in range(count)
        )

    def forward(self, x: Tensor) -> Tensor:
        parts = list(self.first(x).split(self.half, 1))
        for pair in self.pairs:
            parts.append(parts[-1] + pair(parts[-1]) if self.adds else pair(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Detector(nn.Module):
    """A one-stage detector with three scales and without anchors, similar to small YOLO networks."""

    def __init__(self, width: int = 16, classes: int = 80) -> None:
        super().__init__()
        w = [width << i for i in range(5)]
        self.stem = nn.Sequential(_conv(3, w[0], 3, 2), _conv(w[0], w[1], 3, 2), _Split(w[1], w[1], 1, True))
        self.down = nn.ModuleList(
            nn.Sequential(_conv(w[i], w[i + 1], 3, 2), _Split(w[i + 1], w[i + 1], 1, True)) for i in (1, 2, 3)
        )
        self.pool, self.join = _conv(w[4], w[3], 1), _conv(4 * w[3], w[4], 1)
        self.up_1, self.up_2 = _Split(w[4] + w[3], w[3], 1, False), _Split(w[3] + w[2], w[2], 1, False)
        self.down_1, self.down_2 = _conv(w[2], w[2], 3, 2), _conv(w[3], w[3], 3, 2)
        self.back_1, self.back_2 = _Split(w[2] + w[3], w[3], 1, False), _Split(w[3] + w[4], w[4], 1, False)
        self.boxes, self.classes = (
            nn.ModuleList(
                nn.Sequential(_conv(i, 64), _conv(64, 64), nn.Conv2d(64, outputs, 1)) for i in w[2:5]
            )
            for outputs in (64, classes)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        maps = [self.stem(x)]
        for stage in self.down:
            maps.append(stage(maps[-1]))
        parts = [self.pool(maps[3])]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        small, middle, large = maps[1], maps[2], self.join(torch.cat(parts, 1))
        middle = self.up_1(torch.cat([F.interpolate(large, scale_factor=2.0, mode="nearest"), middle], 1))
        small = self.up_2(torch.cat([F.interpolate(middle, scale_factor=2.0, mode="nearest"), small], 1))
        middle = self.back_1(torch.cat([self.down_1(small), middle], 1))
        large = self.back_2(torch.cat([self.down_2(middle), large], 1))
        found = []
        for level, boxes, classes in zip((small, middle, large), self.boxes, self.classes, strict=True):
            sides = boxes(level).flatten(2).unflatten(1, (4, 16)).softmax(2)
            places = torch.arange(16.0)
            found.append((sides * places[None, None, :, None]).sum(2))
            found.append(classes(level).flatten(2).sigmoid())
        return tuple(found)


class Subpixel(nn.Module):
    """Super-resolution with pixel shuffle. Shi et al., 2016. (1, 1, size, size) to (1, 1, 3 size, 3 size)."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 64, 5, padding=2),
            nn.Tanh(),
            nn.Conv2d(64, 32, 3, padding=1),
            nn.Tanh(),
            nn.Conv2d(32, 9, 3, padding=1),
            nn.PixelShuffle(3),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class _Plain(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return x + 0.5 * self.two(F.relu(self.one(x)))


class Enlarger(nn.Module):
    """Super-resolution with residual blocks. Lim et al., 2017. (1, 3, size, size) to twice the size."""

    def __init__(self, width: int = 48, blocks: int = 6) -> None:
        super().__init__()
        self.first, self.blocks = (
            nn.Conv2d(3, width, 3, padding=1),
            nn.Sequential(*(_Plain(width) for _ in range(blocks))),
        )
        self.last = nn.Sequential(
            nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(width, 3, 3, padding=1)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        return self.last(x + self.blocks(x))


def _time(t: Tensor, size: int) -> Tensor:
    rates = torch.exp(-math.log(10000.0) * torch.arange(size // 2) / (size // 2))
    angles = t[:, None] * rates[None]
    return torch.cat([angles.cos(), angles.sin()], -1)


class _Noise(nn.Module):
    def __init__(self, inputs: int, outputs: int, time: int) -> None:
        super().__init__()
        self.norm_1, self.conv_1 = nn.GroupNorm(8, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs)
        self.norm_2, self.conv_2 = nn.GroupNorm(8, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        y = self.conv_1(F.silu(self.norm_1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.conv_2(F.silu(self.norm_2(y)))


class _Cross(nn.Module):
    def __init__(self, width: int, context: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.group, self.norms = nn.GroupNorm(8, width), nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.qkv, self.out_1 = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.query, self.out_2 = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.key, self.value = (nn.Linear(context, width, bias=False) for _ in range(2))
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def _attend(self, *parts: Tensor) -> Tensor:
        heads = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts]
        return F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)

    def forward(self, x: Tensor, context: Tensor) -> Tensor:
        rows, columns = x.shape[2:]
        y = self.group(x).flatten(2).transpose(1, 2)
        y = y + self.out_1(self._attend(*self.qkv(self.norms[0](y)).chunk(3, -1)))
        z = self.query(self.norms[1](y))
        y = y + self.out_2(self._attend(z, self.key(context), self.value(context)))
        value, gate = self.up(self.norms[2](y)).chunk(2, -1)
        y = y + self.down(value * F.gelu(gate))
        return x + y.transpose(1, 2).unflatten(2, (rows, columns))


class DiffusionUNet(nn.Module):
    """A step of latent diffusion. Rombach et al., 2022.

    forward(latents (1, 4, size, size), time (1), context (1, tokens, 256)) returns the noise.
    """

    def __init__(self, width: int = 64, context: int = 256) -> None:
        super().__init__()
        time = 4 * width
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(4, width, 3, padding=1)
        self.down_1, self.down_2 = _Noise(width, width, time), _Noise(width, 2 * width, time)
        self.shrink, self.grow = nn.Conv2d(width, width, 3, 2, 1), nn.Conv2d(2 * width, width, 3, padding=1)
        self.cross_1, self.cross_2 = _Cross(2 * width, context), _Cross(2 * width, context)
        self.middle = _Noise(2 * width, 2 * width, time)
        self.up_1, self.up_2 = _Noise(4 * width, 2 * width, time), _Noise(2 * width, width, time)
        self.norm, self.last = nn.GroupNorm(8, width), nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x: Tensor, t: Tensor, context: Tensor) -> Tensor:
        time = self.time(_time(t, self.width))
        a = self.down_1(self.first(x), time)
        b = self.cross_1(self.down_2(self.shrink(a), time), context)
        y = self.cross_2(self.up_1(torch.cat([self.middle(b, time), b], 1), time), context)
        y = self.grow(F.interpolate(y, scale_factor=2.0, mode="nearest"))
        y = self.up_2(torch.cat([y, a], 1), time)
        return self.last(F.silu(self.norm(y)))


class TextReader(nn.Module):
    """Text recognition: convolutions over a line of text, then a bidirectional LSTM. Shi et al., 2015."""

    def __init__(self, classes: int = 80) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs, pool in (
            (1, 64, (2, 2)),
            (64, 128, (2, 2)),
            (128, 256, (2, 1)),
            (256, 256, (2, 1)),
        ):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
            layers += [nn.MaxPool2d(pool)]
        self.features = nn.Sequential(*layers)
        self.lstm = nn.LSTM(512, 128, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(256, classes)

    def forward(self, x: Tensor) -> Tensor:
        y = self.features(x).permute(0, 3, 1, 2).flatten(2)
        return self.head(self.lstm(y)[0]).log_softmax(-1)


class Volumes(nn.Module):
    """Video classification with 3 x 3 x 3 convolutions. Tran et al., 2015. (1, 3, frames, size, size)."""

    def __init__(self, width: int = 32, classes: int = 20) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        sizes = (3, width, 2 * width, 4 * width, 4 * width)
        for level, (inputs, outputs) in enumerate(zip(sizes, sizes[1:], strict=False)):
            layers += [nn.Conv3d(inputs, outputs, 3, padding=1), nn.ReLU()]
            layers += [nn.MaxPool3d((1, 2, 2) if level == 0 else 2)]
        self.features, self.head = nn.Sequential(*layers), nn.Linear(4 * width * 4 * 4, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).flatten(1))


def _pair(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv3d(inputs, outputs, 3, padding=1),
        nn.InstanceNorm3d(outputs, affine=True),
        nn.LeakyReLU(0.01),
        nn.Conv3d(outputs, outputs, 3, padding=1),
        nn.InstanceNorm3d(outputs, affine=True),
        nn.LeakyReLU(0.01),
    )


class VolumeUNet(nn.Module):
    """Segments a volume. Cicek et al., 2016. (1, 1, d, h, w) to (1, classes, d, h, w)."""

    def __init__(self, width: int = 16, classes: int = 3) -> None:
        super().__init__()
        self.one, self.two, self.three = _pair(1, width), _pair(width, 2 * width), _pair(2 * width, 4 * width)
        self.up_2 = nn.ConvTranspose3d(4 * width, 2 * width, 2, 2)
        self.up_1 = nn.ConvTranspose3d(2 * width, width, 2, 2)
        self.back_2, self.back_1 = _pair(4 * width, 2 * width), _pair(2 * width, width)
        self.head = nn.Conv3d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        one = self.one(x)
        two = self.two(F.max_pool3d(one, 2))
        three = self.three(F.max_pool3d(two, 2))
        two = self.back_2(torch.cat([two, self.up_2(three)], 1))
        return self.head(self.back_1(torch.cat([one, self.up_1(two)], 1)))


@entry("detection")
def detector() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return Detector(), image(320)


@entry("super-resolution")
def subpixel() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return Subpixel(), (seeded(1, 1, 128, 128),)


@entry("super-resolution")
def enlarger() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return Enlarger(), image(96)


@entry("diffusion")
def diffusion_unet() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return DiffusionUNet(), (seeded(1, 4, 32, 32), torch.tensor([500.0]), seeded(1, 32, 256))


@entry("reading")
def text_reader() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return TextReader(), (seeded(1, 1, 32, 160),)


@entry("video")
def volumes() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return Volumes(), (seeded(1, 3, 8, 64, 64),)


@entry("segmentation")
def volume_unet() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    return VolumeUNet(), (seeded(1, 1, 16, 48, 48),)
