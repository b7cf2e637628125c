"""Replaces matrix multiplications with transposed weights by linear layers."""

from __future__ import annotations

import torch
from torch.fx import Graph, GraphModule, Node
from typing_extensions import override

from rushlight.compat.transforms.rewriting import replace
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op, is_op
from rushlight.ir.fake import Evaluator
from rushlight.ir.sym import hint, upper_bound
from rushlight.passes.base import GraphPass, eliminate_dead_code

aten = torch.ops.aten

_TRANSPOSES = (aten.t_copy.default, aten.permute_copy.default, aten.t.default, aten.permute.default)


def get_shape(input_node: Node) -> list[int]:
    """Returns the sizes of a node's tensor. For a dynamic size, this is its upper bound.

    If a dynamic size has no upper bound, it is the size for the example inputs.
    """
    return [upper_bound(size) or hint(size) or 0 for size in meta.get_shape(input_node)]


class AddmmToLinearPass(GraphPass):
    """Replaces matrix multiplications with a transposed weight by linear layers, and removes views.

    Before: y = addmm(b, x, permute_copy(w, [1, 0])). Expected: y = linear(x, w, b)
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            if is_op(node, aten.mm.default, aten.addmm.default):
                changed |= _to_linear(evaluator, node)
        for node in list(module.graph.nodes):
            if is_op(node, aten.linear.default):
                changed |= _remove_views(evaluator, node)
        return changed


def apply_addmm_mm_to_linear_transform(graph: Graph) -> Graph:
    """Runs the rewrites of AddmmToLinearPass in place.

    Args:
        graph: a graph of the edge dialect, with values in the metadata of its nodes.
    """
    replace_addmm_mm_with_linear(graph)
    return replace_linear_view_copy_input_output(graph)


def replace_addmm_mm_with_linear(graph: Graph) -> Graph:
    """Replaces matrix multiplications with a transposed weight by linear layers, in place."""
    evaluator = Evaluator.of(graph)
    for node in list(graph.nodes):
        if is_op(node, aten.mm.default, aten.addmm.default):
            _to_linear(evaluator, node)
    eliminate_dead_code(graph)
    return graph


def replace_linear_view_copy_input_output(graph: Graph) -> Graph:
    """Removes views of the inputs and results of linear layers, in place.

    The views are not needed, because linear layers support all ranks.
    """
    evaluator = Evaluator.of(graph)
    for node in list(graph.nodes):
        if is_op(node, aten.linear.default):
            _remove_views(evaluator, node)
    eliminate_dead_code(graph)
    return graph


def _to_linear(evaluator: Evaluator, node: Node) -> bool:
    is_sum = is_op(node, aten.addmm.default)
    source, weight = node.args[1:3] if is_sum else node.args[:2]
    if not is_op(weight, *_TRANSPOSES) or (is_sum and (node.kwargs or len(node.args) > 3)):
        return False
    if aten_op(weight.target) in (aten.permute_copy.default, aten.permute.default):
        if [int(axis) % 2 for axis in weight.args[1]] != [1, 0]:  # type: ignore[union-attr, arg-type]
            return False
    bias = meta.get_tensor(node.args[0]) if is_sum else None  # type: ignore[arg-type]
    if bias is not None and bias.dim() != 1:
        return False
    args = (source, weight.args[0], node.args[0]) if is_sum else (source, weight.args[0])
    replace(evaluator, node, aten.linear.default, args)
    return True


def _remove_views(evaluator: Evaluator, linear: Node) -> bool:
    """Removes the view of a linear layer's input and the view of its result. Returns whether it did."""
    source, weight = linear.args[:2]
    behind = list(linear.users)
    if len(behind) != 1 or not is_op(behind[0], aten.view_copy.default) or not isinstance(source, Node):
        return False
    view = behind[0]
    origin = source
    while is_op(origin, aten.view_copy.default):
        assert isinstance(origin.args[0], Node)
        origin = origin.args[0]
    if origin is source or not get_shape(origin):
        return False
    assert isinstance(weight, Node)
    expected = [*get_shape(origin)[:-1], get_shape(weight)[0]]
    if get_shape(origin)[-1:] != get_shape(weight)[-1:] or get_shape(view) != expected:
        return False
    replace(evaluator, linear, aten.linear.default, (origin, *linear.args[1:]))
    view.replace_all_uses_with(view.args[0])  # type: ignore[arg-type]
    return True
