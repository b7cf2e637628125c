"""Diffusion models, autoencoders and normalizing flows."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from models.zoo.cases import Lambda, Model, model, zoo

GROUP = "domains"


def timestep_embedding(t: torch.Tensor, size: int) -> torch.Tensor:
    half = size // 2
    rates = torch.exp(-math.log(10000) * torch.arange(half, dtype=torch.float32) / half)
    angles = t[:, None].float() * rates[None]
    return torch.cat([angles.cos(), angles.sin()], -1)


class ResBlock(nn.Module):
    def __init__(self, ins: int, outs: int, time: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, ins), nn.Conv2d(ins, outs, 3, padding=1)
        self.time = nn.Linear(time, outs)
        self.norm2, self.conv2 = nn.GroupNorm(4, outs), nn.Conv2d(outs, outs, 3, padding=1)
        self.skip = nn.Conv2d(ins, outs, 1) if ins != outs else nn.Identity()

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        h = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class CrossAttention(nn.Module):
    def __init__(self, width: int, context: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, width)
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(context, width), nn.Linear(context, width)
        self.out, self.gate = nn.Linear(width, width), nn.Linear(width, 4 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        b, c, h, w = x.shape
        tokens = self.norm(x).flatten(2).transpose(1, 2)
        heads = [part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self._project(tokens, context)]
        mixed = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        tokens = tokens + self.out(mixed)
        value, gate = self.gate(tokens).chunk(2, -1)
        tokens = tokens + self.down(value * F.gelu(gate))
        return x + tokens.transpose(1, 2).reshape(b, c, h, w)

    def _project(self, tokens: torch.Tensor, context: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.q(tokens), self.k(context), self.v(context)


class ConditionedUNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32))
        self.first = nn.Conv2d(4, 8, 3, padding=1)
        self.down1, self.down2 = ResBlock(8, 8, 32), ResBlock(8, 16, 32)
        self.shrink = nn.Conv2d(8, 8, 3, 2, 1)
        self.attend = CrossAttention(16, 12)
        self.middle = ResBlock(16, 16, 32)
        self.up1, self.up2 = ResBlock(32, 8, 32), ResBlock(16, 8, 32)
        self.grow = nn.Conv2d(8, 8, 3, padding=1)
        self.norm, self.last = nn.GroupNorm(4, 8), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x: torch.Tensor, t: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        time = self.time(timestep_embedding(t, 16))
        a = self.down1(self.first(x), time)
        b = self.attend(self.down2(self.shrink(a), time), context)
        h = self.up1(torch.cat([self.middle(b, time), b], 1), time)
        h = self.grow(F.interpolate(h, scale_factor=2.0, mode="nearest"))
        h = self.up2(torch.cat([h, a], 1), time)
        return self.last(F.silu(self.norm(h)))


@zoo(GROUP)
def diffusion_unet() -> Model:
    return model(ConditionedUNet(), torch.randn(2, 4, 8, 8), torch.tensor([3, 500]), torch.randn(2, 5, 12))


@zoo(GROUP)
def diffusion_unet_dynamic() -> Model:
    h, w, n = Dim("h", min=2, max=8), Dim("w", min=2, max=8), Dim("n", min=2, max=9)
    return model(
        ConditionedUNet(),
        torch.randn(1, 4, 8, 12),
        torch.tensor([3]),
        torch.randn(1, 5, 12),
        dynamic=({2: 2 * h, 3: 2 * w}, None, {1: n}),
        others=[(torch.randn(1, 4, 16, 6), torch.tensor([70]), torch.randn(1, 9, 12))],
    )


@zoo(GROUP)
def diffusion_sampler() -> Model:
    """Some steps of a deterministic sampler with a small network."""

    def run(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
        alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 10), 0)
        for i in (9, 6, 3):
            noise = net(x)
            start = (x - (1 - alphas[i]).sqrt() * noise) / alphas[i].sqrt()
            x = alphas[i - 3].sqrt() * start.clamp(-1, 1) + (1 - alphas[i - 3]).sqrt() * noise
        return x

    return model(Lambda(run, nn.Conv2d(3, 3, 3, padding=1)), torch.randn(1, 3, 8, 8))


@zoo(GROUP)
def image_vae() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(
                nn.Conv2d(3, 8, 3, padding=1), nn.SiLU(), nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(8, 8, 3, 2)
            )
            self.moments = nn.Conv2d(8, 8, 1)
            self.decoder = nn.Sequential(
                nn.Conv2d(4, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.SiLU(), nn.Upsample(scale_factor=2)
            )
            self.last = nn.Conv2d(8, 3, 3, padding=1)

        def encode(self, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
            mean, logvar = self.moments(self.encoder(x)).chunk(2, 1)
            return mean + torch.exp(0.5 * logvar.clamp(-30, 20)) * noise

        def forward(self, x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
            return self.last(self.decoder(self.encode(x, noise))).tanh()

    return model(M(), torch.randn(1, 3, 16, 16), torch.randn(1, 4, 8, 8))


@zoo(GROUP)
def vector_quantizer() -> Model:
    def run(book: nn.Module, x: torch.Tensor) -> Any:
        flat = x.permute(0, 2, 3, 1).reshape(-1, 4)
        distances = flat.pow(2).sum(1, keepdim=True) - 2 * flat @ book.weight.t() + book.weight.pow(2).sum(1)
        codes = distances.argmin(1)
        chosen = book(codes).view(x.shape[0], x.shape[2], x.shape[3], 4).permute(0, 3, 1, 2)
        return x + (chosen - x).detach(), codes, F.mse_loss(chosen, x)

    return model(Lambda(run, nn.Embedding(16, 4)), torch.randn(2, 4, 5, 5))


@zoo(GROUP)
def diffusion_transformer() -> Model:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(16, elementwise_affine=False)
            self.norm2 = nn.LayerNorm(16, elementwise_affine=False)
            self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
            self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU("tanh"), nn.Linear(32, 16))
            self.modulate = nn.Linear(16, 96)

        def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
            s1, b1, g1, s2, b2, g2 = self.modulate(F.silu(c))[:, None].chunk(6, -1)
            h = self.norm1(x) * (1 + s1) + b1
            x = x + g1 * self.attention(h, h, h, need_weights=False)[0]
            return x + g2 * self.mlp(self.norm2(x) * (1 + s2) + b2)

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patch = nn.Conv2d(4, 16, 2, 2)
            self.blocks = nn.ModuleList(Block() for _ in range(2))
            self.last = nn.Linear(16, 16)

        def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
            c = timestep_embedding(t, 16)
            tokens = self.patch(x).flatten(2).transpose(1, 2)
            for block in self.blocks:
                tokens = block(tokens, c)
            out = self.last(tokens).view(-1, 4, 4, 2, 2, 4)
            return torch.einsum("nhwpqc->nchpwq", out).reshape(-1, 4, 8, 8)

    return model(M(), torch.randn(2, 4, 8, 8), torch.tensor([1, 7]))


@zoo(GROUP)
def image_generator() -> Model:
    network = nn.Sequential(
        nn.Unflatten(1, (8, 1, 1)),
        nn.ConvTranspose2d(8, 8, 4, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(True),
        nn.ConvTranspose2d(8, 4, 4, 2, 1),
        nn.InstanceNorm2d(4, affine=True),
        nn.LeakyReLU(0.2, True),
        nn.ConvTranspose2d(4, 3, 3, 2, 1, 1),
        nn.Tanh(),
    )
    return model(network, torch.randn(2, 8))


@zoo(GROUP)
def spectral_norm_discriminator() -> Model:
    from torch.nn.utils.parametrizations import spectral_norm

    layers = [spectral_norm(nn.Conv2d(3, 8, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Flatten()]
    return model(nn.Sequential(*layers, spectral_norm(nn.Linear(128, 1))), torch.randn(2, 3, 8, 8))


@zoo(GROUP)
def coupling_flow() -> Model:
    def run(net: nn.Module, x: torch.Tensor) -> Any:
        a, b = x.chunk(2, 1)
        s, t = net(a).chunk(2, 1)
        s = torch.tanh(s)
        y = torch.cat([a, b * s.exp() + t], 1)
        prior = torch.distributions.Normal(0.0, 1.0, validate_args=False)
        return y, s.sum(1) + prior.log_prob(y).sum(1)

    return model(Lambda(run, nn.Linear(3, 6)), torch.randn(4, 6))
