"""Models for forecasts, state spaces, mixtures of experts and decoding."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

from models.zoo.cases import Call, Lambda, Method, Model, model, randint, steps, zoo

GROUP = "domains"


@zoo(GROUP)
def recommender() -> Model:
    """Embedding bags, pairwise products and an MLP, as in DLRM."""

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
    """Instance normalization, decomposition with a moving average, patches and a linear head."""

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
    """A diagonal state space model: a parallel prefix sum of logarithms, and a recurrence."""

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
    """Each token uses the best of four experts, which have a capacity."""

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
    """Two methods share a cache: one for the whole prompt, one for single tokens, with rotary positions."""

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
    """Temperature, top-k and top-p filters of logits."""

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
    """State between calls, and small linear systems."""

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
