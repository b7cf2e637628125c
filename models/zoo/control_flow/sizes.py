"""Models with dynamic shapes, and with sizes that depend on data."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.export import Dim

from models.zoo.cases import Lambda, Model, model, randint, zoo

GROUP = "control_flow"


def rows(low: int = 1, high: int = 8, name: str = "b") -> Any:
    """Returns dynamic shapes for one input with a dynamic first dimension."""
    return {"args": ({0: Dim(name, min=low, max=high)},)}


@zoo(GROUP)
def dynamic_multiple() -> Model:
    """A dimension that is a multiple of four, and a reshape that depends on it."""
    s = Dim("s", min=1, max=4)
    return model(
        lambda x: x.view(x.shape[0] // 4, 4).sum(1),
        torch.randn(8),
        dynamic={"args": ({0: 4 * s},)},
        others=[torch.randn(16), torch.randn(4)],
    )


@zoo(GROUP)
def dynamic_shared_dim() -> Model:
    b = Dim("b", min=1, max=8)
    return model(
        lambda x, y: x @ y.mT + y.sum(),
        torch.randn(3, 4),
        torch.randn(3, 4),
        dynamic={"args": ({0: b}, {0: b})},
        others=[(torch.randn(8, 4), torch.randn(8, 4))],
    )


@zoo(GROUP)
def dynamic_derived_dim() -> Model:
    s = Dim("s", min=2, max=8)
    return model(
        lambda x, y: x[:-1] * y,
        torch.randn(4, 3),
        torch.randn(3, 3),
        dynamic={"args": ({0: s + 1}, {0: s})},
        others=[(torch.randn(9, 3), torch.randn(8, 3))],
    )


@zoo(GROUP)
def dynamic_auto() -> Model:
    return model(
        lambda x: x.flatten(1).softmax(-1),
        torch.randn(2, 3, 4),
        dynamic={"args": ((Dim.AUTO(min=1, max=6), 3, 4),)},
        others=[torch.randn(6, 3, 4)],
    )


@zoo(GROUP)
def dynamic_image() -> Model:
    m = nn.Sequential(
        nn.Conv2d(3, 4, 3, 2, 1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16, 2),
    )
    h, w = Dim("h", min=2, max=8), Dim("w", min=2, max=8)
    return model(
        m,
        torch.randn(1, 3, 16, 24),
        dynamic=({2: 4 * h, 3: 4 * w},),
        others=[torch.randn(1, 3, 32, 8), torch.randn(1, 3, 8, 8)],
    )


@zoo(GROUP)
def dynamic_upsample() -> Model:
    m = Lambda(
        lambda c, x: torch.nn.functional.interpolate(c(x), scale_factor=2.0, mode="bilinear"),
        nn.Conv2d(1, 2, 3, padding=1),
    )
    h = Dim("h", min=4, max=12)
    return model(
        m,
        torch.randn(1, 1, 6, 8),
        dynamic={"args": ({2: h},)},
        others=[torch.randn(1, 1, 12, 8), torch.randn(1, 1, 4, 8)],
    )


@zoo(GROUP)
def dynamic_arithmetic() -> Model:
    def run(x: torch.Tensor) -> Any:
        n = x.shape[0]
        return (
            x.mean(0) * (n / 2),
            torch.arange(n) * n,
            x.narrow(0, 0, 2),
            n % 3,
            n * n - 1,
            x.new_zeros(n + 1, 2),
            torch.sym_max(n, 4),
            n / 3,
        )

    return model(run, torch.randn(5, 2), dynamic=rows(2, 9), others=[torch.randn(9, 2), torch.randn(2, 2)])


@zoo(GROUP)
def dynamic_concat_pad() -> Model:
    def run(x: torch.Tensor) -> Any:
        n = x.shape[0]
        return (
            torch.cat([x, x[:1], x], 0),
            torch.nn.functional.pad(x, (0, 0, 0, 9 - n)),
            x.repeat(2, 1),
            x.unsqueeze(1).expand(n, 3, 2),
            torch.stack([x, x]),
            x.flip(0),
        )

    return model(run, torch.randn(5, 2), dynamic=rows(2, 8), others=[torch.randn(8, 2), torch.randn(2, 2)])


@zoo(GROUP)
def dynamic_causal_mask() -> Model:
    def run(q: torch.Tensor) -> torch.Tensor:
        n = q.shape[1]
        mask = torch.full((n, n), float("-inf")).triu(1)
        return (q @ q.mT + mask).softmax(-1) @ q

    return model(
        run,
        torch.randn(1, 4, 8),
        dynamic={"args": ({1: Dim("s", min=2, max=16)},)},
        others=[torch.randn(1, 16, 8), torch.randn(1, 2, 8)],
    )


@zoo(GROUP)
def dynamic_unbounded() -> Model:
    return model(
        lambda x: (x * 2).sum(-1),
        torch.randn(3, 4),
        dynamic={"args": ({0: Dim("b")},)},
        others=[torch.randn(50, 4), torch.randn(2, 4)],
    )


@zoo(GROUP)
def dynamic_int_input() -> Model:
    return model(
        lambda x, n: (x[:n], n + 1),
        torch.randn(8, 2),
        3,
        dynamic={"args": (None, Dim.DYNAMIC)},
        others=[(torch.randn(8, 2), 5)],
    )


@zoo(GROUP)
def nonzero_bounded() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        found = torch.nonzero(x > 0)
        torch._check(found.shape[0] <= 12)
        return found * 2

    return model(run, torch.randn(4, 3), others=[torch.ones(4, 3), -torch.ones(4, 3)])


@zoo(GROUP)
def masked_select() -> Model:
    return model(
        lambda x: torch.masked_select(x, x > 0).sum(),
        torch.randn(4, 3),
        others=[torch.ones(4, 3), -torch.ones(4, 3)],
    )


@zoo(GROUP)
def masked_rows() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = nn.Linear(3, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.l(x[x[:, 0] > 0])

    return model(M(), torch.randn(6, 3), others=[torch.ones(6, 3), -torch.ones(6, 3)])


@zoo(GROUP)
def unique_values() -> Model:
    return model(
        lambda x: torch.unique(x), randint(4, 6), others=[randint(2, 6), torch.zeros(6, dtype=torch.int64)]
    )


@zoo(GROUP)
def unique_inverse_counts() -> Model:
    return model(
        lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        randint(4, 6),
        others=[randint(2, 6)],
    )


@zoo(GROUP)
def item_as_size() -> Model:
    def run(n: torch.Tensor, x: torch.Tensor) -> Any:
        count = n.item()
        torch._check(count >= 2)
        torch._check(count <= 8)
        return torch.zeros(count, 2) + 1, x[:count] * 2, count

    return model(
        run,
        torch.tensor(3),
        torch.randn(8),
        others=[(torch.tensor(8), torch.randn(8)), (torch.tensor(2), torch.randn(8))],
    )


@zoo(GROUP)
def item_as_factor() -> Model:
    return model(
        lambda s, x: x * s.item(),
        torch.tensor(2.5),
        torch.randn(3),
        others=[(torch.tensor(-1.0), torch.randn(3))],
    )


@zoo(GROUP)
def item_as_range() -> Model:
    def run(n: torch.Tensor) -> torch.Tensor:
        count = n.item()
        torch._check(count >= 1)
        torch._check(count <= 10)
        return torch.arange(count).float().mean()

    return model(run, torch.tensor(3), others=[torch.tensor(10), torch.tensor(1)])


@zoo(GROUP)
def repeat_interleave_by_tensor() -> Model:
    return model(
        lambda x, n: torch.repeat_interleave(x, n, dim=0),
        torch.randn(3, 2),
        torch.tensor([1, 2, 0]),
        others=[(torch.randn(3, 2), torch.tensor([2, 2, 2]))],
    )


@zoo(GROUP)
def bincount_unbounded() -> Model:
    return model(lambda x: torch.bincount(x), randint(5, 8), others=[randint(9, 8)])


@zoo(GROUP)
def where_indices() -> Model:
    def run(x: torch.Tensor) -> Any:
        r, c = torch.where(x > 0)
        return r + c, x[r, c]

    return model(run, torch.randn(3, 3), others=[torch.randn(3, 3)])


@zoo(GROUP)
def nonzero_then_cond() -> Model:
    def run(x: torch.Tensor) -> torch.Tensor:
        count = (x > 0).sum()
        return torch.cond(count > 2, lambda x: x * count, lambda x: x - count, (x,))

    return model(run, torch.ones(4), others=[-torch.ones(4)])
