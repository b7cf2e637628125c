"""Shared functions of the emitters: fused activations, and a common layout of several inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch.fx import Node

from rushlight.backends.xnnpack import graph as g
from rushlight.backends.xnnpack.builder import GraphBuilder, Layout
from rushlight.backends.xnnpack.nodes import rank_of
from rushlight.backends.xnnpack.quantized import following_activation, quantize_params, result_bounds


def common_layout(builder: GraphBuilder, nodes: Sequence[Node]) -> Layout:
    """Returns NHWC if all inputs are images and at least one exists only in NHWC; otherwise PLAIN."""
    computed = [node for node in nodes if not builder.context.is_constant(node)]
    if not all(rank_of(node) == 4 for node in computed):
        return Layout.PLAIN
    is_last = any(builder.layouts_of(node) == {Layout.NHWC} for node in computed)
    return Layout.NHWC if is_last else Layout.PLAIN


def fused_activation(builder: GraphBuilder, node: Node) -> tuple[Node, g.OutputMinMax | None]:
    """Fuses the activation after an operator into the operator.

    Returns:
        The node whose value the operator then computes, and the bounds of its result; see `bounds_of_result`.
    """
    activation = following_activation(node)
    if activation is not None:
        builder.skipped[activation] = node
    return activation or node, bounds_of_result(builder, activation)


def bounds_of_result(builder: GraphBuilder, activation: Node | None) -> g.OutputMinMax | None:
    """Returns the bounds of the result of the current operator; None if it needs no clamping.

    Args:
        builder: the graph under construction.
        activation: the activation that the operator computes, or None.
    """
    op = builder.quantized_op
    params = None if op is None or op.result is None else quantize_params(op.result)
    bounds = result_bounds(activation, params)
    return None if bounds == (-math.inf, math.inf) else g.OutputMinMax(*bounds)


def sizes_of_reshape(builder: GraphBuilder, node: Node, axes: Sequence[int]) -> list[int]:
    """Returns the target shape of a reshape: the sizes of the given axes of a node.

    The size is 1 for axis -1, and 0, which XNNPACK infers, for a dynamic axis.
    """
    shape = builder.tensor(node).shape
    return [1 if axis < 0 else shape[axis] if isinstance(shape[axis], int) else 0 for axis in axes]


def emit_unary(kind: Callable[..., object], builder: GraphBuilder, node: Node) -> None:
    """Emits an operator with one input and one result."""
    source = node.args[0]
    assert isinstance(source, Node)
    layout = common_layout(builder, [source])
    in_id = builder.value(source, layout)
    builder.add(kind(in_id, builder.define(node, layout), 0), node)


def emit_copy(builder: GraphBuilder, node: Node) -> None:
    """Emits a copy of a value."""
    emit_unary(g.XNNCopy, builder, node)
