"""Passes of the user over an exported program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tests.passes.support import calls, edge_of
from torch.fx import GraphModule
from torch.fx.passes.infra.pass_base import PassResult

from rushlight.ir.edge_ops import ops
from rushlight.passes.pass_manager import ExportedProgramPassManager, PassManager
from rushlight.passes.transform import transform_program

Pass = Callable[[GraphModule], PassResult | None]


def relu_to_neg(module: GraphModule) -> PassResult:
    found = [node for node in module.graph.nodes if node.target is ops.edge.aten.relu.default]
    for node in found:
        node.target = ops.edge.aten.neg.default
    module.recompile()
    return PassResult(module, bool(found))


def test_lists_and_managers_of_passes_do_the_same() -> None:
    x = torch.tensor([-1.0, 2.0])
    passes: list[Pass] = [relu_to_neg]
    ways: list[Any] = [passes, PassManager(passes), ExportedProgramPassManager(passes)]
    for way in ways:
        changed = transform_program(edge_of(torch.nn.ReLU(), x), way)
        assert calls(changed.graph_module) == ["neg.default"]
        torch.testing.assert_close(changed.module()(x), -x)


def test_a_manager_that_changes_nothing_gives_the_program_itself() -> None:
    program = edge_of(torch.nn.Sigmoid(), torch.ones(2))
    passes: list[Pass] = [relu_to_neg]
    assert transform_program(program, PassManager(passes)) is program
