"""Operators whose inputs are all constants are computed ahead of time."""

from __future__ import annotations

from typing import Any

import torch
from tests.passes.support import apply_to_program, calls, edge_of

from rushlight.compiler.edge import to_edge
from rushlight.ir.program import copy_program
from rushlight.passes.fold_constants import FoldConstantsPass


def test_fold_constants() -> None:
    net = torch.nn.Linear(40, 50)
    x = torch.randn(3, 40)
    program = edge_of(net, x)
    assert calls(program.graph_module) == ["permute_copy.default", "addmm.default"]
    folded = apply_to_program(FoldConstantsPass(), program).exported_program
    assert calls(folded.graph_module) == ["addmm.default"]
    name = next(name for name in folded.state_dict if name.startswith("_folded_tensor_constant"))
    torch.testing.assert_close(folded.state_dict[name], net.weight.t().detach())
    torch.testing.assert_close(folded.module()(x), net(x))


class Wide(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.row = torch.nn.Buffer(torch.randn(1, 64))
        self.weight = torch.nn.Parameter(torch.randn(64, 64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = self.row.expand(64, 64).clone()
        return x @ self.weight.t() + wide + self.weight


def test_constants_that_would_grow_the_file_are_not_folded() -> None:
    program = edge_of(Wide(), torch.randn(64, 64))
    names = calls(apply_to_program(FoldConstantsPass(), program).exported_program.graph_module)
    assert "expand_copy.default" in names  # a result of 16 KiB from 256 bytes
    assert "permute_copy.default" in names  # another node also reads the weight


def test_written_buffers_are_no_constants(export_case: Any) -> None:
    program = copy_program(to_edge(export_case("counter")).exported_program())
    before = calls(program.graph_module).count("add.Tensor")
    result = FoldConstantsPass()(program)
    assert calls(result.exported_program.graph_module).count("add.Tensor") == before


class ChannelsLast(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Buffer(torch.randn(1, 3, 4, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.weight.to(memory_format=torch.channels_last)


def test_a_folded_constant_keeps_its_layout() -> None:
    """A delegate that reads the constant was compiled for this layout."""
    net, x = ChannelsLast(), torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last)
    folded = apply_to_program(FoldConstantsPass(), edge_of(net, x)).exported_program
    assert calls(folded.graph_module) == ["add.Tensor"]
    (name,) = [name for name in folded.state_dict if name.startswith("_folded_tensor_constant")]
    assert folded.state_dict[name].is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(folded.module()(x), net(x))
