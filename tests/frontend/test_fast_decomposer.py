"""Bodies of control flow that write their operands agree with eager mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import rushlight
from rushlight.frontend.decompose import why_general
from rushlight.ir.errors import ExportError


class Stateful(nn.Module):
    total: torch.Tensor
    place: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("place", torch.zeros(1, dtype=torch.int64))


class Branch(Stateful):
    """One branch writes a part of a buffer, the other one writes another buffer."""

    def forward(self, x: Any) -> Any:
        def yes(x: Any) -> Any:
            self.total[1:].add_(x[0])
            return self.total * 2

        def no(x: Any) -> Any:
            self.place.add_(1)
            return x.clone()

        return torch.cond(x.sum() > 0, yes, no, (x,)), self.total, self.place


class Nested(Stateful):
    def forward(self, x: Any) -> Any:
        def yes(x: Any) -> Any:
            def inner(x: Any) -> Any:
                self.total.copy_(x)
                return x + 1

            return torch.cond(x.sum() > 2, inner, lambda x: x - 1, (x,))

        return torch.cond(x.sum() > 0, yes, lambda x: x * 2, (x,)), self.total


class View(nn.Module):
    """The operand is a view with gaps. Its base is read afterwards."""

    def forward(self, x: Any) -> Any:
        y = torch.stack([x, x, x], 1)
        v = y[:, ::2]

        def yes(v: Any) -> Any:
            v.add_(10)
            return v * 2

        z = torch.cond(x.sum() > 0, yes, lambda v: v * 3, (v,))
        v.mul_(2)
        return z, y, v


class Transposed(nn.Module):
    def forward(self, x: Any) -> Any:
        y = torch.stack([x, x + 1]).t().clone()

        def yes(y: Any) -> Any:
            return y.add_(1).sum()

        z = torch.cond(x.sum() > 0, yes, lambda y: y.mean(), (y,))
        return y, z, y.contiguous()


class Loop(Stateful):
    """The body of a loop writes the second of three additional operands."""

    def forward(self, x: Any) -> Any:
        before, after = x + 1, x + 2

        def step(i: Any, y: Any) -> Any:
            self.total.add_(y * after)
            return i + 1, y + before

        i, y = torch.while_loop(lambda i, y: i < 3, step, (torch.tensor(0), x))
        return i, y, self.total


class BranchInLoop(Stateful):
    def forward(self, x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            def yes(y: Any) -> Any:
                self.total.add_(y)
                return y - 1

            return i + 1, torch.cond(y.sum() > 0, yes, lambda y: y + 2, (y,))

        i, y = torch.while_loop(lambda i, y: (i < 4) & (self.total[0] < 5), step, (torch.tensor(0), x))
        return i, y, self.total


def _branch(condition: Any, yes: Any, no: Any, operands: Any) -> Any:
    return yes(*operands) if condition else no(*operands)


def _loop(condition: Any, body: Any, carried: Any) -> Any:
    while condition(*carried):
        carried = body(*carried)
    return carried


@pytest.mark.parametrize("module", [Branch, Nested, View, Transposed, Loop, BranchInLoop])
def test_bodies_write_their_operands(module: type[nn.Module], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [torch.tensor([1.0, 2.0, -0.5]), torch.tensor([-1.0, 0.5, 0.25]), torch.tensor([0.5, 1.0, -1.0])]
    with torch.no_grad():  # torch allows writes in bodies without gradients alone
        program = torch.export.export(module(), (calls[0],))
    assert why_general(program) is None
    compiled = rushlight.load(rushlight.compile(program))
    with monkeypatch.context() as patch:
        patch.setattr(torch, "cond", _branch)
        patch.setattr(torch, "while_loop", _loop)
        eager = module()
        for x in calls:
            torch.testing.assert_close(compiled(x), eager(x))


class TwoOperands(nn.Module):
    def forward(self, x: Any) -> Any:
        y = x.clone()
        return torch.cond(x.sum() > 0, lambda a, b: a.add_(1) + b, lambda a, b: a - b, (y, y[:])), y


class CarriedValue(nn.Module):
    def forward(self, x: Any) -> Any:
        y = x.clone()
        carried = (torch.tensor(0), y)
        return torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y.add_(1) * 1), carried), y


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (TwoOperands, r"cond.* from .*test_fast_decomposer.py.*: a body writes to operand 0.*clone\(\)"),
        (CarriedValue, r"while_loop.* from .*test_fast_decomposer.py.*: .*clone\(\) of this value"),
    ],
)
def test_writes_of_bodies_that_are_refused(module: type[nn.Module], message: str) -> None:
    with torch.no_grad():
        program = torch.export.export(module(), (torch.ones(3),))
    with pytest.raises(ExportError, match=message):
        rushlight.compile(program)
