"""The values from which plans compute their sizes at run time."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
import torch
from torch.export import Dim
from torch.utils._sympy.functions import FloorDiv

import rushlight
from rushlight.backends.cpu.plan.bindings import Binding, Bindings, expresses

S, T = sympy.symbols("s t", integer=True, nonnegative=True)
QUOTIENT = FloorDiv(S, 16)


def solved(*sizes: Any) -> Any:
    return [
        (b.unknown, b.factor, b.shift, source)
        for b, source in Bindings().solve(zip(sizes, "abcd", strict=False))
    ]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([4], []),
        ([S - 1, 3 * S], [(S, 3, 0, "b")]),
        ([S], [(S, 1, 0, "a")]),
        ([2 * S + 3, S], [(S, 2, 3, "a")]),
        ([QUOTIENT + 1], [(QUOTIENT, 1, 1, "a")]),
        ([QUOTIENT + 1, S], [(S, 1, 0, "b")]),
        ([S * T, S], [(S, 1, 0, "b"), (S * T, 1, 0, "a")]),
    ],
)
def test_unknowns(sizes: Any, expected: Any) -> None:
    assert solved(*sizes) == expected


def test_what_follows() -> None:
    assert expresses([QUOTIENT + 1], [(1, 65 * QUOTIENT + 65)])
    assert not expresses([QUOTIENT + 1], [(S,)])
    assert not expresses([4], [(S,)])
    bindings = Bindings()
    assert list(bindings.solve([(S, 0)])) == [(Binding(S, 1, 0), 0)]
    assert bindings.knows(QUOTIENT) and not bindings.knows(T)


class Frames(torch.nn.Module):
    """A size of the only argument of the plan is a quotient."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(9, 5)

    def forward(self, wave: torch.Tensor) -> torch.Tensor:
        spectrum = torch.fft.rfft(wave.unfold(-1, 16, 4)).abs()
        return self.linear(spectrum).relu().softmax(-1)


class Written(torch.nn.Module):
    """A buffer that the model changes is not a weight."""

    state: torch.Tensor
    step: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(3))
        self.register_buffer("step", torch.randn(3, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        moved = self.step @ self.state
        self.state.add_(x)
        return moved


class Complex(torch.nn.Module):
    """Constants with a dtype that plans do not support are read outside the plans."""

    filter: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("filter", torch.randn(1, 5, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        filtered = torch.fft.rfft(x) * torch.view_as_complex(self.filter).squeeze(0)
        return torch.fft.irfft(filtered, 8).relu().softmax(-1)


class LateWeight(torch.nn.Module):
    """The weight of a convolution is computed from values that could be in an earlier part."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 1, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.linalg.solve(torch.eye(4), x.relu().softmax(-1))
        weight = self.weight.squeeze(1).unsqueeze(1)
        return torch.nn.functional.conv1d(y[None], weight, groups=4).relu()


def test_weights_stand_with_what_they_follow_from() -> None:
    module, x = LateWeight().eval(), torch.randn(4, 8)
    compiled = rushlight.compile(module, (x,))
    plan = compiled.manager.executorch_program.execution_plan[0]
    assert len(plan.delegates) == 2
    assert not any(op.name == "aten::convolution" for op in plan.operators)
    torch.testing.assert_close(rushlight.load(compiled.buffer)(x), module(x), rtol=1e-4, atol=1e-5)


def test_a_quotient_of_a_size() -> None:
    module = Frames().eval()
    program = torch.export.export(
        module, (torch.randn(1, 40),), dynamic_shapes=({1: Dim.AUTO(min=16, max=80)},)
    )
    compiled = rushlight.load(rushlight.compile(program).buffer)
    for length in (20, 23, 77, 80):
        wave = torch.randn(1, length)
        torch.testing.assert_close(compiled(wave), module(wave), rtol=1e-4, atol=1e-5)


class Rescaled(torch.nn.Module):
    """A parameter that the model changes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.linear.weight.div_(2)
        return self.linear(x).relu().softmax(-1)


@pytest.mark.parametrize(("module", "size"), [(Written(), 3), (Rescaled(), 3), (Complex(), (2, 8))])
@torch.no_grad()
def test_what_is_no_constant_of_a_plan(module: Any, size: Any) -> None:
    x = torch.randn(size)
    compiled = rushlight.load(rushlight.compile(module, (x,)).buffer)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), module(x))


def test_an_argument_whose_size_would_be_negative_is_empty() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            wide = torch.repeat_interleave(x.expand(8, -1), 3, dim=-1)
            return torch.diff(torch.cummax(wide, 0)[0], dim=-1) <= 0.5

    program = torch.export.export(
        Model(), (torch.randn(3),), dynamic_shapes={"x": {0: Dim("size", min=0, max=5)}}
    )
    module = rushlight.load(rushlight.compile(program).buffer)
    for size in (0, 1, 5):
        x = torch.randn(size)
        torch.testing.assert_close(module(x), Model()(x))
