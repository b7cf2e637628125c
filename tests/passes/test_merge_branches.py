"""Convolutions of the same input whose results are added are merged."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.passes.support import apply_to_program, calls, edge_of
from torch import nn

import rushlight
from rushlight.delegate.partitioner import Partitioner
from rushlight.passes.merge_branches import MergeBranchesPass


class Branches(nn.Module):
    """The sum of modules with the same input, then a ReLU."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = self.branches[0](x)
        for branch in self.branches[1:]:
            total = total + branch(x)
        return torch.relu(total)


def norm(channels: int, dims: int = 2) -> nn.Module:
    kind = nn.BatchNorm2d if dims == 2 else nn.BatchNorm1d
    made = kind(channels)
    assert made.running_mean is not None and made.running_var is not None
    with torch.no_grad():
        for tensor in (made.weight, made.bias, made.running_mean):
            tensor.uniform_(-2, 2)
        made.running_var.uniform_(0.3, 3)
    return made


def normed(conv: nn.Conv2d | nn.Conv1d) -> nn.Module:
    return nn.Sequential(conv, norm(conv.out_channels, 1 if isinstance(conv, nn.Conv1d) else 2))


CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "kernels of two sizes": (
        lambda: Branches(nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(4, 6, 1)),
        (2, 4, 8, 8),
    ),
    "the small kernel first": (
        lambda: Branches(nn.Conv2d(4, 6, 1, bias=False), nn.Conv2d(4, 6, (5, 3), padding=(2, 1), bias=False)),
        (1, 4, 9, 7),
    ),
    "strides": (
        lambda: Branches(nn.Conv2d(4, 6, 3, 2, padding=1), nn.Conv2d(4, 6, 1, 2)),
        (1, 4, 9, 9),
    ),
    "dilations": (
        lambda: Branches(nn.Conv2d(4, 4, 3, padding=2, dilation=2), nn.Conv2d(4, 4, 1), norm(4)),
        (1, 4, 9, 9),
    ),
    "batch norms of a RepVGG block": (
        lambda: Branches(
            norm(4), normed(nn.Conv2d(4, 4, 1, bias=False)), normed(nn.Conv2d(4, 4, 3, padding=1, bias=False))
        ),
        (1, 4, 6, 6),
    ),
    "a depthwise MobileOne block": (
        lambda: Branches(
            norm(6),
            normed(nn.Conv2d(6, 6, 1, groups=6, bias=False)),
            *(normed(nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False)) for _ in range(3)),
        ),
        (1, 6, 6, 6),
    ),
    "groups and the identity": (
        lambda: Branches(norm(6), normed(nn.Conv2d(6, 6, 3, padding=1, groups=2))),
        (1, 6, 5, 5),
    ),
    "one dimension": (
        lambda: Branches(normed(nn.Conv1d(4, 4, 5, padding=2)), nn.Conv1d(4, 4, 1), norm(4, 1)),
        (2, 4, 11),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_branches_become_one_convolution(name: str) -> None:
    make, shape = CASES[name]
    net, x = make().eval(), torch.randn(shape)
    result = apply_to_program(MergeBranchesPass(), edge_of(net, x))
    assert result.modified
    assert calls(result.exported_program.graph_module) == ["convolution.default", "relu.default"]
    with torch.no_grad():
        torch.testing.assert_close(result.exported_program.module()(x), net(x), rtol=1e-5, atol=2e-5)


class Rest(nn.Module):
    """x + conv(x) + x * 2 + conv(x): two of the four terms are convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.a(x) + (x * 2 + self.b(x))


def test_other_terms_are_added() -> None:
    net, x = Rest(), torch.randn(1, 4, 5, 5)
    result = apply_to_program(MergeBranchesPass(), edge_of(net, x))
    names = calls(result.exported_program.graph_module)
    assert names.count("convolution.default") == 1 and names.count("add.Tensor") == 2
    with torch.no_grad():
        torch.testing.assert_close(result.exported_program.module()(x), net(x), rtol=1e-5, atol=1e-5)


class Twice(nn.Module):
    """conv(x) + y + conv(x) + y: the term y occurs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return ((self.a(x) + y) + self.b(x)) + y


def test_a_term_that_occurs_twice_is_added_twice() -> None:
    net, x = Twice(), torch.randn(1, 4, 5, 5)
    result = apply_to_program(MergeBranchesPass(), edge_of(net, x))
    assert calls(result.exported_program.graph_module).count("convolution.default") == 1
    with torch.no_grad():
        torch.testing.assert_close(result.exported_program.module()(x), net(x), rtol=1e-5, atol=1e-5)


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.a(x)
        return y + self.b(x), y


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.add(self.a(x), self.b(x), alpha=2)


class Apart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a(x) + self.b(x * 2)


@pytest.mark.parametrize(
    "net",
    [
        Shared(),
        Scaled(),
        Apart(),
        Branches(nn.Conv2d(2, 2, (3, 1), padding=(1, 0)), nn.Conv2d(2, 2, (1, 3), padding=(0, 1))),
        Branches(nn.Conv2d(2, 2, 3, padding=2, dilation=2), nn.Conv2d(2, 2, 3, padding=1)),
        Branches(nn.Conv2d(2, 2, 1), nn.Conv2d(2, 2, 1, groups=2)),
        Branches(nn.ConvTranspose2d(2, 2, 1), nn.ConvTranspose2d(2, 2, 1)),
        Branches(norm(2), norm(2)),
    ],
    ids="shared scaled apart across dilated grouped transposed norms".split(),
)
def test_other_sums_stay(net: nn.Module) -> None:
    program = edge_of(net.eval(), torch.randn(1, 2, 6, 6))
    assert not MergeBranchesPass()(program).modified


@pytest.mark.parametrize("partitioner", [None, []], ids=["plan", "kernels"])
def test_compiled(partitioner: list[Partitioner] | None) -> None:
    make, shape = CASES["a depthwise MobileOne block"]
    net, x = make().eval(), torch.randn(shape)
    program = rushlight.compile(net, (x,), partitioner=partitioner)
    result = torch.as_tensor(rushlight.load(program.buffer)(x))
    with torch.no_grad():
        torch.testing.assert_close(result, net(x), rtol=1e-5, atol=2e-5)
