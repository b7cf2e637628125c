"""Removes copies that undo or repeat a change of layout."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.compat.quantized_nodes import is_dequant, is_quant
from rushlight.compat.transforms.program_graph import ProgramGraphPass
from rushlight.compat.xnnpack_passes.layouts import ChannelsLastTaggedReshapePass, has_channels_last
from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op


class RemoveRedundantCopyPass(ProgramGraphPass):
    """Lets the users of a copy read an earlier value that has its layout already.

    The earlier value is what the copy reads or, behind another copy, what that one reads. Between quantized
    operators the copies lie in pairs of dequantize and quantize nodes with equal parameters.

    Before: y = _to_copy(_to_copy(x, memory_format=channels_last), memory_format=contiguous_format)
    Expected: x
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            if not _is_copy(node):
                continue
            behind = _quantize_behind(node)
            source: Any = node.args[0]
            replaced, same = (node, source) if behind is None else (behind, source.args[0])
            found = _with_layout(same, _is_last(node), behind)
            if found is not None:
                replaced.replace_all_uses_with(found)
                changed = True
        return changed


def _is_copy(node: object) -> bool:
    """Whether a node changes the layout of a tensor and nothing else."""
    if not is_op(node, torch.ops.aten._to_copy.default) or "memory_format" not in node.kwargs:
        return False
    source = node.args[0]
    return isinstance(source, Node) and meta.get_dtype(source) is meta.get_dtype(node)


def _quantize_behind(copy: Node) -> Node | None:
    """The node that quantizes a copy by the parameters of the node that dequantizes its source, if it is its
    only user.
    """
    source, user = copy.args[0], next(iter(copy.users), None)
    if len(copy.users) != 1 or user is None or not isinstance(source, Node):
        return None
    if not is_dequant(source) or not is_quant(user) or source.args[1:] != user.args[1:]:
        return None
    return user


def _with_layout(value: object, is_last: bool, quantize: Node | None) -> Node | None:
    """A value, or the one in front of the copy that it is, if its layout is the wanted one.

    Args:
        value: what a copy reads; a quantized tensor if `quantize` is given.
        is_last: whether the channels are to be last.
        quantize: the node that quantizes the copy.
    """
    if not isinstance(value, Node):
        return None
    if _is_last(value) == is_last:
        return value
    copy = value if quantize is None else value.args[0] if is_quant(value) else None
    if not isinstance(copy, Node) or not _is_copy(copy):
        return None
    source = copy.args[0]
    if quantize is not None:
        if _quantize_behind(copy) is not value or not isinstance(source, Node):
            return None
        if value.args[1:] != quantize.args[1:]:
            return None
        source = source.args[0]
    return source if isinstance(source, Node) and _is_last(source) == is_last else None


def _is_last(node: Node) -> bool:
    """Whether the channels of a value are last, as a pass has noted or else as its elements lie."""
    if is_quant(node) and isinstance(node.args[0], Node):
        node = node.args[0]
    if meta.get_channels_last(node) is None:
        return has_channels_last(node)
    return ChannelsLastTaggedReshapePass.is_nhwc_node(node)
