"""Models for speech and sound."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from models.zoo.cases import Lambda, Model, model, zoo

GROUP = "domains"


class MelFrontEnd(nn.Module):
    def __init__(self, size: int = 64, hop: int = 16, mels: int = 8) -> None:
        super().__init__()
        self.size, self.hop = size, hop
        self.register_buffer("window", torch.hann_window(size))
        self.register_buffer("filters", torch.rand(size // 2 + 1, mels))

    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(
            wave,
            self.size,
            self.hop,
            window=self.window,
            center=True,
            pad_mode="reflect",
            return_complex=True,
        )
        power = spectrum.abs().pow(2).transpose(-1, -2) @ self.filters
        log = torch.log10(power.clamp(min=1e-10))
        return (torch.maximum(log, log.amax() - 8.0) + 4.0) / 4.0


@zoo(GROUP)
def mel_spectrogram() -> Model:
    return model(MelFrontEnd(), torch.randn(2, 400))


@zoo(GROUP)
def mel_spectrogram_dynamic() -> Model:
    return model(
        MelFrontEnd(),
        torch.randn(1, 400),
        dynamic=({1: Dim.AUTO(min=128, max=1024)},),
        others=[torch.randn(1, 1024), torch.randn(1, 333)],
    )


@zoo(GROUP)
def keyword_spotting() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.front = MelFrontEnd()
            self.conv = nn.Conv2d(1, 4, 3, 2, 1)
            self.gru = nn.GRU(16, 8, batch_first=True, bidirectional=True)
            self.head = nn.Linear(16, 5)

        def forward(self, wave: torch.Tensor) -> torch.Tensor:
            h = F.relu(self.conv(self.front(wave)[:, None]))
            h, _ = self.gru(h.permute(0, 2, 1, 3).flatten(2))
            return self.head(h.mean(1)).log_softmax(-1)

    return model(M(), torch.randn(2, 320))


@zoo(GROUP)
def mfcc() -> Model:
    def run(front: nn.Module, x: torch.Tensor) -> torch.Tensor:
        n = torch.arange(8.0)
        dct = torch.cos(math.pi / 8 * (n + 0.5) * n[:6, None])
        mel = front(x) @ dct.t()
        return torch.cat([mel, torch.diff(mel, dim=1, prepend=mel[:, :1])], -1)

    return model(Lambda(run, MelFrontEnd()), torch.randn(1, 320))


@zoo(GROUP)
def conformer_block() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ff = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16))
            self.norm, self.attention = nn.LayerNorm(16), nn.MultiheadAttention(16, 4, batch_first=True)
            self.point, self.depth = nn.Conv1d(16, 32, 1), nn.Conv1d(16, 16, 7, padding=3, groups=16)
            self.batch, self.last = nn.BatchNorm1d(16), nn.LayerNorm(16)

        def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            mask = torch.arange(x.shape[1])[None] >= lengths[:, None]
            x = x + 0.5 * self.ff(x)
            h = self.norm(x)
            x = x + self.attention(h, h, h, key_padding_mask=mask, need_weights=False)[0]
            h = F.glu(self.point(x.transpose(1, 2)), 1).masked_fill(mask[:, None], 0.0)
            x = x + F.silu(self.batch(self.depth(h))).transpose(1, 2)
            return self.last(x + 0.5 * self.ff(x))

    t = Dim("t", min=2, max=20)
    return model(
        M(),
        torch.randn(2, 9, 16),
        torch.tensor([9, 4]),
        dynamic=({1: t}, None),
        others=[(torch.randn(2, 20, 16), torch.tensor([20, 1]))],
    )


@zoo(GROUP)
def source_separation() -> Model:
    """An encoder, a mask and overlap-add, as in Conv-TasNet."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Conv1d(1, 16, 8, 4, bias=False)
            self.norm = nn.GroupNorm(1, 16)
            layers = [nn.Conv1d(16, 16, 3, padding=2**i, dilation=2**i, groups=16) for i in range(3)]
            self.layers, self.masks = nn.ModuleList(layers), nn.Conv1d(16, 32, 1)
            self.prelu, self.decoder = nn.PReLU(), nn.ConvTranspose1d(16, 1, 8, 4, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            code = F.relu(self.encoder(x))
            h = self.norm(code)
            for layer in self.layers:
                h = h + self.prelu(layer(h))
            masks = self.masks(h).sigmoid().unflatten(1, (2, 16))
            return self.decoder((masks * code[:, None]).flatten(0, 1)).unflatten(0, (-1, 2))

    return model(M(), torch.randn(2, 1, 64))


@zoo(GROUP)
def neural_vocoder() -> Model:
    """Snake activations, transposed convolutions and an inverse short-time Fourier transform."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up = nn.ConvTranspose1d(8, 18, 4, 2, 1)
            self.alpha = nn.Parameter(torch.ones(1, 18, 1))
            self.out = nn.Conv1d(18, 18, 7, padding=3)
            self.register_buffer("window", torch.hann_window(16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.up(x)
            h = h + torch.sin(self.alpha * h).square() / (self.alpha + 1e-9)
            size, phase = self.out(h).chunk(2, 1)
            spectrum = torch.polar(size.exp().clamp(max=100.0), phase)
            return torch.istft(spectrum, 16, 4, window=self.window, center=True)

    return model(M(), torch.randn(1, 8, 12))


@zoo(GROUP)
def ctc_acoustic_model() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(1, 4, (11, 5), (2, 2), (5, 2))
            self.rnn, self.head = nn.LSTM(16, 12, 2, bidirectional=True), nn.Linear(24, 10)

        def forward(self, x: torch.Tensor) -> Any:
            h = F.hardtanh(self.conv(x), 0, 20).flatten(1, 2).permute(2, 0, 1)
            scores = self.head(self.rnn(h)[0]).log_softmax(-1)
            best = scores.argmax(-1)
            keep = (best != 0) & (best != F.pad(best[:-1], (0, 0, 1, 0), value=-1))
            return scores, best, keep

    return model(M(), torch.randn(2, 1, 8, 30))
