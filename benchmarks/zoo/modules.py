"""Hand-written modules: state, kinds of inputs and outputs, recurrent layers, seldom used operators."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from benchmarks.zoo.cases import Call, Lambda, Method, Model, model, randint, steps, zoo

GROUP = "modules"


@zoo(GROUP)
def lstm_bidirectional() -> Model:
    return model(Lambda(lambda m, x: m(x)[0], nn.LSTM(6, 8, 2, bidirectional=True)), torch.randn(5, 2, 6))


@zoo(GROUP)
def lstm_with_state() -> Model:
    state = torch.randn(1, 2, 8), torch.randn(1, 2, 8)
    return model(Lambda(lambda m, x, h, c: m(x, (h, c)), nn.LSTM(6, 8)), torch.randn(5, 2, 6), *state)


@zoo(GROUP)
def lstm_projected() -> Model:
    return model(Lambda(lambda m, x: m(x), nn.LSTM(6, 8, proj_size=4)), torch.randn(5, 2, 6))


@zoo(GROUP)
def lstm_unbatched() -> Model:
    return model(Lambda(lambda m, x: m(x)[0], nn.LSTM(6, 8)), torch.randn(5, 6))


@zoo(GROUP)
def lstm_dynamic_batch() -> Model:
    shapes = ({0: Dim("b", min=1, max=8)},)
    m = Lambda(lambda m, x: m(x)[0], nn.LSTM(6, 8, batch_first=True))
    dynamic: Any = {"args": shapes}
    return model(
        m, torch.randn(3, 5, 6), dynamic=dynamic, others=[torch.randn(8, 5, 6), torch.randn(1, 5, 6)]
    )


@zoo(GROUP)
def gru_bidirectional() -> Model:
    return model(Lambda(lambda m, x: m(x), nn.GRU(6, 8, 2, bidirectional=True)), torch.randn(5, 2, 6))


@zoo(GROUP)
def rnn_tanh() -> Model:
    return model(Lambda(lambda m, x: m(x), nn.RNN(6, 8, 2)), torch.randn(5, 2, 6))


@zoo(GROUP)
def lstm_cell_loop() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.gru = nn.LSTMCell(4, 6), nn.GRUCell(6, 6)

        def forward(self, x: torch.Tensor) -> Any:
            h, c = torch.zeros(2, 6), torch.zeros(2, 6)
            g = torch.zeros(2, 6)
            for i in range(3):
                h, c = self.cell(x[i], (h, c))
                g = self.gru(h, g)
            return h, c, g

    return model(M(), torch.randn(3, 2, 4))


@zoo(GROUP)
def kv_cache_slice() -> Model:
    """Rows of a cache written by slice, as decoders do."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("k", torch.zeros(1, 2, 8, 4))

        def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
            self.k[:, :, position] = x
            return self.k.sum(2) + x[:, :, 0]

    return steps(M(), *[(torch.randn(1, 2, 1, 4), torch.tensor([i])) for i in range(4)])


@zoo(GROUP)
def kv_cache_int_position() -> Model:
    """The position is a Python int; the rows before it are narrowed out."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("k", torch.zeros(1, 8, 4))

        def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
            start = position.item()
            torch._check(start >= 0)
            torch._check(start <= 7)
            self.k.narrow(1, start, 1).copy_(x)
            return self.k * 2

    return steps(M(), *[(torch.randn(1, 1, 4), torch.tensor(i)) for i in range(4)])


@zoo(GROUP)
def cache_rolled() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("ring", torch.arange(8.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.ring.copy_(torch.cat([self.ring[1:], x]))
            return self.ring.mean()

    return steps(M(), *[(torch.randn(1),) for _ in range(4)])


@zoo(GROUP)
def initialised_state() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.randn(3, 4))
            self.register_buffer("n", torch.tensor(7, dtype=torch.int64))
            self.register_buffer("seen", torch.tensor([True, False]))

        def forward(self, x: torch.Tensor) -> Any:
            self.a.add_(x)
            self.n.sub_(1)
            self.seen.logical_not_()
            return self.a.clone(), self.n.clone(), self.seen.clone()

    return steps(M(), *[(torch.randn(3, 4),) for _ in range(3)])


@zoo(GROUP)
def state_returned_itself() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.a.mul_(x)
            return self.a

    return steps(M(), *[(torch.randn(3),) for _ in range(3)])


@zoo(GROUP)
def state_two_views() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.zeros(4, 4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            top, left = self.a[:2], self.a[:, :2]
            top.add_(x)
            left.mul_(2)
            self.a.diagonal().fill_(1.0)
            return top + left.t()

    return steps(M(), *[(torch.randn(2, 4),) for _ in range(3)])


@zoo(GROUP)
def state_shared_between_methods() -> Model:
    """Two methods with state of their own in one program; each counts its calls."""

    class Counter(nn.Module):
        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by
            self.register_buffer("n", torch.zeros(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.n.add_(self.by)
            return x + self.n

    x = torch.randn(2)
    methods = {"up": Method(Counter(1), (x,), {}), "down": Method(Counter(-2), (x,), {})}
    return Model(methods, [Call(m, (torch.randn(2),), {}) for m in ("up", "down", "up", "up", "down")])


@zoo(GROUP)
def cache_in_an_attribute() -> Model:
    """State in tensors that are no buffers of the module."""

    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cache = [torch.zeros(4, 3), torch.ones(4, 3)]

        def forward(self, x: torch.Tensor, position: torch.Tensor) -> Any:
            for cache in self.cache:
                cache.index_copy_(0, position, x)
            return self.cache[0] + self.cache[1]

    inputs = [(torch.randn(1, 3), torch.tensor([i])) for i in range(4)]
    return steps(M(), *inputs)


@zoo(GROUP)
def string_input() -> Model:
    """A string chooses what is exported, and is given again to the program."""

    def run(x: torch.Tensor, mode: str, scale: int) -> Any:
        return (x.relu() if mode == "relu" else x.tanh()) * scale, mode, scale

    return model(run, torch.randn(3), "relu", 3)


@zoo(GROUP)
def running_statistics() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))
            self.register_buffer("var", torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.mean.lerp_(x.mean(0), 0.1)
            self.var.lerp_(x.var(0), 0.1)
            return (x - self.mean) * torch.rsqrt(self.var + 1e-5)

    return steps(M(), *[(torch.randn(6, 4),) for _ in range(3)])


@zoo(GROUP)
def input_mutated() -> Model:
    def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * y

    return model(run, torch.randn(3), torch.randn(3), others=[(torch.randn(3), torch.randn(3))])


@zoo(GROUP)
def scalar_inputs() -> Model:
    return model(lambda x, k, f, b, s: x * k + f if b else x, torch.randn(3), 3, 0.5, True, "text")


@zoo(GROUP)
def none_input_and_output() -> Model:
    return model(lambda x, mask: (x * 2, None, x if mask is None else x + mask), torch.randn(3), None)


@zoo(GROUP)
def constant_outputs() -> Model:
    return model(lambda x: (x + 1, 3, 2.5, True, "label", None, torch.ones(2)), torch.randn(3))


@zoo(GROUP)
def inputs_returned() -> Model:
    return model(lambda x, y: (x, y, x.view(-1), x), torch.randn(2, 3), randint(5, 2))


@zoo(GROUP)
def unused_input() -> Model:
    return model(lambda x, y, z: x + z, torch.randn(2), torch.randn(3), torch.randn(2))


@zoo(GROUP)
def keyword_inputs() -> Model:
    return model(
        lambda x, *, scale, shift: x * scale + shift,
        torch.randn(3),
        kwargs={"scale": torch.randn(3), "shift": torch.randn(1)},
    )


@zoo(GROUP)
def bool_tensors() -> Model:
    return model(
        lambda a, b: (a & b, a | b, a ^ b, ~a, a.any(), b.all(), a.sum(), a.float().mean()),
        torch.tensor([True, False, True]),
        torch.tensor([True, True, False]),
    )


@zoo(GROUP)
def half_precision() -> Model:
    m = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)).half()
    return model(m, torch.randn(2, 8).half(), tolerance=1e-2)


@zoo(GROUP)
def bfloat16_precision() -> Model:
    m = nn.Sequential(nn.Linear(8, 8), nn.SiLU(), nn.Softmax(-1)).bfloat16()
    return model(m, torch.randn(2, 8).bfloat16(), tolerance=3e-2)


@zoo(GROUP)
def float64_mlp() -> Model:
    return model(
        nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2)).double(), torch.randn(2, 8).double()
    )


@zoo(GROUP)
def autocast() -> Model:
    def run(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return m(x).float()

    return model(Lambda(run, nn.Linear(8, 8)), torch.randn(2, 8), tolerance=3e-2)


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
    """Messages gathered over edges and summed at nodes."""

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
    """Tokens of each expert taken out by their indices, whose number depends on data."""

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


@zoo(GROUP)
def linear_algebra() -> Model:
    def run(a: torch.Tensor, b: torch.Tensor) -> Any:
        return (
            a @ b,
            torch.einsum("ij,kj->ik", a, b),
            torch.linalg.norm(a),
            torch.linalg.vector_norm(a, 1, -1),
            torch.cdist(a, b),
            torch.baddbmm(a[None], a[None], b[None]),
            torch.outer(a[0], b[0]),
            torch.kron(a, b),
            torch.trace(a),
            torch.cross(a, b, dim=1),
            torch.chain_matmul(a, b, a),
        )

    return model(run, torch.randn(3, 3), torch.randn(3, 3))


@zoo(GROUP)
def linear_solvers() -> Model:
    """Determinants, inverses and decompositions, as flows and filters use them."""

    def run(a: torch.Tensor) -> Any:
        s = a @ a.mT + 3 * torch.eye(3)
        return (
            torch.linalg.inv(s),
            torch.linalg.cholesky(s),
            torch.linalg.solve(s, a),
            torch.logdet(s),
            torch.linalg.pinv(a[:, :2]),
            torch.linalg.eigvalsh(s),
            torch.linalg.svdvals(a),
            torch.linalg.qr(a),
            torch.linalg.matrix_exp(a),
            torch.linalg.matrix_power(s, 3),
            torch.linalg.lu(s),
            torch.linalg.solve_triangular(s, a, upper=True),
            torch.cholesky_solve(a, torch.linalg.cholesky(s)),
            torch.addbmm(a, a[None], s[None], beta=0.5),
            torch.linalg.cond(s),
            torch.linalg.matrix_norm(a, "nuc"),
        )

    return model(run, torch.randn(3, 3))


@zoo(GROUP)
def windows_and_counts() -> Model:
    def run(x: torch.Tensor, i: torch.Tensor) -> Any:
        return (
            torch.bincount(i, minlength=8)[:8],
            torch.bucketize(x, torch.arange(5.0)),
            torch.searchsorted(torch.arange(5.0), x),
            F.one_hot(i, 8),
            torch.histc(x, 4, 0.0, 4.0),
            x.cumsum(0),
            x.cumprod(0),
            x.logcumsumexp(0),
            x.cummax(0),
            x.diff(),
            x.roll(2),
            x.flip(0),
            torch.rot90(x.view(2, 3)),
            x.repeat_interleave(2),
            torch.trapz(x),
        )

    return model(run, torch.rand(6) * 4, randint(8, 6))


@zoo(GROUP)
def grids_and_masks() -> Model:
    def run(x: torch.Tensor) -> Any:
        rows, columns = torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij")
        mask = torch.triu(torch.full((4, 4), float("-inf")), 1)
        return (
            rows + columns,
            mask,
            x.masked_fill(x > 0, -1.0),
            torch.where(x > 0, x, 0.0),
            torch.tril(x),
            x.diag(),
            torch.diag_embed(x),
            torch.block_diag(x, x),
            torch.cartesian_prod(x[0], x[1]),
            torch.tril_indices(3, 3),
        )

    return model(run, torch.randn(4, 4))


@zoo(GROUP)
def indexing() -> Model:
    def run(x: torch.Tensor, i: torch.Tensor) -> Any:
        y = x.clone()
        y[1:, ::2] = 0
        y[i, i] += 1
        y[..., -1] = x[..., 0]
        y.index_fill_(0, i[:1], 3.0)
        return (
            y,
            x[:, i],
            x[i][:, None],
            x[-1, ..., 0],
            x.take(i),
            x.gather(1, i[None].expand(6, -1) % 6),
            x.index_select(1, i),
            torch.take_along_dim(x, x.argsort(1), 1),
        )

    return model(run, torch.randn(6, 6), torch.tensor([0, 2, 5]))


@zoo(GROUP)
def indexing_boolean() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[y < 0] = 0.5
        return y

    return model(run, torch.randn(6, 6), others=[torch.randn(6, 6)])


@zoo(GROUP)
def einsums() -> Model:
    def run(a: torch.Tensor, b: torch.Tensor) -> Any:
        return (
            torch.einsum("bij,bjk->bik", a, b),
            torch.einsum("bii->bi", a),
            torch.einsum("bij,bij->b", a, b),
            torch.einsum("...ij->...ji", a),
            torch.tensordot(a, b, dims=([1, 2], [2, 1])),
        )

    return model(run, torch.randn(2, 3, 3), torch.randn(2, 3, 3))


@zoo(GROUP)
def vmapped() -> Model:
    weight = torch.randn(4, 4)
    return model(lambda x: torch.vmap(lambda row: (weight @ row).tanh().sum())(x), torch.randn(5, 4))


@zoo(GROUP)
def gradient_inside() -> Model:
    """The gradient of a function as part of the forward pass."""

    def run(x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad((x.sin() * x).sum(), x)[0]

    return model(run, torch.randn(4))


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
    """Greedy suppression by a loop over a fixed number of boxes."""

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
    """Random values that do not reach the result's numbers: a dropout of probability zero in training."""
    return model(lambda x: F.dropout(x, 0.0, training=True) + torch.rand(3).ge(0), torch.randn(3))
