"""Operators that XnnpackBackend fuses into convolutions and products at load, or must not fuse."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.exir import to_edge_transform_and_lower
from rushlight.runtime import Runtime, load


class Residual(nn.Module):
    """A residual block of ResNet with a convolution in the shortcut."""

    def __init__(self, stride: int = 2) -> None:
        super().__init__()
        self.first = nn.Conv2d(16, 24, 3, stride=stride, padding=1)
        self.second = nn.Conv2d(24, 24, 3, padding=1)
        self.shortcut = nn.Conv2d(16, 24, 1, stride=stride) if stride > 1 else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))


class Bottleneck(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.expand = nn.Conv2d(16, 48, 1)
        self.depthwise = nn.Conv2d(48, 48, 3, groups=48, padding=1)
        self.project = nn.Conv2d(48, 16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = nn.functional.hardswish(self.depthwise(nn.functional.relu6(self.expand(x))))
        return x + self.project(inner)


class Feed(nn.Module):
    """The MLP of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(24, 50), nn.Linear(50, 24)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(x)))


class ReadTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(8, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.inner(x)
        return torch.relu(y) * y


class AlsoGiven(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(8, 8, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.inner(x)
        return torch.relu(y), y


class BroadcastAdded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(8, 8, 1)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.inner(x) + y


class AddedToDepthwise(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(8, 8, 3, padding=1, groups=8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.inner(x) + x)


class Bounded(nn.Module):
    """A sum of clamped values, and a value that is clamped three times."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Conv2d(8, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.inner(x)) + x
        return torch.clamp(torch.clamp(y, -0.5, 2.0), 0.1, 1.0)


def _lower(module: nn.Module, inputs: tuple[torch.Tensor, ...], **options: Any) -> bytes:
    edge = to_edge_transform_and_lower(
        torch.export.export(module.eval(), inputs, **options), partitioner=[XnnpackPartitioner()]
    )
    return bytes(edge.to_executorch().buffer)


def _steps(program: bytes, inputs: tuple[torch.Tensor, ...]) -> list[str]:
    method: Any = Runtime.get().load_program(program).load_timed_method("forward")
    method.execute(list(inputs))
    return [name.removeprefix("XNN") for name, *_ in method.timings() if name.startswith("XNN")]


CASES: dict[str, tuple[nn.Module, tuple[int, ...], list[str]]] = {
    "residual": (Residual(), (1, 16, 9, 10), ["Conv2d"] * 3),
    "identity": (Residual(stride=1), (2, 24, 8, 5), ["Conv2d"] * 2),
    "bottleneck": (Bottleneck(), (1, 16, 7, 9), ["Conv2d", "DepthwiseConv2d", "Conv2d"]),
    "feed": (Feed(), (2, 5, 24), ["FullyConnected"] * 2),
    "read_twice": (ReadTwice(), (1, 8, 4, 4), ["Conv2d", "Clamp", "Multiply"]),
    "also_given": (AlsoGiven(), (1, 8, 4, 4), ["Conv2d", "Clamp"]),
    "depthwise": (AddedToDepthwise(), (1, 8, 6, 6), ["DepthwiseConv2d", "Add", "Sigmoid"]),
    "bounded": (Bounded(), (1, 8, 4, 4), ["Conv2d", "Add", "Clamp"]),
    "leaky": (nn.Sequential(nn.Conv2d(8, 8, 3), nn.LeakyReLU(0.3)), (1, 8, 6, 6), ["Conv2d"]),
    "tanh": (nn.Sequential(nn.Linear(8, 9), nn.Tanh()), (3, 8), ["FullyConnected"]),
}
CASES["identity"][0].first = nn.Conv2d(24, 24, 3, padding=1)


@pytest.mark.parametrize("name", CASES)
def test_fusion(name: str) -> None:
    module, shape, steps = CASES[name]
    inputs = (torch.randn(shape, generator=torch.Generator().manual_seed(5)) * 2,)
    program = _lower(module, inputs)
    assert [step for step in _steps(program, inputs) if step != "StaticTranspose"] == steps
    with torch.no_grad():
        expected = module(*inputs)
    for threads in (1, 2):
        actual = load(program, threads=threads)(*inputs)
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=2e-5)


def test_a_residual_that_may_be_broadcast_is_added_apart() -> None:
    module = BroadcastAdded().eval()
    inputs = (torch.randn(4, 8, 3, 3), torch.randn(4, 8, 3, 3))
    rows = torch.export.Dim("rows", min=1, max=4)
    program = _lower(module, inputs, dynamic_shapes=({2: rows}, {2: rows}))
    with torch.no_grad():
        torch.testing.assert_close(load(program)(*inputs), module(*inputs), rtol=1e-5, atol=2e-5)
    assert "Add" in _steps(program, inputs)


def test_a_residual_with_sizes_that_change() -> None:
    module = Residual().eval()
    height, width = torch.export.Dim("height", min=3, max=12), torch.export.Dim("width", min=3, max=11)
    program = _lower(module, (torch.randn(1, 16, 9, 10),), dynamic_shapes=({2: height, 3: width},))
    loaded = load(program, threads=2)
    assert "Add" not in _steps(program, (torch.randn(1, 16, 9, 10),))
    for size in ((12, 11), (3, 4), (7, 6), (12, 11)):
        x = torch.randn(1, 16, *size)
        with torch.no_grad():
            torch.testing.assert_close(loaded(x), module(x), rtol=1e-5, atol=2e-5)
