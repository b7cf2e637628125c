"""Unused nodes are removed."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply, calls

from rushlight.passes.remove_dead_code import RemoveDeadCodePass

aten = torch.ops.aten


def test_remove_dead_code() -> None:
    build = Build()
    x = build.input("x", 2)
    build.call(aten.relu.default, build.call(aten.neg.default, x))
    build.graph.call_function(aten._assert_async.msg, (x, "an effect stays"))
    result = apply(RemoveDeadCodePass(), build.finish(x))
    assert calls(result.graph_module) == ["_assert_async.msg"]
    assert not apply(RemoveDeadCodePass(), result.graph_module).modified
