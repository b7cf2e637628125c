"""Networks with shapes that the networks of model libraries do not have."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Lstm(nn.Module):
    """An LSTM: (1, steps, width) to the same shape."""

    def __init__(self, width: int = 256, layers: int = 2) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, width, num_layers=layers, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.lstm(x)[0]


class _DecoderBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        qkv = self.qkv(self.norm_1(x)).reshape(1, 1, 3, self.heads, -1)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(
            query, torch.cat((keys, key), dim=2), torch.cat((values, value), dim=2)
        )
        x = x + self.out(attended.transpose(1, 2).reshape(1, 1, -1))
        x = x + self.down(F.gelu(self.up(self.norm_2(x)), approximate="tanh"))
        return x, key, value


class Decoder(nn.Module):
    """One step of a GPT-2 decoder: it reads a token, and the keys and values of earlier tokens.

    forward(token (1, 1), position (1, 1), keys, values (layers, 1, heads, past, width / heads)) returns the
    logits (1, 1, vocabulary), and the keys and values of the token (layers, 1, heads, 1, width / heads).
    """

    def __init__(self, width: int = 512, layers: int = 6, heads: int = 8, vocabulary: int = 8000) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(1024, width)
        self.blocks = nn.ModuleList(_DecoderBlock(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(
        self, token: Tensor, position: Tensor, keys: Tensor, values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        x = self.token(token) + self.position(position)
        new_keys, new_values = [], []
        for block, past_keys, past_values in zip(self.blocks, keys.unbind(0), values.unbind(0), strict=True):
            x, key, value = block(x, past_keys, past_values)
            new_keys.append(key)
            new_values.append(value)
        return self.head(self.norm(x)), torch.stack(new_keys), torch.stack(new_values)


def _double_conv(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """The U-Net of Ronneberger et al., 2015, with padding, batch norm and `width` channels at the top."""

    def __init__(self, width: int = 32, depth: int = 4, classes: int = 2) -> None:
        super().__init__()
        widths = [width << level for level in range(depth + 1)]
        self.down = nn.ModuleList(_double_conv(i, o) for i, o in zip([3, *widths], widths, strict=False))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in reversed(widths[:-1]))
        self.up = nn.ModuleList(_double_conv(2 * w, w) for w in reversed(widths[:-1]))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        skips: list[Tensor] = []
        for block in self.down:
            x = block(F.max_pool2d(x, 2) if skips else x)
            skips.append(x)
        skips.pop()
        for grow, block in zip(self.grow, self.up, strict=True):
            x = block(torch.cat((skips.pop(), grow(x)), dim=1))
        return self.head(x)


class _DilatedBlock(nn.Module):
    def __init__(self, width: int, hidden: int, dilation: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(width, hidden, 1),
            nn.PReLU(),
            nn.BatchNorm1d(hidden),
            nn.Conv1d(hidden, hidden, 3, padding=dilation, dilation=dilation, groups=hidden),
            nn.PReLU(),
            nn.BatchNorm1d(hidden),
            nn.Conv1d(hidden, width, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class AudioConv(nn.Module):
    """A mask network as in Conv-TasNet: an encoder, dilated separable 1-D convolutions and a decoder.

    (1, 1, samples) to the same shape.
    """

    def __init__(self, filters: int = 256, width: int = 128, hidden: int = 256, repeats: int = 2) -> None:
        super().__init__()
        self.analysis = nn.Conv1d(1, filters, 16, stride=8, bias=False)
        self.bottleneck = nn.Conv1d(filters, width, 1)
        self.blocks = nn.Sequential(
            *(_DilatedBlock(width, hidden, 1 << k) for _ in range(repeats) for k in range(8))
        )
        self.mask = nn.Conv1d(width, filters, 1)
        self.synthesis = nn.ConvTranspose1d(filters, 1, 16, stride=8, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        waves = F.relu(self.analysis(x))
        return self.synthesis(waves * torch.sigmoid(self.mask(self.blocks(self.bottleneck(waves)))))
