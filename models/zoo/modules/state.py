"""Modules with state, with all kinds of inputs and outputs, and with several precisions."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from models.zoo.cases import Call, Lambda, Method, Model, model, randint, steps, zoo

GROUP = "modules"


@zoo(GROUP)
def kv_cache_slice() -> Model:
    """A slice of a cache is written, as in decoders."""

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
    """The position is a Python int, and `narrow` selects the rows before it."""

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
    """A program with two methods, each of which has its own state and counts its calls."""

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
    """State in tensors that are not registered as buffers."""

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
    """A string input selects the exported operators. The calls of the program get it too."""

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
