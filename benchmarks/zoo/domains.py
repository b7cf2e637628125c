"""Networks after those of their fields: generation, audio, graphs, detection, recommendation."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from benchmarks.zoo.cases import Call, Lambda, Method, Model, model, randint, steps, zoo

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
    """A few steps of a deterministic sampler around a small network."""

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
    """Encoder, mask and overlap-add, as Conv-TasNet."""

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
    """Snake activations and transposed convolutions, with an inverse short-time transform at the end."""

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


def edges(nodes: int, count: int) -> torch.Tensor:
    return torch.randint(0, nodes, (2, count))


@zoo(GROUP)
def graph_attention() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin, self.attend = nn.Linear(6, 8), nn.Parameter(torch.randn(16))

        def forward(self, x: torch.Tensor, edge: torch.Tensor) -> torch.Tensor:
            h, n = self.lin(x), x.shape[0]
            source, target = edge
            score = F.leaky_relu(torch.cat([h[source], h[target]], -1) @ self.attend, 0.2)
            top = torch.full((n,), float("-inf")).scatter_reduce(0, target, score, "amax")
            weight = (score - top[target]).exp()
            total = torch.zeros(n).scatter_add(0, target, weight)
            weight = weight / (total[target] + 1e-9)
            return torch.zeros(n, 8).index_add(0, target, weight[:, None] * h[source])

    e = Dim("e", min=2, max=40)
    return model(
        M(),
        torch.randn(7, 6),
        edges(7, 20),
        dynamic=(None, {1: e}),
        others=[(torch.randn(7, 6), edges(7, 40)), (torch.randn(7, 6), edges(7, 3))],
    )


@zoo(GROUP)
def graph_sage_pooling() -> Model:
    def run(a: nn.Module, b: nn.Module, x: torch.Tensor, edge: torch.Tensor, batch: torch.Tensor) -> Any:
        for layer in (a, b):
            gathered = torch.zeros_like(x).index_reduce(0, edge[1], x[edge[0]], "mean", include_self=False)
            x = F.normalize(layer(torch.cat([x, gathered], 1)), dim=1).relu()
        pooled = torch.zeros(2, x.shape[1]).scatter_reduce(0, batch[:, None].expand_as(x), x, "amax")
        return x, pooled

    parts = nn.Linear(8, 4), nn.Linear(8, 4)
    return model(Lambda(run, *parts), torch.randn(6, 4), edges(6, 14), torch.tensor([0, 0, 0, 1, 1, 1]))


@zoo(GROUP)
def message_passing_with_edges() -> Model:
    """Edge features through a recurrent cell, as in networks over molecules."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.edge, self.cell = nn.Linear(3, 64), nn.GRUCell(8, 8)

        def forward(self, x: torch.Tensor, edge: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
            matrices = self.edge(kinds).view(-1, 8, 8)
            for _ in range(2):
                messages = torch.bmm(matrices, x[edge[0], :, None]).squeeze(-1)
                x = self.cell(torch.zeros_like(x).index_add_(0, edge[1], messages), x)
            return x

    return model(M(), torch.randn(5, 8), edges(5, 9), torch.randn(9, 3))


@zoo(GROUP)
def point_cloud() -> Model:
    """Nearest neighbours, grouped features and a maximum, as PointNet and DGCNN."""

    def run(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
        distance = torch.cdist(x, x)
        near = distance.topk(4, largest=False).indices
        flat = (near + torch.arange(x.shape[0])[:, None, None] * x.shape[1]).flatten()
        grouped = x.flatten(0, 1)[flat].view(*near.shape, 3)
        centre = x[:, :, None].expand_as(grouped)
        return net(torch.cat([centre, grouped - centre], -1)).amax(2).amax(1)

    return model(Lambda(run, nn.Linear(6, 8)), torch.randn(2, 10, 3))


@zoo(GROUP)
def radiance_field() -> Model:
    """Rays, positional encodings and the volume's integral."""

    def run(net: nn.Module, origin: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
        depth = torch.linspace(2.0, 6.0, 8)
        points = origin[:, None] + direction[:, None] * depth[None, :, None]
        bands = points[..., None] * 2.0 ** torch.arange(3)
        encoded = torch.cat([bands.sin(), bands.cos()], -1).flatten(-2)
        colour, density = net(encoded).split([3, 1], -1)
        step = torch.cat([depth.diff(), torch.tensor([1e10])])
        alpha = 1 - torch.exp(-F.relu(density[..., 0]) * step)
        left = torch.cumprod(F.pad(1 - alpha + 1e-10, (1, 0), value=1.0), -1)[:, :-1]
        return ((alpha * left)[..., None] * colour.sigmoid()).sum(1)

    return model(Lambda(run, nn.Linear(18, 4)), torch.randn(5, 3), torch.randn(5, 3))


@zoo(GROUP)
def box_head() -> Model:
    """Anchors, decoded boxes, pairwise overlaps and the best of them."""

    def run(net: nn.Module, x: torch.Tensor) -> Any:
        h = net(x)
        b, _, height, width = h.shape
        y, x0 = torch.meshgrid(torch.arange(height) * 8.0, torch.arange(width) * 8.0, indexing="ij")
        anchors = torch.stack([x0, y, x0 + 16, y + 16], -1).view(-1, 4)
        scores, deltas = h.permute(0, 2, 3, 1).reshape(b, -1, 5).split([1, 4], -1)
        centre = (anchors[:, :2] + anchors[:, 2:]) / 2 + deltas[..., :2] * 16
        size = 16 * deltas[..., 2:].clamp(max=4.0).exp()
        boxes = torch.cat([centre - size / 2, centre + size / 2], -1).clamp(0, 64)
        best, which = scores.squeeze(-1).sigmoid().topk(5)
        chosen = boxes.gather(1, which[..., None].expand(-1, -1, 4))
        low = torch.maximum(chosen[:, :, None, :2], chosen[:, None, :, :2])
        high = torch.minimum(chosen[:, :, None, 2:], chosen[:, None, :, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        area = (chosen[..., 2:] - chosen[..., :2]).prod(-1)
        overlap = shared / (area[:, :, None] + area[:, None] - shared).clamp(min=1e-6)
        return chosen, best, overlap

    return model(Lambda(run, nn.Conv2d(3, 5, 3, 8, 1)), torch.randn(2, 3, 64, 64))


@zoo(GROUP)
def kept_boxes() -> Model:
    """Boxes above a threshold, as many as there are."""

    def run(x: torch.Tensor, scores: torch.Tensor) -> Any:
        keep = torch.nonzero(scores > 0.5).squeeze(1)
        return x[keep], scores[keep], keep

    inputs = torch.randn(8, 4), torch.rand(8)
    return model(
        run, *inputs, others=[(torch.randn(8, 4), torch.zeros(8)), (torch.randn(8, 4), torch.ones(8))]
    )


@zoo(GROUP)
def one_stage_detector() -> Model:
    """Cross-stage blocks, pooling pyramid, upsampling neck and decoded grid, as the YOLO family."""

    def conv(i: int, o: int, k: int = 3, s: int = 1) -> nn.Module:
        return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o), nn.SiLU(True))

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.c1, self.c2 = conv(3, 8, 3, 2), conv(4, 4), conv(4, 4)
            self.join, self.down = conv(16, 16, 1), conv(16, 16, 3, 2)
            self.spp, self.lateral = conv(64, 16, 1), conv(32, 16)
            self.heads = nn.ModuleList([nn.Conv2d(16, 20, 1), nn.Conv2d(16, 20, 1)])
            self.register_buffer("bins", torch.arange(4.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            a, b = self.stem(x).chunk(2, 1)
            parts = [a, b, self.c1(b)]
            parts.append(parts[-1] + self.c2(parts[-1]))
            fine = self.join(torch.cat(parts, 1))
            deep = self.down(fine)
            pooled = [deep]
            for _ in range(3):
                pooled.append(F.max_pool2d(pooled[-1], 5, 1, 2))
            deep = self.spp(torch.cat(pooled, 1))
            fine = self.lateral(torch.cat([F.interpolate(deep, scale_factor=2), fine], 1))
            outs = [head(f).flatten(2) for head, f in zip(self.heads, (fine, deep), strict=True)]
            boxes, classes = torch.cat(outs, 2).split([16, 4], 1)
            distances = boxes.unflatten(1, (4, 4)).softmax(2).mul(self.bins[:, None]).sum(2)
            return torch.cat([distances, classes.sigmoid()], 1)

    return model(M(), torch.randn(1, 3, 32, 32))


@zoo(GROUP)
def recommender() -> Model:
    """Bags of categories, crossed features and a tower, as DLRM."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bags = nn.ModuleList(nn.EmbeddingBag(20, 8, mode="sum") for _ in range(3))
            self.bottom, self.top = nn.Linear(5, 8), nn.Linear(14, 1)
            self.register_buffer("rows", torch.tril_indices(4, 4, -1)[0])
            self.register_buffer("columns", torch.tril_indices(4, 4, -1)[1])

        def forward(self, dense: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
            parts = [F.relu(self.bottom(dense))]
            parts += [bag(ids[i], offsets[i]) for i, bag in enumerate(self.bags)]
            stacked = torch.stack(parts, 1)
            crossed = torch.bmm(stacked, stacked.mT)[:, self.rows, self.columns]
            return self.top(torch.cat([parts[0], crossed], 1)).sigmoid()

    offsets = torch.tensor([[0, 2, 5]] * 3)
    return model(M(), torch.randn(3, 5), randint(20, 3, 7), offsets)


@zoo(GROUP)
def time_series_forecaster() -> Model:
    """Instance normalisation, decomposition by a moving average, patches, and a linear head."""

    def run(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
        mean, spread = x.mean(1, True), x.std(1, keepdim=True, unbiased=False) + 1e-5
        x = (x - mean) / spread
        trend = F.avg_pool1d(F.pad(x.transpose(1, 2), (2, 2), mode="replicate"), 5, 1).transpose(1, 2)
        patches = (x - trend).transpose(1, 2).unfold(-1, 8, 4)
        return net(patches.flatten(2)).transpose(1, 2) * spread + mean

    return model(Lambda(run, nn.Linear(40, 6)), torch.randn(2, 24, 3))


@zoo(GROUP)
def fourier_neural_operator() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 4, 3, 3, 2) * 0.1)
            self.point = nn.Conv2d(4, 4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            spectrum = torch.fft.rfft2(x)
            low = torch.einsum("bixy,ioxy->boxy", spectrum[..., :3, :3], torch.view_as_complex(self.weight))
            full = torch.zeros(x.shape[0], 4, 8, 5, dtype=torch.cfloat)
            full[..., :3, :3] = low
            return F.gelu(torch.fft.irfft2(full, s=(8, 8)) + self.point(x))

    return model(M(), torch.randn(2, 4, 8, 8))


@zoo(GROUP)
def state_space_scan() -> Model:
    """A diagonal state space by parallel prefix over logarithms, and by recurrence."""

    def run(net: nn.Module, x: torch.Tensor) -> Any:
        gate, value = net(x).chunk(2, -1)
        log = F.logsigmoid(gate)
        total = log.cumsum(1)
        parallel = (total + torch.logcumsumexp(F.softplus(value).log() - total, 1)).exp()
        state, states = torch.zeros(x.shape[0], 4), []
        for t in range(x.shape[1]):
            state = state * log[:, t].exp() + F.softplus(value[:, t])
            states.append(state)
        return parallel, torch.stack(states, 1)

    return model(Lambda(run, nn.Linear(4, 8)), torch.randn(2, 6, 4))


@zoo(GROUP)
def switch_experts() -> Model:
    """The best of four experts for each token, with a capacity."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.router, self.up = nn.Linear(8, 4), nn.Parameter(torch.randn(4, 8, 16) * 0.1)
            self.down = nn.Parameter(torch.randn(4, 16, 8) * 0.1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            chance, expert = self.router(x).softmax(-1).max(-1)
            mask = F.one_hot(expert, 4)
            place = (mask.cumsum(0) * mask).sum(-1) - 1
            kept = place < 3
            spot = F.one_hot(place.clamp(max=2), 3).float() * (kept * chance)[:, None]
            dispatch = mask[:, :, None].float() * spot[:, None]
            inputs = torch.einsum("tec,td->ecd", (dispatch > 0).float(), x)
            outputs = torch.bmm(F.relu(torch.bmm(inputs, self.up)), self.down)
            return torch.einsum("tec,ecd->td", dispatch, outputs)

    return model(M(), torch.randn(10, 8))


@zoo(GROUP)
def decoder_prefill_and_step() -> Model:
    """Two methods over one cache: a prompt at once, then token by token, with rotary positions."""

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.qkv, self.out = nn.Embedding(30, 16), nn.Linear(16, 48), nn.Linear(16, 16)
            self.head = nn.Linear(16, 30, bias=False)
            self.head.weight = self.embed.weight
            self.register_buffer("keys", torch.zeros(1, 2, 12, 8))
            self.register_buffer("values", torch.zeros(1, 2, 12, 8))
            angles = torch.outer(torch.arange(12.0), 1 / 100 ** (torch.arange(4) / 4))
            self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

        def rotate(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
            pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
            return torch.view_as_real(pairs * self.turns[positions]).flatten(-2).type_as(x)

        def forward(self, tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
            x = self.embed(tokens)
            q, k, v = (p.unflatten(-1, (2, 8)).transpose(1, 2) for p in self.qkv(x).chunk(3, -1))
            q, k = self.rotate(q, positions), self.rotate(k, positions)
            self.keys[:, :, positions] = k
            self.values[:, :, positions] = v
            mask = torch.arange(12)[None] <= positions[:, None]
            y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
            return self.head(x + self.out(y.transpose(1, 2).flatten(2)))[:, -1]

    class Prefill(nn.Module):
        def __init__(self, decoder: nn.Module) -> None:
            super().__init__()
            self.decoder = decoder

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return self.decoder(tokens, torch.arange(tokens.shape[1]))

    decoder = Decoder().eval()
    n = Dim("n", min=2, max=12)
    methods = {
        "prefill": Method(Prefill(decoder).eval(), (randint(30, 1, 5),), {}, ({1: n},)),
        "step": Method(decoder, (randint(30, 1, 1), torch.tensor([4])), {}),
    }
    calls = [Call("prefill", (randint(30, 1, 4),), {})]
    calls += [Call("step", (randint(30, 1, 1), torch.tensor([i])), {}) for i in range(4, 8)]
    return Model(methods, calls)


@zoo(GROUP)
def speculative_sampling() -> Model:
    """Temperature, top-k and top-p filters over logits."""

    def run(logits: torch.Tensor) -> Any:
        logits = logits / 0.7
        kth = logits.topk(8).values[..., -1:]
        logits = logits.masked_fill(logits < kth, float("-inf"))
        ordered, where = logits.sort(descending=True)
        drop = ordered.softmax(-1).cumsum(-1) > 0.9
        drop = torch.cat([torch.zeros_like(drop[..., :1]), drop[..., :-1]], -1)
        filtered = logits.masked_fill(drop.scatter(-1, where, drop), float("-inf"))
        return filtered.softmax(-1), filtered.argmax(-1)

    return model(run, torch.randn(2, 30))


@zoo(GROUP)
def beam_step() -> Model:
    def run(scores: torch.Tensor, logits: torch.Tensor, history: torch.Tensor) -> Any:
        total = scores[:, :, None] + logits.log_softmax(-1)
        best, flat = total.flatten(1).topk(3)
        beam = torch.div(flat, logits.shape[-1], rounding_mode="floor")
        token = flat % logits.shape[-1]
        kept = history.gather(1, beam[..., None].expand(-1, -1, history.shape[-1]))
        return best, torch.cat([kept, token[..., None]], -1)

    return model(run, torch.randn(2, 3), torch.randn(2, 3, 11), randint(11, 2, 3, 4))


@zoo(GROUP)
def kalman_filter() -> Model:
    """State that is kept, and small linear systems."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(2))
            self.register_buffer("covariance", torch.eye(2))
            self.register_buffer("move", torch.tensor([[1.0, 0.1], [0.0, 1.0]]))

        def forward(self, z: torch.Tensor) -> torch.Tensor:
            mean = self.move @ self.mean
            cov = self.move @ self.covariance @ self.move.T + 0.01 * torch.eye(2)
            gain = torch.linalg.solve(cov + 0.1 * torch.eye(2), cov).T
            self.mean.copy_(mean + gain @ (z - mean))
            self.covariance.copy_((torch.eye(2) - gain) @ cov)
            return self.mean.clone()

    return steps(M(), *[(torch.randn(2),) for _ in range(4)])


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
    """Attention over sampled points of two levels."""

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
    """Heads of an agent: dueling values, quantiles, a squashed Gaussian and its log-probability."""

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
