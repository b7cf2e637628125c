"""Views become copies, and the new layouts are propagated through the graph."""

from __future__ import annotations

import torch
from tests.passes.support import Build, apply, calls

import rushlight
from rushlight.ir import meta
from rushlight.passes.functional_views import FunctionalViewsPass, copy_form

aten = torch.ops.aten


def test_functional_views() -> None:
    build = Build()
    x = build.input("x", 2, 3)
    p = build.call(aten.permute.default, x, [1, 0])
    r = build.call(aten.relu.default, p)
    parts = build.call(aten.split_with_sizes.default, r, [1, 2])
    first = build.item(parts, 0)
    module = build.finish(first)
    assert meta.get_val(r).stride() == (1, 3)
    module = apply(FunctionalViewsPass(), module).graph_module
    assert calls(module) == [
        "permute_copy.default",
        "relu.default",
        "split_with_sizes_copy.default",
        "getitem",
    ]
    computed = [node for node in module.graph.nodes if node.op == "call_function"]
    assert [meta.get_val(node).stride() for node in computed if node.name != parts.name] == [(2, 1)] * 3


def test_assertions_have_no_result_to_move() -> None:
    build = Build()
    x = build.input("x", 2, 3)
    build.graph.call_function(aten._assert_async.msg, (x, "must hold"))
    p = build.call(aten.permute.default, x, [1, 0])
    module = apply(FunctionalViewsPass(), build.finish(p)).graph_module
    assert calls(module) == ["_assert_async.msg", "permute_copy.default"]


def test_results_of_no_memory_format_become_row_major() -> None:
    build = Build()
    x, state = build.input("x", 2, 3, 5), build.input("state", 1, 2, 4)
    weights = [build.input(f"w{i}", *shape) for i, shape in enumerate([(16, 5), (16, 4), (16,), (16,)])]
    lstm = build.call(aten.lstm.input, x, [state, state], weights, True, 1, 0.0, False, False, True)
    output = build.item(lstm, 0)
    half = build.call(aten._to_copy.default, output, dtype=torch.float16)
    last = build.call(aten.relu.default, build.input("image", 1, 3, 2, 2, memory_format=torch.channels_last))
    module = build.finish(half, last)
    assert meta.get_val(half).stride() == (4, 8, 1)
    moved = {node.name: node for node in apply(FunctionalViewsPass(), module).graph_module.graph.nodes}
    strides = [meta.get_val(moved[node.name]).stride() for node in (output, half, last)]
    assert strides == [(12, 4, 1), (12, 4, 1), (12, 1, 6, 3)]


def test_operators_that_make_no_view_have_no_copy_form() -> None:
    assert copy_form(aten.view.default) is aten.view_copy.default
    assert copy_form(aten.relu.default) is None
    assert copy_form(aten.relu_.default) is None  # the operator returns the tensor to which it writes


def test_selections_by_the_same_mask_keep_the_same_size() -> None:
    class Selections(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            first, second = x[mask], y.permute(1, 0).exp()[mask]
            return torch.where(first > 0, first, second)

    inputs = torch.randn(6, 3), torch.randn(3, 6), torch.tensor([True, False, True, True, False, True])
    program = rushlight.compile(Selections(), inputs, partitioner=())
    torch.testing.assert_close(rushlight.load(program)(*inputs), Selections()(*inputs))
