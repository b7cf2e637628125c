"""Passes over permutes change the graph as described, and do not change results."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.compat.test_transforms import built, counts, edge_program
from torch.export import Dim, export
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase

from rushlight.compat.transforms import channels_last as layout
from rushlight.compat.transforms import permute_chains as chains
from rushlight.compat.transforms import view_permutes as canonical
from rushlight.compat.transforms.identical_inputs import (
    FuseIdenticalInputTransformsPass,
    NormalizeTransformInputPlaceholdersPass,
)
from rushlight.compat.transforms.permute_regions import RemovePermutesAroundElementwiseOpsPass
from rushlight.compat.transforms.propagation import (
    PropagateViewCopyPermuteDownPass,
    PropagateViewCopyPermuteUpPass,
)
from rushlight.compat.transforms.views import CollapseViewCopyPass
from rushlight.exir import to_edge
from rushlight.ir.edge_ops import ops
from rushlight.testing.graph_builder import GraphBuilder

edge, qd = ops.edge.aten, ops.edge.quantized_decomposed
PERMUTE, VIEW, TRANSPOSE = edge.permute_copy.default, edge.view_copy.default, edge.transpose_copy.int
CUBE = torch.randn(2, 3, 4)
IMAGE = torch.randn(1, 3, 4, 5)

Function = Callable[[Any, Any], Any]


def rewritten(rewriting: PassBase, function: Callable[..., Any], *inputs: torch.Tensor) -> dict[str, int]:
    """Runs a pass in place, requires equal results, and returns the counts of operators after it."""
    module = graph_of(function, *inputs)
    before = copy.deepcopy(module)
    result = rewriting(module)
    assert result is not None and result.graph_module is module
    module.graph.lint()
    torch.testing.assert_close(module(*inputs), before(*inputs))
    for node in module.graph.nodes:
        if node.op == "call_function":
            expected = node.target(*[_zeros(item) for item in node.args], **node.kwargs)
            assert node.meta["val"].shape == expected.shape, node
    changed = counts(module) != counts(before)
    assert result.modified or not changed
    again = rewriting(module)
    assert again is not None and not again.modified
    return counts(module)


def _zeros(value: Any) -> Any:
    if isinstance(value, list):
        return [_zeros(item) for item in value]
    if not isinstance(value, Node):
        return value
    tensor = value.meta["val"]
    return torch.zeros(tensor.shape, dtype=tensor.dtype)


def graph_of(function: Callable[..., Any], *inputs: torch.Tensor) -> GraphModule:
    """Returns the graph of a function, whose arguments are a caller of operators and the inputs."""

    def write(builder: GraphBuilder, *values: Any) -> Any:
        return function(builder.call_operator, *values)

    return built(write, *inputs)


def two_permutes(call: Any, x: Any) -> Any:
    return call(PERMUTE, (call(TRANSPOSE, (x, 0, 1)), [1, 0, 2]))


def across_a_view(call: Any, x: Any) -> Any:
    first = call(PERMUTE, (x, [0, 2, 1]))
    return call(PERMUTE, (call(VIEW, (first, [2, 4, 1, 3])), [0, 2, 3, 1]))


def across_another_view(call: Any, x: Any) -> Any:
    first = call(PERMUTE, (x, [0, 2, 1]))
    return call(PERMUTE, (call(VIEW, (first, [4, 2, 3])), [0, 2, 1]))


@pytest.mark.parametrize(
    "function,expected",
    [
        (two_permutes, {}),
        (lambda call, x: call(PERMUTE, (call(PERMUTE, (x, [1, 2, 0])), [2, 1, 0])), {"permute_copy": 1}),
        (across_a_view, {"view_copy": 1}),
        (across_another_view, {"permute_copy": 2, "view_copy": 1}),
    ],
)
def test_fuse_cascaded_permutes(function: Any, expected: dict[str, int]) -> None:
    found = rewritten(chains.FuseCascadedTransposeOrPermuteOpsPass(), function, CUBE)
    assert {name.removeprefix("aten.").split(".")[0]: count for name, count in found.items()} == expected


def names(found: dict[str, int]) -> dict[str, int]:
    """Returns the counts by the names of operators without overloads."""
    return {name.split(".")[-2] if name.count(".") else name: count for name, count in found.items()}


def test_fuse_cascaded_permutes_keeps_the_metadata_of_the_last() -> None:
    module = built(lambda b, x: two_permutes_of(b, x), CUBE)
    last = module.graph.find_nodes(op="call_function", target=PERMUTE)[-1]
    last.meta["mark"] = "kept"
    assert chains.FuseCascadedTransposeOrPermuteOpsPass().apply_inplace(module)
    module.graph.eliminate_dead_code()
    [fused] = module.graph.find_nodes(op="call_function", target=PERMUTE)
    assert fused.meta["mark"] == "kept" and fused.args[1] == [0, 2, 1]


def two_permutes_of(builder: GraphBuilder, x: Any) -> Any:
    first = builder.call_operator(PERMUTE, (x, [1, 0, 2]))
    return builder.call_operator(PERMUTE, (first, [1, 2, 0]))


def test_permutes_that_move_no_data_become_views() -> None:
    rewriting = chains.ReplaceNopTransposeOrPermuteWithViewPass()
    image = torch.randn(1, 3, 1, 5)
    found = rewritten(rewriting, lambda call, x: call(PERMUTE, (x, [1, 0, 3, 2])), image)
    assert names(found) == {"view_copy": 1}
    found = rewritten(rewriting, lambda call, x: call(TRANSPOSE, (x, 0, -3)), image)
    assert names(found) == {"view_copy": 1}
    assert names(rewritten(rewriting, lambda call, x: call(PERMUTE, (x, [0, 1, 2, 3])), image)) == {}
    found = rewritten(rewriting, lambda call, x: call(PERMUTE, (x, [0, 3, 2, 1])), image)
    assert names(found) == {"permute_copy": 1}


def test_permutes_move_behind_views() -> None:
    def grows(call: Any, x: Any) -> Any:
        first = call(VIEW, (call(PERMUTE, (x, [0, 2, 1])), [2, 1, 4, 3]))
        return call(VIEW, (first, [2, 1, 4, 1, 3]))

    module = graph_of(grows, CUBE)
    before = copy.deepcopy(module)
    assert chains.PostponePermuteBelowSqueezeViewPass()(module).modified  # type: ignore[union-attr]
    torch.testing.assert_close(module(CUBE), before(CUBE))
    assert [node.target for node in module.graph.nodes if node.op == "call_function"] == [VIEW, VIEW, PERMUTE]

    def shrinks(call: Any, x: Any) -> Any:
        return call(VIEW, (call(PERMUTE, (x, [0, 3, 1, 2])), [5, 3, 4]))

    found = rewritten(chains.PostponePermuteBelowSqueezeViewPass(), shrinks, IMAGE)
    assert names(found) == {"view_copy": 1, "permute_copy": 1}
    same = rewritten(
        chains.PostponePermuteBelowSqueezeViewPass(),
        lambda call, x: call(VIEW, (call(PERMUTE, (x, [0, 2, 1])), [2, 4, 3])),
        CUBE,
    )
    assert names(same) == {"permute_copy": 1}


def quantized(call: Any, x: Any) -> Any:
    params = (0.1, 0, -128, 127, torch.int8)
    first = call(qd.quantize_per_tensor.default, (call(PERMUTE, (x, [0, 2, 1])), *params))
    return call(PERMUTE, (call(qd.dequantize_per_tensor.default, (first, *params)), [0, 2, 1]))


def test_permutes_around_quantization() -> None:
    found = rewritten(chains.FuseTransposeOrPermuteOpPairsPass(), quantized, CUBE)
    assert "aten.permute_copy.default" not in found and found["aten.view_copy.default"] == 1

    def branches(call: Any, x: Any) -> Any:
        first = call(PERMUTE, (x, [0, 2, 1]))
        return call(edge.add.Tensor, (call(edge.sqrt.default, (first,)), call(PERMUTE, (first, [0, 1, 2]))))

    found = rewritten(chains.FuseTransposeOrPermuteOpPairsPass(), branches, CUBE.abs())
    assert found["aten.permute_copy.default"] == 2


@pytest.mark.parametrize("rank_first", [False, True])
def test_chains_of_views_and_permutes(rank_first: bool) -> None:
    def chain(call: Any, x: Any) -> Any:
        first = call(PERMUTE, (x, [2, 0, 1]))
        second = call(VIEW, (first, [4, 1, 2, 3] if rank_first else [4, 6]))
        third = call(PERMUTE, (second, [2, 3, 0, 1] if rank_first else [1, 0]))
        return call(VIEW, (third, [2, 3, 4]))

    assert rewritten(canonical.CanonicalizeViewCopyPermutePass(), chain, CUBE) == {}


def test_views_of_one_element_rows_sink() -> None:
    def chain(call: Any, x: Any) -> Any:
        return call(PERMUTE, (call(VIEW, (x, [2, 1, 3, 4])), [0, 2, 3, 1]))

    module = graph_of(chain, CUBE)
    assert canonical.CanonicalizeViewCopyPermutePass()(module).modified  # type: ignore[union-attr]
    assert [node.target for node in module.graph.nodes if node.op == "call_function"] == [VIEW]
    torch.testing.assert_close(module(CUBE), [CUBE.reshape(2, 3, 4, 1)])


def test_canonical_chains_of_another_library() -> None:
    def chain(call: Any, x: Any) -> Any:
        return call(layout.LAYOUT_PERMUTE_COPY, (call(PERMUTE, (x, [0, 2, 3, 1])), [0, 3, 1, 2]))

    both = canonical.CanonicalizeViewCopyPermutePass(layout.PERMUTE_COPY_TARGETS)
    assert rewritten(both, chain, IMAGE) == {}
    found = rewritten(canonical.CanonicalizeViewCopyPermutePass(), chain, IMAGE)
    assert len(found) == 2


def test_dynamic_sizes_stay_dynamic() -> None:
    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x.permute(0, 2, 1).reshape(x.shape[0], 4, 1, 3).permute(0, 3, 2, 1))

    program = to_edge(export(Net(), (CUBE,), dynamic_shapes=({0: Dim("n", max=8)},))).exported_program()
    module = program.graph_module
    chains.FuseCascadedTransposeOrPermuteOpsPass()(module)
    canonical.CanonicalizeViewCopyPermutePass()(module)
    assert "aten.permute_copy.default" not in counts(module)
    for rows in (1, 5):
        x = torch.randn(rows, 3, 4)
        torch.testing.assert_close(program.module()(x), Net()(x))


def both_permuted(op: Any, *rest: Any) -> Any:
    def function(call: Any, x: Any, y: Any) -> Any:
        return call(op, (call(PERMUTE, (x, [2, 0, 1])), call(PERMUTE, (y, [2, 0, 1])), *rest))

    return function


def test_equal_permutes_of_inputs_move_behind() -> None:
    rewriting = FuseIdenticalInputTransformsPass()
    found = rewritten(rewriting, both_permuted(edge.add.Tensor), CUBE, CUBE + 1)
    assert found["aten.permute_copy.default"] == 1

    def concatenated(call: Any, x: Any, y: Any) -> Any:
        return call(edge.cat.default, ([call(PERMUTE, (x, [2, 0, 1])), call(PERMUTE, (y, [2, 0, 1]))], -1))

    found = rewritten(rewriting, concatenated, CUBE, CUBE + 1)
    assert found["aten.permute_copy.default"] == 1

    def scaled(call: Any, x: Any, y: Any) -> Any:
        return call(edge.mul.Tensor, (call(PERMUTE, (x, [2, 0, 1])), y))

    assert rewritten(rewriting, scaled, CUBE, torch.ones(1, 1, 1))["aten.permute_copy.default"] == 1
    module = graph_of(scaled, CUBE, torch.randn(4, 2, 3))
    assert not rewriting(module).modified  # type: ignore[union-attr]


def test_views_that_would_broadcast_otherwise_stay() -> None:
    def added(call: Any, x: Any, y: Any) -> Any:
        return call(edge.add.Tensor, (call(VIEW, (x, [6])), call(VIEW, (y, [6]))))

    rewriting = FuseIdenticalInputTransformsPass()
    assert rewritten(rewriting, added, torch.ones(2, 3), torch.ones(2, 3))["aten.view_copy.default"] == 1
    other = rewritten(rewriting, added, torch.ones(6, 1), torch.ones(1, 6))
    assert other["aten.view_copy.default"] == 2


def test_placeholders_for_results_get_their_names() -> None:
    program = edge_program(lambda x: torch.relu(x), CUBE)
    [node] = program.graph.find_nodes(op="placeholder")
    node.target = "aten_permute_copy_default_1"
    [spec] = program.graph_signature.input_specs
    spec.arg.name = "aten_permute_copy_default_1"  # type: ignore[union-attr]
    assert NormalizeTransformInputPlaceholdersPass(program)(program.graph_module).modified  # type: ignore[union-attr]
    assert node.target == node.name
    assert program.graph_signature.user_inputs == (node.name,)
    assert not NormalizeTransformInputPlaceholdersPass()(program.graph_module).modified  # type: ignore[union-attr]


def targets(module: GraphModule) -> list[Any]:
    return [node.target for node in module.graph.nodes if node.op == "call_function"]


def moved(rewriting: PassBase, function: Any, *inputs: torch.Tensor) -> list[str]:
    """Returns the operators of a graph after a pass, in order, and requires equal results."""
    module = graph_of(function, *inputs)
    before = copy.deepcopy(module)
    rewriting(module)
    torch.testing.assert_close(module(*inputs), before(*inputs))
    for node in module.graph.nodes:
        if node.op == "call_function" and isinstance(node.meta["val"], torch.Tensor):
            real = node.target(*[_zeros(item) for item in node.args], **node.kwargs)
            assert node.meta["val"].shape == real.shape
    return [str(target.__name__).split(".")[1] for target in targets(module)]


def permuted(*functions: Any) -> Any:
    """Returns a function that applies a permute, and then other functions one after another."""

    def function(call: Any, x: Any) -> Any:
        value = call(PERMUTE, (x, [2, 0, 1]))
        for op, *args in functions:
            value = call(op, (value, *args))
        return value

    return function


@pytest.mark.parametrize(
    "step",
    [
        (edge.sigmoid.default,),
        (edge.slice_copy.Tensor, 0, 1, 3),
        (edge.clamp.default, -1.0, 1.0),
    ],
)
def test_permutes_move_down_and_up(step: Any) -> None:
    down = moved(PropagateViewCopyPermuteDownPass(), permuted(step), CUBE)
    assert down[-1] == "permute_copy" and len(down) == 2

    def behind(call: Any, x: Any) -> Any:
        return call(PERMUTE, (call(step[0], (x, *step[1:])), [2, 0, 1]))

    up = moved(PropagateViewCopyPermuteUpPass(), behind, CUBE)
    assert up[0] == "permute_copy" and len(up) == 2


def test_permutes_move_over_reductions() -> None:
    def summed(call: Any, x: Any) -> Any:
        return call(PERMUTE, (call(edge.mean.dim, (x, [-1], True)), [0, 2, 1, 3]))

    image = torch.randn(2, 3, 4, 5)
    assert moved(PropagateViewCopyPermuteUpPass(), summed, image) == ["permute_copy", "mean"]
    # After the sum, only one dimension is larger than 1, so that the permute is a view.
    step = permuted((edge.sum.dim_IntList, [0, 2], True))
    assert moved(PropagateViewCopyPermuteDownPass(), step, CUBE) == ["sum", "view_copy"]


def test_a_reduction_without_kept_dimensions_stops_a_permute() -> None:
    step = permuted((edge.sum.dim_IntList, [0], False))
    assert moved(PropagateViewCopyPermuteDownPass(), step, CUBE) == ["permute_copy", "sum"]


def test_views_move_over_reductions_and_slices() -> None:
    def summed(call: Any, x: Any) -> Any:
        return call(edge.sum.dim_IntList, (call(VIEW, (x, [6, 4])), [1], True))

    assert moved(PropagateViewCopyPermuteDownPass(), summed, CUBE) == ["sum", "view_copy"]

    def viewed(call: Any, x: Any) -> Any:
        return call(VIEW, (call(edge.sum.dim_IntList, (x, [2], True)), [6, 1]))

    assert moved(PropagateViewCopyPermuteUpPass(), viewed, CUBE) == ["view_copy", "sum"]

    def sliced(call: Any, x: Any) -> Any:
        return call(VIEW, (call(edge.slice_copy.Tensor, (x, 1, 1, 2, 1)), [2, 4]))

    assert moved(PropagateViewCopyPermuteUpPass(), sliced, CUBE) == ["view_copy", "slice_copy"]


def test_a_permute_with_two_users_moves_behind_both() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.empty(2, 3, 4)
    permute = graph.call_function(PERMUTE, (x, [2, 0, 1]))
    permute.meta["val"] = torch.empty(4, 2, 3)
    users = [graph.call_function(op, (permute,)) for op in (edge.abs.default, edge.neg.default)]
    for user in users:
        user.meta["val"] = torch.empty(4, 2, 3)
    graph.output(tuple(users))
    module = GraphModule({}, graph)
    expected = [CUBE.permute(2, 0, 1).abs(), -CUBE.permute(2, 0, 1)]
    PropagateViewCopyPermuteDownPass()(module)
    assert targets(module).count(PERMUTE) == 2
    torch.testing.assert_close(list(module(CUBE)), expected)
    PropagateViewCopyPermuteUpPass()(module)
    assert targets(module)[0] is PERMUTE and targets(module).count(PERMUTE) == 1
    torch.testing.assert_close(list(module(CUBE)), expected)


def test_hooks_stop_the_moves() -> None:
    class Blocked(PropagateViewCopyPermuteDownPass):
        def blocks_moving(self, moving_node: Node, frontier: Node, next_nodes: Any) -> bool:
            return True

    class Particular(PropagateViewCopyPermuteDownPass):
        def tolerates_shape_after_move(self, next_node: Node, shape: Any) -> bool:
            return list(shape) != [2, 3, 4]

    for rewriting in (Blocked(), Particular()):
        step = permuted((edge.sigmoid.default,))
        assert moved(rewriting, step, CUBE) == ["permute_copy", "sigmoid"]


def test_concatenations_of_rows_are_permuted_before() -> None:
    def function(call: Any, x: Any, y: Any) -> Any:
        return call(PERMUTE, (call(edge.cat.default, ([x, y], 0)), [1, 0]))

    row = torch.randn(1, 4)
    found = moved(PropagateViewCopyPermuteUpPass(), function, row, row + 1)
    assert found == ["view_copy", "view_copy", "cat"]


@pytest.mark.parametrize(
    "step",
    [
        (edge.relu.default,),
        (edge.sum.dim_IntList, [1, -1], True),
        (edge.slice_copy.Tensor, 2, 1, 3),
        (edge.constant_pad_nd.default, [1, 0, 0, 2], 3.0),
        (edge.clamp.default, -1.0, 1.0),
    ],
)
def test_regions_without_permutes(step: Any) -> None:
    def function(call: Any, x: Any) -> Any:
        value = call(step[0], (call(PERMUTE, (x, [0, 2, 3, 1])), *step[1:]))
        return call(PERMUTE, (value, [0, 3, 1, 2]))

    found = rewritten(RemovePermutesAroundElementwiseOpsPass(), function, IMAGE)
    assert len(found) == 1 and "aten.permute_copy.default" not in found


def test_a_region_with_views_a_constant_and_two_permutes() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.randn(5, 3))

        def forward(self, x: torch.Tensor) -> Any:
            y = torch.relu(x.permute(0, 2, 3, 1) * self.scale)
            return y.permute(0, 3, 1, 2), y.permute(0, 3, 2, 1)

    program = edge_program(Net().eval(), IMAGE)
    expected = program.module()(IMAGE)
    assert RemovePermutesAroundElementwiseOpsPass()(program.graph_module).modified  # type: ignore[union-attr]
    for new, old in zip(program.module()(IMAGE), expected, strict=True):
        torch.testing.assert_close(new, old)
    placed = [node for node in program.graph.nodes if node.target is PERMUTE]
    assert len(placed) == 2 and placed[1].args[1] == [0, 1, 3, 2]


def test_a_repetition_is_part_of_a_region() -> None:
    def function(call: Any, x: Any) -> Any:
        value = call(PERMUTE, (x, [0, 2, 3, 1]))
        value = call(edge.unsqueeze_copy.default, (value, 3))
        value = call(edge.expand_copy.default, (value, [1, 4, 5, 2, 3]))
        value = call(edge.relu.default, (call(VIEW, (value, [1, 4, 10, 3])),))
        return call(PERMUTE, (value, [0, 3, 1, 2]))

    found = rewritten(RemovePermutesAroundElementwiseOpsPass(), function, IMAGE)
    assert "aten.permute_copy.default" not in found and len(found) == 4


def test_regions_that_need_their_permutes() -> None:
    def to_output(call: Any, x: Any) -> Any:
        return call(edge.relu.default, (call(PERMUTE, (x, [0, 2, 3, 1])),))

    def reshaped(call: Any, x: Any) -> Any:
        value = call(edge.relu.default, (call(PERMUTE, (x, [0, 2, 3, 1])),))
        return call(PERMUTE, (call(VIEW, (value, [4, 15])), [1, 0]))

    for function in (to_output, reshaped):
        module = graph_of(function, IMAGE)
        assert not RemovePermutesAroundElementwiseOpsPass()(module).modified  # type: ignore[union-attr]


def test_collapsed_views_are_those_of_the_given_graph() -> None:
    module = built(
        lambda b, x: b.call_operator(VIEW, (b.call_operator(VIEW, (x, [6, 4])), [3, 8])),
        CUBE,
    )
    assert CollapseViewCopyPass()(module).modified  # type: ignore[union-attr]
    [view] = module.graph.find_nodes(op="call_function", target=VIEW)
    assert view.args[0].op == "placeholder"
    torch.testing.assert_close(module(CUBE), [CUBE.reshape(3, 8)])
