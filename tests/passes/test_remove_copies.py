"""Copies without an effect are removed."""

from __future__ import annotations

import torch
from tests.passes.support import apply_to_program, calls, edge_of

from rushlight.passes.remove_copies import RemoveCopiesPass


class Copies(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(x.clone()).contiguous()
        return torch.neg(torch.nn.functional.dropout(y, 0.5, False)), x.clone()


class Before(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state = torch.nn.Buffer(torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.state.clone()
        self.state.add_(x)
        return before


def test_remove_copies() -> None:
    x = torch.randn(2, 3)
    program = apply_to_program(RemoveCopiesPass(), edge_of(Copies(), x)).exported_program
    # An output must not be an input.
    assert calls(program.graph_module) == [
        "relu.default",
        "neg.default",
        "dim_order_ops._clone_dim_order.default",
    ]
    torch.testing.assert_close(program.module()(x), (-torch.relu(x), x))


def test_copies_of_written_buffers_stay() -> None:
    assert not RemoveCopiesPass()(edge_of(Before(), torch.ones(3))).modified
