"""Assertions of the exporter are removed."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply, calls

from rushlight.passes.remove_asserts import METADATA_ASSERTS, RemoveAssertsPass

aten = torch.ops.aten


def test_remove_asserts() -> None:
    build = Build()
    x = build.input("x", 2, dtype=torch.bool)
    build.graph.call_function(aten._assert_tensor_metadata.default, (x,))
    build.graph.call_function(aten._assert_async.msg, (x, "must hold"))
    y = build.call(aten.logical_not.default, x)
    module = apply(RemoveAssertsPass(METADATA_ASSERTS), build.finish(y)).graph_module
    assert calls(module) == ["_assert_async.msg", "logical_not.default"]
    assert calls(apply(RemoveAssertsPass(), module).graph_module) == ["logical_not.default"]
