"""Networks with shapes that the default networks do not have: 1-D convolutions, gates, mixers, caches."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class WaveEncoder(nn.Module):
    """The feature encoder of wav2vec 2.0, its positional convolution, and one transformer layer.

    (1, samples) to (1, frames, width). Baevski et al., 2020.
    """

    def __init__(self, filters: int = 256, width: int = 384, heads: int = 6) -> None:
        super().__init__()
        sizes = ((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))
        layers: list[nn.Module] = []
        for i, (kernel, stride) in enumerate(sizes):
            layers.append(nn.Conv1d(filters if i else 1, filters, kernel, stride, bias=False))
            layers += [nn.GELU()] if i else [nn.GroupNorm(filters, filters), nn.GELU()]
        self.features = nn.Sequential(*layers)
        self.norm, self.project = nn.LayerNorm(filters), nn.Linear(filters, width)
        self.positions = nn.Conv1d(width, width, 128, padding=64, groups=16)
        self.layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.project(self.norm(self.features(x[:, None]).transpose(1, 2)))
        positions = self.positions(x.transpose(1, 2))[..., :-1]
        return self.layer(x + F.gelu(positions).transpose(1, 2))


class _Down(nn.Sequential):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(
            nn.Conv1d(inputs, outputs, 8, 4, padding=2),
            nn.GroupNorm(4, outputs),
            nn.GELU(),
            nn.Conv1d(outputs, 2 * outputs, 1),
            nn.GroupNorm(4, 2 * outputs),
            nn.GLU(1),
        )


class _Up(nn.Sequential):
    def __init__(self, inputs: int, outputs: int, last: bool) -> None:
        super().__init__(
            nn.Conv1d(inputs, 2 * inputs, 3, padding=1),
            nn.GroupNorm(4, 2 * inputs),
            nn.GLU(1),
            nn.ConvTranspose1d(inputs, outputs, 8, 4, padding=2),
            nn.Identity() if last else nn.GELU(),
        )


class Demucs(nn.Module):
    """Strided 1-D convolutions with gates, an LSTM and transposed convolutions. Defossez et al., 2019.

    Stereo (1, 2, samples) to the same shape. The number of samples must be a multiple of 4 ** depth.
    """

    def __init__(self, width: int = 32, depth: int = 4) -> None:
        super().__init__()
        widths = [2, *(width << level for level in range(depth))]
        pairs = list(zip(widths, widths[1:], strict=False))
        self.down = nn.ModuleList(_Down(i, o) for i, o in pairs)
        self.up = nn.ModuleList(_Up(o, i, i == 2) for i, o in reversed(pairs))
        self.lstm = nn.LSTM(widths[-1], widths[-1], batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
        x = x + self.lstm(x.transpose(1, 2))[0].transpose(1, 2)
        for block in self.up:
            x = block(x + skips.pop())
        return x


class _ConformerBlock(nn.Module):
    def __init__(self, width: int, heads: int, kernel: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = self._feed_forward(width), self._feed_forward(width)
        self.norm_1, self.norm_2, self.norm_3 = (nn.LayerNorm(width) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.convolution = nn.Sequential(
            nn.Conv1d(width, 2 * width, 1),
            nn.GLU(1),
            nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width),
            nn.BatchNorm1d(width),
            nn.SiLU(),
            nn.Conv1d(width, width, 1),
        )

    @staticmethod
    def _feed_forward(width: int) -> nn.Module:
        return nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + 0.5 * self.first(x)
        qkv = self.qkv(self.norm_1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(*qkv.unbind(0))
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        x = x + self.convolution(self.norm_2(x).transpose(1, 2)).transpose(1, 2)
        return self.norm_3(x + 0.5 * self.second(x))


class Conformer(nn.Module):
    """Two 3 x 3 convolutions with stride 2 over a spectrogram, then Conformer blocks. Gulati et al., 2020.

    (1, 1, frames, bands) to (1, about frames / 4, width).
    """

    def __init__(self, width: int = 144, heads: int = 4, blocks: int = 4, bands: int = 80) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, width, 3, 2), nn.ReLU(), nn.Conv2d(width, width, 3, 2), nn.ReLU()
        )
        self.project = nn.Linear(width * ((bands - 3) // 4), width)
        self.blocks = nn.Sequential(*(_ConformerBlock(width, heads, 31) for _ in range(blocks)))

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(self.project(self.stem(x).transpose(1, 2).flatten(2)))


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class _LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int, shared: int, hidden: int, length: int) -> None:
        super().__init__()
        self.heads, self.shared, self.size = heads, shared, width // heads
        self.norm_1, self.norm_2 = RmsNorm(width), RmsNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, shared * self.size, bias=False)
        self.value = nn.Linear(width, shared * self.size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, shared, length, self.size))

    def forward(self, x: Tensor, position: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        y = self.norm_1(x)
        query = _rotate(self._split(self.query(y), self.heads), turn)
        key = _rotate(self._split(self.key(y), self.shared), turn)
        value = self._split(self.value(y), self.shared)
        self.keys.index_copy_(2, position, key)
        self.values.index_copy_(2, position, value)
        attended = F.scaled_dot_product_attention(
            query, self.keys, self.values, attn_mask=mask, enable_gqa=True
        )
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        y = self.norm_2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def _split(self, x: Tensor, heads: int) -> Tensor:
        return x.unflatten(-1, (heads, self.size)).transpose(1, 2)


def _rotate(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    cosine, sine = turn
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat((-second, first), -1) * sine


class Llama(nn.Module):
    """A Llama decoder. Its keys and values are buffers. Touvron et al., 2023.

    forward(tokens (1, count), position (count)) returns the logits of the last token (1, vocabulary).
    """

    def __init__(
        self,
        width: int = 512,
        layers: int = 4,
        heads: int = 8,
        shared: int = 2,
        hidden: int = 1376,
        vocabulary: int = 4000,
        length: int = 256,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(_LlamaBlock(width, heads, shared, hidden, length) for _ in range(layers))
        self.norm, self.head = RmsNorm(width), nn.Linear(width, vocabulary, bias=False)
        rates = 10000.0 ** (-torch.arange(0, width // heads, 2) / (width // heads))
        angles = torch.arange(length)[:, None] * rates
        self.register_buffer("cosine", torch.cat((angles, angles), -1).cos())
        self.register_buffer("sine", torch.cat((angles, angles), -1).sin())
        self.register_buffer("places", torch.arange(length))

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        turn = self.cosine[position], self.sine[position]
        mask = self.places <= position[:, None]
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x, position, turn, mask)
        return self.head(self.norm(x[:, -1]))


class LlamaFromStart(nn.Module):
    """A Llama decoder with the arguments of language model runners.

    forward(tokens (1, count), first position (1)) returns the logits of the last token (1, 1, vocabulary).
    """

    def __init__(self, model: Llama) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, start: Tensor) -> Tensor:
        return self.model(tokens, start + torch.arange(tokens.shape[1]))[:, None]


class LlamaWithoutCache(nn.Module):
    """A Llama decoder without a KV cache, which reads all tokens in each run.

    forward(tokens (1, count)) returns the logits of the last token (1, 1, vocabulary).
    """

    def __init__(self, model: Llama) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model(tokens, torch.arange(tokens.shape[1]))[:, None]


class GruText(nn.Module):
    """A text classifier with a bidirectional GRU: tokens (1, count) to classes."""

    def __init__(
        self, vocabulary: int = 2000, width: int = 128, hidden: int = 192, classes: int = 20
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.gru = nn.GRU(width, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.Tanh(), nn.Linear(hidden, classes))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.gru(self.tokens(tokens))[0].amax(1))


class _MixerBlock(nn.Module):
    def __init__(self, patches: int, width: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(
            nn.Linear(patches, 2 * width // 4), nn.GELU(), nn.Linear(2 * width // 4, patches)
        )
        self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.tokens(self.norm_1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm_2(x))


class Mixer(nn.Module):
    """An MLP mixer over patches of 16 x 16 pixels. Tolstikhin et al., 2021."""

    def __init__(self, width: int = 256, blocks: int = 8, size: int = 224, classes: int = 1000) -> None:
        super().__init__()
        patches = (size // 16) ** 2
        self.stem = nn.Conv2d(3, width, 16, 16)
        self.blocks = nn.Sequential(*(_MixerBlock(patches, width) for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.blocks(self.stem(x).flatten(2).transpose(1, 2))).mean(1))


def _stage(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.1)
    )


class Upscaler(nn.Module):
    """Super-resolution from features of three scales, with nearest and bilinear upsampling and pixel shuffle.

    (1, 3, size, size) to (1, 3, 2 size, 2 size).
    """

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.stages = nn.ModuleList(
            [_stage(3, width), _stage(width, 2 * width, 2), _stage(2 * width, 4 * width, 2)]
        )
        self.sides = nn.ModuleList(nn.Conv2d(width << level, 2 * width, 1) for level in range(3))
        self.join = _stage(4 * width, width)
        self.head = nn.Sequential(nn.Conv2d(width, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x: Tensor) -> Tensor:
        maps = []
        for stage in self.stages:
            maps.append(stage(maps[-1] if maps else x))
        top, middle, bottom = (side(y) for side, y in zip(self.sides, maps, strict=True))
        middle = middle + F.interpolate(bottom, scale_factor=2.0, mode="nearest")
        large = F.interpolate(middle, scale_factor=2.0, mode="bilinear", align_corners=False)
        return self.head(self.join(torch.cat((top, large), 1)))
