"""Replaces operators on images by their channels-last variants."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.node import Target
from typing_extensions import override

from rushlight.compat.transforms.channels_last import LAYOUT_PERMUTE_COPY
from rushlight.compat.transforms.rewriting import InPlacePass
from rushlight.compat.xnnpack_helpers import PERM_NCHW_TO_NHWC, PERM_NHWC_TO_NCHW
from rushlight.ir import meta
from rushlight.ir.edge_ops import ops
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import insert_call

edge, last = ops.edge.aten, ops.edge.channels_last


@dataclass
class ChannelsLastOpSpec:
    """The channels-last variant of an operator.

    Attributes:
        target: the variant, whose images have the shape [N, H, W, C].
        input_indices: the positions of the arguments that are images.
        output_indices: the indices of the results that are images.
        filter_fn: returns whether a node is replaced; None means that all nodes are replaced.
    """

    target: Target
    input_indices: list[int]
    output_indices: list[int]
    filter_fn: Callable[[Node], bool] | None = None


def _first(node: Node) -> torch.Tensor | None:
    """Returns the first result of a node if it is a tensor, else None."""
    value = meta.find_val(node)
    value = value[0] if isinstance(value, (tuple, list)) and value else value
    return value if isinstance(value, torch.Tensor) else None


def _has_rank(*ranks: int) -> Callable[[Node], bool]:
    def holds(node: Node) -> bool:
        tensor = _first(node)
        return tensor is not None and tensor.dim() in ranks

    return holds


def _is_conv2d(node: Node) -> bool:
    return _has_rank(3, 4)(node) and len(meta.get_shape(node.args[1])) == 4


DEFAULT_OP_MAP: Mapping[Target, ChannelsLastOpSpec] = {
    edge._adaptive_avg_pool2d.default: ChannelsLastOpSpec(
        last.adaptive_avg_pool2d.default, [0], [0], _has_rank(3, 4)
    ),
    edge.avg_pool2d.default: ChannelsLastOpSpec(last.avg_pool2d.default, [0], [0], _has_rank(3, 4)),
    edge.convolution.default: ChannelsLastOpSpec(last.convolution.default, [0], [0], _is_conv2d),
    edge.grid_sampler_2d.default: ChannelsLastOpSpec(last.grid_sampler_2d.default, [0], [0], _has_rank(4)),
    edge.max_pool2d_with_indices.default: ChannelsLastOpSpec(
        last.max_pool2d_with_indices.default, [0], [0, 1], _has_rank(3, 4)
    ),
    edge.max_pool2d.default: ChannelsLastOpSpec(last.max_pool2d.default, [0], [0], _has_rank(3, 4)),
    edge.upsample_bilinear2d.vec: ChannelsLastOpSpec(
        last.upsample_bilinear2d.default, [0], [0], _has_rank(4)
    ),
    edge.upsample_nearest2d.vec: ChannelsLastOpSpec(last.upsample_nearest2d.default, [0], [0], _has_rank(4)),
}


class ReplaceOpsWithChannelsLastVariantsPass(InPlacePass):
    """Replaces operators on images by their channels-last variants, between permutes.

    Before: y = avg_pool2d(x, [2, 2])
    Expected: y = channels_last.permute_copy(
        channels_last.avg_pool2d(channels_last.permute_copy(x, [0, 2, 3, 1]), [2, 2]), [0, 3, 1, 2])

    Operators whose result is not row-major are not replaced. For an image without a batch dimension, such a
    dimension is added.

    Args:
        exported_program: the program of the graph.
        op_map: maps operators to their variants; by default, all variants in the library `channels_last`.
    """

    def __init__(
        self,
        exported_program: ExportedProgram,
        op_map: dict[Target, ChannelsLastOpSpec] | None = None,
    ) -> None:
        super().__init__()
        self.exported_program = exported_program
        self.op_map = dict(DEFAULT_OP_MAP if op_map is None else op_map)

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            spec = self.op_map.get(node.target) if node.op == "call_function" else None
            tensor = _first(node)
            if spec is None or tensor is None or tensor.dim_order() != tuple(range(tensor.dim())):
                continue
            if spec.filter_fn is None or spec.filter_fn(node):
                _replace(evaluator, node, spec, adds_batch=tensor.dim() == 3)
                changed = True
        return changed


def _replace(evaluator: Evaluator, node: Node, spec: ChannelsLastOpSpec, adds_batch: bool) -> None:
    args = list(node.args)
    for index in spec.input_indices:
        image = args[index]
        assert isinstance(image, Node)
        if adds_batch:
            image = insert_call(evaluator, node, edge.unsqueeze_copy.default, (image, 0))
        args[index] = insert_call(evaluator, node, LAYOUT_PERMUTE_COPY, (image, list(PERM_NCHW_TO_NHWC)))
    with node.graph.inserting_before(node):
        new = node.graph.call_function(spec.target, tuple(args), dict(node.kwargs))  # type: ignore[arg-type]
    meta.copy_all(node, new)
    meta.set_val(new, evaluator.value(spec.target, new.args, new.kwargs))  # type: ignore[arg-type]

    def restore(result: Node) -> Node:
        restored = insert_call(evaluator, node, LAYOUT_PERMUTE_COPY, (result, list(PERM_NHWC_TO_NCHW)))
        if adds_batch:
            restored = insert_call(evaluator, node, edge.squeeze_copy.dims, (restored, [0]))
        return restored

    items = [user for user in node.users if user.target is operator.getitem]
    if len(items) != len(node.users):
        node.replace_all_uses_with(restore(new))
    for item in items if len(items) == len(node.users) else ():
        taken = insert_call(evaluator, node, operator.getitem, (new, item.args[1]))
        item.replace_all_uses_with(restore(taken) if item.args[1] in spec.output_indices else taken)
        item.graph.erase_node(item)
    node.graph.erase_node(node)
