"""Passes over one graph, each as Before / Expected."""

from __future__ import annotations

import pytest
import torch

from rushlight.ir import meta
from rushlight.passes.base import PassResult, run_passes
from rushlight.passes.dead_code import RemoveDeadCode
from rushlight.passes.debug_handles import GiveDebugHandles
from rushlight.passes.functional_views import FunctionalViews
from rushlight.passes.legalize_dim_order import LegalizeDimOrder
from rushlight.passes.promote_dtypes import PromoteDtypes
from rushlight.passes.prune_empty_cat import PruneEmptyCat
from rushlight.passes.remove_asserts import METADATA_ASSERTS, RemoveAsserts
from rushlight.passes.remove_noops import RemoveNoopConversions, RemoveNoopSlices
from rushlight.passes.scalar_to_tensor import ScalarToTensor
from rushlight.passes.simplify_permutes import SimplifyPermutes

aten = torch.ops.aten


def apply(graph_pass, module):
    result = graph_pass(module)
    assert isinstance(result, PassResult)
    result.graph_module.graph.lint()
    return result


def test_scalar_to_tensor(build, calls):
    x = build.input("x", 2, 3)
    y = build.call(aten.mul.Tensor, x, 2.5)
    z = build.call(aten.add.Tensor, y, 1, alpha=2)
    result = apply(ScalarToTensor(), build.finish(z))
    assert result.modified
    constants = [node for node in result.graph_module.graph.nodes if node.op == "get_attr"]
    assert [getattr(result.graph_module, node.target).dtype for node in constants] == [
        torch.float32,
        torch.int64,
    ]
    assert [node.args[1].op for node in result.graph_module.graph.nodes if node.op == "call_function"] == [
        "get_attr",
        "get_attr",
    ]
    assert z.kwargs == {"alpha": 2}  # a Scalar stays a number
    assert not apply(ScalarToTensor(), result.graph_module).modified


def test_promote_dtypes(build, calls):
    x, n = build.input("x", 2, 3), build.input("n", 2, 3, dtype=torch.int32)
    total = build.call(aten.add.Tensor, x, n)
    same = build.call(aten.mul.Tensor, x, x)
    quotient = build.call(aten.div.Tensor, n, n)
    result = apply(PromoteDtypes(), build.finish(total, same, quotient))
    assert calls(result.graph_module) == [
        "_to_copy.default",
        "add.Tensor",
        "mul.Tensor",
        "_to_copy.default",
        "_to_copy.default",
        "div.Tensor",
    ]
    assert {meta.get_val(node).dtype for node in result.graph_module.graph.nodes if "copy" in node.name} == {
        torch.float32
    }


def test_functional_views(build, calls):
    x = build.input("x", 2, 3)
    p = build.call(aten.permute.default, x, [1, 0])
    r = build.call(aten.relu.default, p)
    parts = build.call(aten.split_with_sizes.default, r, [1, 2])
    first = build.item(parts, 0)
    module = build.finish(first)
    assert meta.get_val(r).stride() == (1, 3)
    result = apply(FunctionalViews(), module)
    assert calls(result.graph_module) == [
        "permute_copy.default",
        "relu.default",
        "split_with_sizes_copy.default",
        "getitem",
    ]
    assert [meta.get_val(node).stride() for node in (p, r, first)] == [(2, 1)] * 3


def test_results_of_no_memory_format_become_row_major(build, calls):
    x, state = build.input("x", 2, 3, 5), build.input("state", 1, 2, 4)
    weights = [build.input(f"w{i}", *shape) for i, shape in enumerate([(16, 5), (16, 4), (16,), (16,)])]
    lstm = build.call(aten.lstm.input, x, [state, state], weights, True, 1, 0.0, False, False, True)
    output = build.item(lstm, 0)
    half = build.call(aten._to_copy.default, output, dtype=torch.float16)
    last = build.call(aten.relu.default, build.input("image", 1, 3, 2, 2, memory_format=torch.channels_last))
    module = build.finish(half, last)
    assert meta.get_val(half).stride() == (4, 8, 1)
    apply(FunctionalViews(), module)
    assert meta.get_val(output).stride() == meta.get_val(half).stride() == (12, 4, 1)
    assert meta.get_val(last).stride() == (12, 1, 6, 3)


def test_remove_noop_slices(build, calls):
    x = build.input("x", 4, 3)
    whole = build.call(aten.slice_copy.Tensor, x, 0, 0, 9223372036854775807)
    part = build.call(aten.slice_copy.Tensor, whole, 0, 1, 3)
    result = apply(RemoveNoopSlices(), build.finish(part))
    assert calls(result.graph_module) == ["slice_copy.Tensor"] and part.args[0] is x


def test_remove_noop_conversions(build, calls):
    x = build.input("x", 4, 3)
    same = build.call(aten._to_copy.default, x, dtype=torch.float32)
    half = build.call(aten._to_copy.default, same, dtype=torch.float16)
    result = apply(RemoveNoopConversions(), build.finish(half))
    assert calls(result.graph_module) == ["_to_copy.default"] and half.args[0] is x


def test_prune_empty_cat(build, calls):
    x, empty = build.input("x", 2, 3), build.input("empty", 0, 3)
    some = build.call(aten.cat.default, [x, empty, x])
    none = build.call(aten.cat.default, [empty, empty])
    module = build.finish(some, none)
    result = apply(PruneEmptyCat(), module)
    assert some.args[0] == [x, x]
    assert calls(result.graph_module) == ["cat.default", "full.default"]


def test_prune_empty_cat_leaves_sizes_that_are_not_known():
    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.cat([x, x], 1)

    batch = torch.export.Dim("batch", min=1, max=8)
    program = torch.export.export(Net(), (torch.ones(0, 3, 2),), dynamic_shapes=({1: batch},))
    cats = [node for node in program.graph.nodes if node.target is aten.cat.default]
    assert not PruneEmptyCat()(program.graph_module).modified
    assert [node for node in program.graph.nodes if node.target is aten.cat.default] == cats


def test_remove_asserts(build, calls):
    x = build.input("x", 2, dtype=torch.bool)
    build.graph.call_function(aten._assert_tensor_metadata.default, (x,))
    build.graph.call_function(aten._assert_async.msg, (x, "must hold"))
    y = build.call(aten.logical_not.default, x)
    module = build.finish(y)
    assert calls(apply(RemoveAsserts(METADATA_ASSERTS), module).graph_module) == [
        "_assert_async.msg",
        "logical_not.default",
    ]
    assert calls(apply(RemoveAsserts(), module).graph_module) == ["logical_not.default"]


def test_remove_dead_code(build, calls):
    x = build.input("x", 2)
    build.call(aten.relu.default, build.call(aten.neg.default, x))
    build.graph.call_function(aten._assert_async.msg, (x, "an effect stays"))
    result = apply(RemoveDeadCode(), build.finish(x))
    assert calls(result.graph_module) == ["_assert_async.msg"]
    assert not apply(RemoveDeadCode(), result.graph_module).modified


def test_debug_handles_are_shared_by_origin(build):
    x = build.input("x", 2)
    nodes = [build.call(aten.neg.default, x) for _ in range(3)]
    for node, origin in zip(nodes, ("linear", "linear", "relu"), strict=True):
        meta.set_origin(node, origin)
    apply(GiveDebugHandles(), build.finish(*nodes))
    assert [meta.get_debug_handle(node) for node in nodes] == [1, 1, 2]
    meta.set_debug_handle(nodes[0], 9)
    nodes[2].meta.pop("debug_handle")
    GiveDebugHandles()(nodes[0].graph.owning_module)
    assert [meta.get_debug_handle(node) for node in nodes] == [9, 1, 10]


def test_legalize_dim_order(build, calls):
    from rushlight.ir.edge_ops import ops

    x = build.input("x", 1, 3, 4, 4, memory_format=torch.channels_last)
    y = build.input("y", 1, 3, 4, 4)
    means = [build.call(ops.edge.aten.mean.dim, value, [-1, -2], True) for value in (x, y)]
    result = apply(LegalizeDimOrder(), build.finish(*means))
    assert calls(result.graph_module) == ["dim_order_ops._to_dim_order_copy.default", "mean.dim", "mean.dim"]
    assert means[0].args[0].kwargs == {"dim_order": [0, 1, 2, 3]}


def test_simplify_permutes(build, calls):
    from rushlight.ir.edge_ops import ops

    permute = ops.edge.aten.permute_copy.default
    x, thin = build.input("x", 2, 3, 4), build.input("thin", 1, 1, 8)
    twice = build.call(permute, build.call(permute, x, [1, 2, 0]), [2, 1, 0])
    moved = build.call(permute, thin, [2, 0, -2])
    result = apply(SimplifyPermutes(), build.finish(twice, moved))
    assert twice.args == (x, [0, 2, 1])
    assert moved.target is ops.edge.aten.view_copy.default and moved.args == (thin, [8, 1, 1])
    x_value = torch.randn(2, 3, 4)
    thin_value = torch.randn(1, 1, 8)
    out = result.graph_module(x_value, thin_value)
    torch.testing.assert_close(out[0], x_value.permute(1, 2, 0).permute(2, 1, 0))
    torch.testing.assert_close(out[1], thin_value.permute(2, 0, 1))


def test_a_pass_that_returns_nothing_is_named(build):
    from rushlight.ir.errors import PassError

    def forgetful(module):
        return None

    with pytest.raises(PassError, match="forgetful returned None"):
        run_passes(build.finish(build.input("x", 1)), [forgetful])
