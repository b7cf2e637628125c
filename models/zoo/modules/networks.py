"""Small networks, and layers of networks."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from models.zoo.cases import Lambda, Model, model, randint, zoo

GROUP = "modules"


@zoo(GROUP)
def multihead_attention() -> Model:
    m = nn.MultiheadAttention(16, 4, batch_first=True)
    return model(
        Lambda(lambda m, x, mask: m(x, x, x, key_padding_mask=mask), m),
        torch.randn(2, 5, 16),
        torch.rand(2, 5) > 0.7,
    )


@zoo(GROUP)
def attention_kinds() -> Model:
    def run(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor) -> Any:
        return (
            F.scaled_dot_product_attention(q, k, k, mask),
            F.scaled_dot_product_attention(q, k, k, is_causal=True),
            F.scaled_dot_product_attention(q, k[:, :2], k[:, :2], enable_gqa=True, scale=0.3),
            F.scaled_dot_product_attention(q, k, k, mask > 0),
        )

    return model(run, torch.randn(2, 4, 5, 8), torch.randn(2, 4, 5, 8), torch.randn(5, 5))


@zoo(GROUP)
def transformer_seq2seq() -> Model:
    m = nn.Transformer(16, 4, 1, 1, 32, batch_first=True)
    return model(m, torch.randn(2, 5, 16), torch.randn(2, 3, 16))


@zoo(GROUP)
def transformer_decoder() -> Model:
    m = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), 2)
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    return model(
        Lambda(lambda m, x, y: m(x, y, tgt_mask=mask, tgt_is_causal=True), m),
        torch.randn(2, 3, 16),
        torch.randn(2, 5, 16),
    )


@zoo(GROUP)
def weight_norm() -> Model:
    m = nn.Sequential(
        torch.nn.utils.parametrizations.weight_norm(nn.Linear(6, 4)),
        torch.nn.utils.parametrizations.orthogonal(nn.Linear(4, 4)),
        torch.nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)),
    )
    return model(m, torch.randn(2, 6))


@zoo(GROUP)
def tied_weights() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.e, self.o = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
            self.o.weight = self.e.weight

        def forward(self, i: torch.Tensor) -> torch.Tensor:
            return self.o(self.e(i))

    return model(M(), randint(10, 3))


@zoo(GROUP)
def autoencoder_1d() -> Model:
    m = nn.Sequential(
        nn.Conv1d(1, 4, 5, 2, 2),
        nn.BatchNorm1d(4),
        nn.LeakyReLU(),
        nn.ConvTranspose1d(4, 1, 4, 2, 1),
        nn.Upsample(scale_factor=2, mode="linear"),
        nn.AvgPool1d(2),
        nn.AdaptiveMaxPool1d(7),
    )
    return model(m, torch.randn(2, 1, 32))


@zoo(GROUP)
def wavenet_block() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convs = nn.ModuleList(nn.Conv1d(4, 8, 2, dilation=2**i) for i in range(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for i, conv in enumerate(self.convs):
                a, b = conv(F.pad(x, (2**i, 0))).chunk(2, 1)
                x = x + a.tanh() * b.sigmoid()
            return x

    return model(M(), torch.randn(1, 4, 16))


@zoo(GROUP)
def non_maximum_suppression() -> Model:
    """Greedy suppression in a loop over a fixed number of boxes."""

    def run(boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        order = scores.argsort(descending=True)
        b = boxes[order]
        area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
        low, high = torch.maximum(b[:, None, :2], b[:, :2]), torch.minimum(b[:, None, 2:], b[:, 2:])
        inter = (high - low).clamp(min=0).prod(-1)
        iou = inter / (area[:, None] + area - inter)
        keep = torch.ones(len(b), dtype=torch.bool)
        for i in range(len(b)):
            keep = keep & ~(keep[i] & (iou[i] > 0.5) & (torch.arange(len(b)) > i))
        return order[keep.to(torch.int64).argsort(descending=True, stable=True)]

    corners = torch.rand(6, 2)
    return model(run, torch.cat([corners, corners + torch.rand(6, 2)], 1), torch.rand(6))


@zoo(GROUP)
def positional_encoding() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        position = torch.arange(x.shape[1])[:, None]
        scale = torch.exp(torch.arange(0, 8, 2) * (-math.log(1e4) / 8))
        code = torch.zeros(x.shape[1], 8)
        code[:, 0::2], code[:, 1::2] = torch.sin(position * scale), torch.cos(position * scale)
        return x + code

    return model(
        run,
        torch.randn(2, 6, 8),
        dynamic={"args": ({1: Dim("s", min=1, max=12)},)},
        others=[torch.randn(2, 12, 8), torch.randn(2, 1, 8)],
    )


@zoo(GROUP)
def channels_last() -> Model:
    m = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 1)
    ).to(memory_format=torch.channels_last)
    return model(m, torch.randn(1, 3, 8, 8).to(memory_format=torch.channels_last))


@zoo(GROUP)
def integer_arithmetic() -> Model:
    def run(a: torch.Tensor, b: torch.Tensor) -> Any:
        return (
            a // b,
            a % b,
            a / b,
            torch.div(a, b, rounding_mode="trunc"),
            a << 1,
            a >> 1,
            a & b,
            a.pow(2),
            a.abs().sum(),
            torch.gcd(a, b),
            a.clamp(1, 5),
            a.to(torch.uint8),
            (a > b).sum(dtype=torch.int32),
        )

    return model(run, torch.randint(-9, 9, (6,)), torch.randint(1, 5, (6,)))


@zoo(GROUP)
def random_is_seeded_by_shape() -> Model:
    """Random values that do not change the result: a dropout in training mode with the probability zero."""
    return model(lambda x: F.dropout(x, 0.0, training=True) + torch.rand(3).ge(0), torch.randn(3))
