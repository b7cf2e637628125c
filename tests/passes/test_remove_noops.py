"""Whole slices and conversions to the same dtype leave the graph."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply, calls

from rushlight.passes.remove_noops import RemoveNoopConversions, RemoveNoopSlices

aten = torch.ops.aten


def test_remove_noop_slices() -> None:
    build = Build()
    x = build.input("x", 4, 3)
    whole = build.call(aten.slice_copy.Tensor, x, 0, 0, 9223372036854775807)
    part = build.call(aten.slice_copy.Tensor, whole, 0, 1, 3)
    module = apply(RemoveNoopSlices(), build.finish(part)).graph_module
    assert calls(module) == ["slice_copy.Tensor"]
    value = torch.randn(4, 3)
    assert torch.equal(module(value)[0], value[1:3])


def test_remove_noop_conversions() -> None:
    build = Build()
    x = build.input("x", 4, 3)
    same = build.call(aten._to_copy.default, x, dtype=torch.float32)
    half = build.call(aten._to_copy.default, same, dtype=torch.float16)
    module = apply(RemoveNoopConversions(), build.finish(half)).graph_module
    assert calls(module) == ["_to_copy.default"]
    assert module(torch.ones(4, 3))[0].dtype == torch.float16
