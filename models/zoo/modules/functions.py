"""Modules with operators of one family each."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from models.zoo.cases import Lambda, Model, model, randint, zoo

GROUP = "modules"


@zoo(GROUP)
def embedding_bag_modes() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bags = nn.ModuleList(nn.EmbeddingBag(20, 6, mode=m) for m in ("sum", "mean", "max"))

        def forward(self, i: torch.Tensor, offsets: torch.Tensor) -> Any:
            return tuple(bag(i, offsets) for bag in self.bags)

    return model(
        M(), randint(20, 9), torch.tensor([0, 3, 7]), others=[(randint(20, 9), torch.tensor([0, 0, 9]))]
    )


@zoo(GROUP)
def embedding_bag_weighted() -> Model:
    m = nn.EmbeddingBag(20, 6, mode="sum", padding_idx=2)
    return model(Lambda(lambda m, i, w: m(i, per_sample_weights=w), m), randint(20, 3, 4), torch.randn(3, 4))


@zoo(GROUP)
def embeddings() -> Model:
    m = nn.Embedding(20, 6, padding_idx=0)
    return model(Lambda(lambda m, i: m(i).sum(1), m), randint(20, 3, 4))


@zoo(GROUP)
def fft_filter() -> Model:
    def run(x: torch.Tensor) -> Any:
        spectrum = torch.fft.rfft(x)
        return torch.fft.irfft(spectrum * 0.5, n=16), spectrum.abs(), torch.view_as_real(spectrum)

    return model(run, torch.randn(2, 16))


@zoo(GROUP)
def fft_2d() -> Model:
    return model(lambda x: torch.fft.ifft2(torch.fft.fft2(x)).real, torch.randn(2, 8, 8))


@zoo(GROUP)
def stft_spectrogram() -> Model:
    window = torch.hann_window(16)
    return model(
        lambda x: torch.stft(x, 16, 4, window=window, return_complex=True).abs().pow(2), torch.randn(2, 64)
    )


@zoo(GROUP)
def istft_roundtrip() -> Model:
    window = torch.hann_window(16)

    def run(x: torch.Tensor) -> torch.Tensor:
        return torch.istft(torch.stft(x, 16, 4, window=window, return_complex=True), 16, 4, window=window)

    return model(run, torch.randn(2, 64))


@zoo(GROUP)
def complex_rotary() -> Model:
    frequencies = torch.polar(torch.ones(6, 4), torch.randn(6, 4))

    def run(x: torch.Tensor) -> torch.Tensor:
        z = torch.view_as_complex(x.reshape(1, 6, 2, 4, 2))
        return torch.view_as_real(z * frequencies[:, None]).flatten(3)

    return model(run, torch.randn(1, 6, 2, 8))


@zoo(GROUP)
def complex_arithmetic() -> Model:
    def run(a: torch.Tensor, b: torch.Tensor) -> Any:
        z, w = torch.complex(a, b), torch.complex(b, a)
        return (z * w + z / w).real, (z - w).imag, z.conj().angle(), (z @ w.mT).abs(), torch.exp(z).real

    return model(run, torch.randn(3, 3), torch.randn(3, 3) + 2)


@zoo(GROUP)
def sorting() -> Model:
    def run(x: torch.Tensor) -> Any:
        values, order = x.sort(-1, descending=True)
        top, where = x.topk(3, -1)
        return (
            values,
            order,
            top,
            where,
            x.argsort(0),
            x.kthvalue(2, -1).values,
            x.median(-1).values,
            x.quantile(0.3),
        )

    return model(run, torch.randn(4, 6))


@zoo(GROUP)
def scatters() -> Model:
    def run(x: torch.Tensor, i: torch.Tensor) -> Any:
        z = torch.zeros(3, 4)
        return (
            z.scatter_reduce(0, i, x, "amax", include_self=False),
            z.scatter_reduce(0, i, x, "mean"),
            z.scatter_add(0, i, x),
            z.index_add(0, i[:, 0], x),
            z.index_reduce(0, i[:, 0], x, "prod"),
            z.scatter(0, i, 2.0),
        )

    return model(run, torch.randn(5, 4), randint(3, 5, 4))


@zoo(GROUP)
def graph_convolution() -> Model:
    """Messages are gathered along edges and summed at nodes."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
            for layer in (self.a, self.b):
                h = layer(x)
                source, target = edges[0], edges[1]
                degree = torch.zeros(x.shape[0]).index_add(0, target, torch.ones(edges.shape[1])).clamp(min=1)
                x = torch.zeros_like(h).index_add(0, target, h[source]) / degree[:, None]
            return x.log_softmax(-1)

    return model(M(), torch.randn(6, 4), randint(6, 2, 10))


@zoo(GROUP)
def mixture_of_experts() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(8, 4)
            self.w1, self.w2 = nn.Parameter(torch.randn(4, 8, 16)), nn.Parameter(torch.randn(4, 16, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
            weights = weights / weights.sum(-1, keepdim=True)
            h = F.silu(torch.einsum("td,tkdh->tkh", x, self.w1[chosen]))
            return (torch.einsum("tkh,tkhd->tkd", h, self.w2[chosen]) * weights[..., None]).sum(1)

    return model(M(), torch.randn(5, 8))


@zoo(GROUP)
def mixture_of_experts_by_expert() -> Model:
    """Selects the tokens of each expert by index. Their number depends on the data."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Linear(8, 3)
            self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            weights, chosen = self.gate(x).softmax(-1).max(-1)
            result = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                (rows,) = torch.where(chosen == i)
                result = result.index_add(0, rows, expert(x[rows]) * weights[rows, None])
            return result

    return model(M(), torch.randn(5, 8), others=[torch.randn(5, 8), torch.zeros(5, 8)])


@zoo(GROUP)
def conv3d_video() -> Model:
    m = nn.Sequential(
        nn.Conv3d(3, 8, 3, 2, 1),
        nn.BatchNorm3d(8),
        nn.ReLU(),
        nn.MaxPool3d(2),
        nn.Conv3d(8, 4, 1),
        nn.AvgPool3d((1, 2, 2)),
        nn.ConvTranspose3d(4, 2, 2, 2),
        nn.AdaptiveAvgPool3d(1),
        nn.Flatten(),
    )
    return model(m, torch.randn(1, 3, 8, 16, 16))


@zoo(GROUP)
def resampling() -> Model:
    def run(x: torch.Tensor) -> Any:
        return (
            F.interpolate(x, scale_factor=2, mode="nearest"),
            F.interpolate(x, size=(5, 7), mode="bicubic", align_corners=False),
            F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=True, antialias=False),
            F.interpolate(x, size=(4, 4), mode="bilinear", antialias=True),
            F.interpolate(x, size=(4, 4), mode="area"),
            F.interpolate(x, size=(9, 3), mode="nearest-exact"),
            F.pixel_shuffle(x, 2),
            F.pixel_unshuffle(x, 2),
        )

    return model(run, torch.randn(1, 4, 8, 8))


@zoo(GROUP)
def resampling_1d_3d() -> Model:
    def run(x: torch.Tensor, y: torch.Tensor) -> Any:
        return (
            F.interpolate(x, scale_factor=2, mode="linear"),
            F.interpolate(y, size=(3, 5, 6), mode="trilinear"),
            F.interpolate(y, scale_factor=2),
        )

    return model(run, torch.randn(1, 2, 8), torch.randn(1, 2, 4, 4, 4))


@zoo(GROUP)
def grid_sampling() -> Model:
    def run(x: torch.Tensor, t: torch.Tensor) -> Any:
        grid = F.affine_grid(t, [1, 2, 6, 6], align_corners=False)
        return (
            F.grid_sample(x, grid, align_corners=False),
            F.grid_sample(x, grid, "nearest", "border", True),
            F.grid_sample(x, grid, "bicubic", "reflection", False),
        )

    return model(run, torch.randn(1, 2, 8, 8), torch.randn(1, 2, 3))


@zoo(GROUP)
def paddings() -> Model:
    def run(x: torch.Tensor) -> Any:
        return tuple(F.pad(x, (1, 2, 3, 0), m) for m in ("constant", "reflect", "replicate", "circular"))

    return model(run, torch.randn(1, 2, 5, 6))


@zoo(GROUP)
def poolings() -> Model:
    def run(x: torch.Tensor) -> Any:
        return (
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
            F.max_pool2d(x, 2, return_indices=True),
            F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            F.lp_pool2d(x, 2, 2),
            F.adaptive_avg_pool2d(x, (3, 5)),
            F.adaptive_max_pool2d(x, 3),
            F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
        )

    return model(run, torch.randn(1, 2, 10, 10))


@zoo(GROUP)
def unfold_fold() -> Model:
    def run(x: torch.Tensor) -> Any:
        patches = F.unfold(x, 3, padding=1, stride=2)
        return F.fold(patches, (8, 8), 3, padding=1, stride=2), x.unfold(2, 3, 2)

    return model(run, torch.randn(1, 2, 8, 8))


@zoo(GROUP)
def normalisations() -> Model:
    m = nn.Sequential(
        nn.GroupNorm(2, 4),
        nn.InstanceNorm2d(4, affine=True),
        nn.LocalResponseNorm(2),
        nn.BatchNorm2d(4),
        nn.LayerNorm([4, 6, 6]),
        nn.RMSNorm(6),
    )
    return model(m, torch.randn(2, 4, 6, 6))


@zoo(GROUP)
def activations() -> Model:
    layers = [
        nn.ELU(),
        nn.SELU(),
        nn.CELU(),
        nn.GELU("tanh"),
        nn.GELU(),
        nn.SiLU(),
        nn.Mish(),
        nn.Softplus(),
        nn.Softsign(),
        nn.Softshrink(),
        nn.Hardshrink(),
        nn.Hardswish(),
        nn.Hardsigmoid(),
        nn.LogSigmoid(),
        nn.Tanhshrink(),
        nn.Threshold(0.1, 3.0),
        nn.GLU(),
        nn.PReLU(),
        nn.RReLU(),
        nn.Softmin(-1),
        nn.ReLU6(),
        nn.CosineSimilarity(),
    ]

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(layers)

        def forward(self, x: torch.Tensor) -> Any:
            return tuple(
                layer(x, x.flip(0)) if isinstance(layer, nn.CosineSimilarity) else layer(x)
                for layer in self.layers
            )

    return model(M(), torch.randn(3, 4))


@zoo(GROUP)
def losses() -> Model:
    def run(x: torch.Tensor, y: torch.Tensor, labels: torch.Tensor) -> Any:
        return (
            F.cross_entropy(x, labels, label_smoothing=0.1),
            F.mse_loss(x, y),
            F.l1_loss(x, y),
            F.smooth_l1_loss(x, y),
            F.huber_loss(x, y),
            F.binary_cross_entropy_with_logits(x, y.sigmoid()),
            F.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
            F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
            F.nll_loss(x.log_softmax(-1), labels),
            F.cosine_embedding_loss(x, y, torch.ones(4)),
            F.triplet_margin_loss(x, y, x.flip(0)),
            F.hinge_embedding_loss(x, torch.ones(4, 5)),
        )

    return model(run, torch.randn(4, 5), torch.randn(4, 5), randint(5, 4))
