"""Empty tensors are removed from concatenations."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply, calls

from rushlight.passes.prune_empty_cat import PruneEmptyCatPass

aten = torch.ops.aten


def test_prune_empty_cat() -> None:
    build = Build()
    x, empty = build.input("x", 2, 3), build.input("empty", 0, 3)
    some = build.call(aten.cat.default, [x, empty, x])
    none = build.call(aten.cat.default, [empty, empty])
    module = apply(PruneEmptyCatPass(), build.finish(some, none)).graph_module
    assert calls(module) == ["cat.default", "full.default"]
    cat = next(node for node in module.graph.nodes if node.target is aten.cat.default)
    assert [part.name for part in cat.args[0]] == ["x", "x"]
    value = torch.randn(2, 3)
    joined, nothing = module(value, torch.empty(0, 3))
    assert torch.equal(joined, torch.cat([value, value])) and nothing.shape == (0, 3)


def test_sizes_that_are_not_known_stay() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([x, x], 1)

    batch = torch.export.Dim("batch", min=1, max=8)
    program = torch.export.export(Net(), (torch.ones(0, 3, 2),), dynamic_shapes=({1: batch},))
    cats = [node for node in program.graph.nodes if node.target is aten.cat.default]
    assert not apply(PruneEmptyCatPass(), program.graph_module).modified
    assert [node for node in program.graph.nodes if node.target is aten.cat.default] == cats


def test_the_result_keeps_the_dtype_of_an_empty_part() -> None:
    build = Build()
    x = build.input("x", 3, dtype=torch.float16)
    empty = build.input("empty", 0)
    module = apply(PruneEmptyCatPass(), build.finish(build.call(aten.cat.default, [x, empty]))).graph_module
    assert calls(module) == ["_to_copy.default", "cat.default"]
    value = torch.randn(3).half()
    (joined,) = module(value, torch.empty(0))
    assert joined.dtype == torch.float32 and torch.equal(joined, torch.cat([value, torch.empty(0)]))
