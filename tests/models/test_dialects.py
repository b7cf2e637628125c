"""Programs in every dialect of torch.export compile, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.export import ExportedProgram, export

from rushlight.exir import EdgeCompileConfig, to_edge
from rushlight.runtime import Runtime


class Net(torch.nn.Module):
    """In-place operators, writes to views, normalization with state, a mutable buffer."""

    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv1d(3, 4, 3)
        self.norm = torch.nn.BatchNorm1d(4)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        y = self.norm(self.conv(x)).relu_()
        y[:, 0].mul_(2).sub_(self.calls)
        y.transpose(1, 2)[0, 1:].fill_(0.25)
        return torch.nn.functional.hardswish(y).flatten(1)


def training(module: torch.nn.Module, inputs: tuple[Any, ...]) -> ExportedProgram:
    """Returns the result of torch.export: any ATen operator, with mutations."""
    return export(module, inputs)


def strict(module: torch.nn.Module, inputs: tuple[Any, ...]) -> ExportedProgram:
    return export(module, inputs, strict=True)


def autograd_safe(module: torch.nn.Module, inputs: tuple[Any, ...]) -> ExportedProgram:
    """Returns a program that was captured before autograd."""
    from torch.export._trace import _export

    return _export(module, inputs, {}, pre_dispatch=True)


def functional(module: torch.nn.Module, inputs: tuple[Any, ...]) -> ExportedProgram:
    """Returns a program without mutations, in which autograd has decomposed operators."""
    return export(module, inputs).run_decompositions({})


def core(module: torch.nn.Module, inputs: tuple[Any, ...]) -> ExportedProgram:
    return export(module, inputs).run_decompositions()


DIALECTS = [training, strict, autograd_safe, functional, core]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda f: f.__name__)
def test_same_results(dialect: Callable[..., ExportedProgram]) -> None:
    torch.manual_seed(0)
    module, inputs = Net().eval(), (torch.randn(2, 3, 6),)
    buffer = to_edge(dialect(module, inputs)).to_executorch().buffer
    method = Runtime.get().load_program(buffer).load_method("forward")
    with torch.no_grad():
        for _ in range(3):  # the counter is kept between calls
            torch.testing.assert_close(method.execute(inputs)[0], module(*inputs))


@pytest.mark.parametrize("dialect", [training, autograd_safe, functional], ids=lambda f: f.__name__)
def test_preserved_operators_stay_whole(dialect: Callable[..., ExportedProgram]) -> None:
    op = torch.ops.aten.hardswish.default
    program = dialect(Net().eval(), (torch.randn(2, 3, 6),))
    edge = to_edge(program, compile_config=EdgeCompileConfig(preserve_ops=[op]))
    calls = [str(node.target) for node in edge.exported_program().graph.nodes]
    assert any("aten_hardswish_default" in name or "aten.hardswish.default" in name for name in calls)
