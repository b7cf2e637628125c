"""Helpers of XNNPACK's passes and partitioners."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.compat.test_transforms import edge_program
from torch import nn
from torch.export import export
from torch.fx import Graph, Node

from rushlight.compat import xnnpack_constants as constants
from rushlight.compat import xnnpack_helpers as helpers
from rushlight.ir.edge_ops import ops

edge = ops.edge.aten


def test_conditions() -> None:
    helpers.check_or_raise(True, "no")
    with pytest.raises(RuntimeError, match="^no$"):
        helpers.check_or_raise(False, "no")


def test_nodes() -> None:
    program = edge_program(lambda x: (torch.relu(x + x), torch.max(x, 1)[0]), torch.randn(2, 3))
    nodes = {str(node.target): node for node in program.graph.nodes}
    found: dict[Any, Node] = {node.target: node for node in program.graph.nodes}
    add, relu = found[edge.add.Tensor], found[edge.relu.default]
    assert helpers.get_relu_fused_node(add) is relu and helpers.get_relu_fused_node(relu) is None
    assert helpers.get_input_node(relu, 0) is add
    assert helpers.is_node(add) and not helpers.is_node(1)
    items = [node for node in nodes.values() if helpers.is_getitem(node)]
    assert len(items) == 1 and not helpers.is_getitem(add)


@pytest.mark.parametrize(
    ("dims", "rank", "expected"), [(None, 3, [0, 1, 2]), (-1, 3, [2]), ([-2, 0], 4, [2, 0]), ([], 2, [])]
)
def test_dimensions(dims: list[int] | int | None, rank: int, expected: list[int]) -> None:
    assert helpers.normalize_mean_dims(dims, rank) == expected


@pytest.mark.parametrize(
    ("dims", "rank", "text"),
    [([3], 3, "out of range: 3"), ([-4], 3, "-4 for rank 3"), (0, 0, "rank > 0, got 0")],
)
def test_dimensions_that_do_not_exist(dims: list[int] | int, rank: int, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        helpers.normalize_mean_dims(dims, rank)


def pool(*args: object) -> Node:
    graph = Graph()
    return graph.call_function(edge.max_pool2d.default, (graph.placeholder("x"), *args))  # type: ignore[arg-type]


def test_poolings() -> None:
    assert helpers.normalize_pool2d_args(pool(3), True) == ([3, 3], [3, 3], [0, 0], [1, 1])
    assert helpers.normalize_pool2d_args(pool([2, 3], [], [1]), True) == ([2, 3], [2, 3], [1, 1], [1, 1])
    assert helpers.normalize_pool2d_args(pool(2, [1, 2], 1, [2]), True)[1:] == ([1, 2], [1, 1], [2, 2])
    assert helpers.normalize_pool2d_args(pool(2, 1, 0, True), False) == ([2, 2], [1, 1], [0, 0], [1, 1])


@pytest.mark.parametrize(
    ("layer", "groups"),
    [(nn.Conv2d(4, 6, 3, groups=2), 2), (nn.ConvTranspose2d(4, 6, 3, groups=2), 2), (nn.Conv1d(4, 4, 3), 1)],
)
def test_groups(layer: nn.Module, groups: int) -> None:
    image = torch.randn(1, 4, 6) if isinstance(layer, nn.Conv1d) else torch.randn(1, 4, 6, 6)
    program = export(layer, (image,))
    *_, conv, _ = program.graph.nodes
    assert helpers.get_groups_from_conv(conv) == groups
    assert [helpers.get_tensor_name(program, node) for node in conv.all_input_nodes[1:]] == ["weight", "bias"]
    assert helpers.get_tensor_name(program, conv.all_input_nodes[0]) == "input"
    assert helpers.get_tensor_name(program, None) == ""
    with pytest.raises(RuntimeError, match="to be a conv"):
        helpers.get_groups_from_conv(conv.all_input_nodes[1])


@pytest.mark.parametrize(
    ("shape", "groups", "is_transpose", "expected"),
    [
        ((6, 1, 3, 3), 6, False, True),
        ((6, 2, 3, 3), 3, False, False),
        ((6, 2, 3, 3), 6, True, True),
        ((6, 2, 3, 3), 3, True, False),
        ((6,), 1, False, False),
        ((6, 1, 3, 3), 0, False, False),
    ],
)
def test_depthwise(shape: tuple[int, ...], groups: int, is_transpose: bool, expected: bool) -> None:
    assert helpers.is_depthwise_conv(shape, groups, is_transpose) is expected


def test_constants_are_those_of_payloads() -> None:
    from rushlight.backends.xnnpack import constants as own

    assert constants.XNN_INVALID_VALUE_ID == own.NONE
    assert constants.XNN_FLAG_TRANSPOSE_WEIGHTS == constants.XNN_FLAG_TRANSPOSE_B == own.TRANSPOSE_WEIGHTS
    assert (
        constants.XNN_FLAG_KEEP_DIMS == own.KEEP_DIMS
        and constants.XNN_FLAG_ALIGN_CORNERS == own.ALIGN_CORNERS
    )
    assert constants.XNN_VALUE_FLAG_EXTERNAL_INPUT == own.INPUT
    assert constants.XNN_VALUE_FLAG_EXTERNAL_OUTPUT == own.OUTPUT
