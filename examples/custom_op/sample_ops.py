"""Custom operators: their schemas, their eager and fake implementations, and a model that calls them.

Each operator has a functional overload, which models call, and an out variant with the same arguments, which
compiled programs call. sample_kernels.cpp contains the kernels of the out variants.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

library = torch.library.Library("sample", "DEF")
library.define("gate(Tensor x, Tensor? bias=None, *, float limit=6.0) -> Tensor")
library.define("gate.out(Tensor x, Tensor? bias=None, *, float limit=6.0, Tensor(a!) out) -> Tensor(a!)")
library.define("extent(Tensor x) -> (Tensor low, Tensor high)")
library.define("extent.out(Tensor x, *, Tensor(a!) low, Tensor(b!) high) -> (Tensor(a!), Tensor(b!))")
library.define("blend(Tensor[] parts, float[] weights) -> Tensor")
library.define("blend.out(Tensor[] parts, float[] weights, *, Tensor(a!) out) -> Tensor(a!)")


@torch.library.impl(library, "gate", "CompositeExplicitAutograd")
def gate(x: Tensor, bias: Tensor | None = None, *, limit: float = 6.0) -> Tensor:
    """Returns x * clamp(x + bias, 0, limit) / limit. `bias` has the length of the last dimension."""
    return x * (x if bias is None else x + bias).clamp(0, limit) / limit


@torch.library.impl(library, "extent", "CompositeExplicitAutograd")
def extent(x: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the minimum and the maximum over the first dimension."""
    return x.amin(0), x.amax(0)


@torch.library.impl(library, "blend", "CompositeExplicitAutograd")
def blend(parts: list[Tensor], weights: list[float]) -> Tensor:
    """Returns the weighted sum of tensors with equal shapes."""
    return sum(
        (part * weight for part, weight in zip(parts, weights, strict=True)), torch.zeros_like(parts[0])
    )


torch.library.register_fake("sample::gate", lambda x, bias=None, *, limit=6.0: torch.empty_like(x))
torch.library.register_fake("sample::extent", lambda x: (torch.empty_like(x[0]), torch.empty_like(x[0])))
torch.library.register_fake("sample::blend", lambda parts, weights: torch.empty_like(parts[0]))


class Model(nn.Module):
    """Calls gate with and without a bias, blends both results, and scales the blend by its extent."""

    def __init__(self, features: int = 4) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.linspace(-1, 1, features))

    def forward(self, x: Tensor) -> Tensor:
        """x: float32 [n, features]."""
        plain = torch.ops.sample.gate(x)
        biased = torch.ops.sample.gate(x, self.bias, limit=3.0)
        mixed = torch.ops.sample.blend([plain, biased], [0.75, 0.25])
        low, high = torch.ops.sample.extent(mixed)
        return (mixed - low) / (high - low + 1)
