"""Removes copies that undo or repeat a change of the memory layout."""

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
    """Replaces copies by an earlier value that already has the layout of the copy.

    The earlier value is the input of the copy, or the input of the preceding copy. Between quantized
    operators, each copy is surrounded by dequantize and quantize nodes with equal parameters.

    Before: y = _to_copy(_to_copy(x, memory_format=channels_last), memory_format=contiguous_format)
    Expected: y = x
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
    """Whether a node only changes the layout of a tensor."""
    if not is_op(node, torch.ops.aten._to_copy.default) or "memory_format" not in node.kwargs:
        return False
    source = node.args[0]
    return isinstance(source, Node) and meta.get_dtype(source) is meta.get_dtype(node)


def _quantize_behind(copy: Node) -> Node | None:
    """Returns the quantize node behind a copy, or None.

    It must be the only user of the copy, and have the parameters of the dequantize node in front of the copy.
    """
    source, user = copy.args[0], next(iter(copy.users), None)
    if len(copy.users) != 1 or user is None or not isinstance(source, Node):
        return None
    if not is_dequant(source) or not is_quant(user) or source.args[1:] != user.args[1:]:
        return None
    return user


def _with_layout(value: object, is_last: bool, quantize: Node | None) -> Node | None:
    """Returns an earlier value with a layout, or None.

    Args:
        value: the input of a copy, or the quantized input if `quantize` is given. If it is a copy itself, its
            input is considered too.
        is_last: whether the layout is channels last.
        quantize: the node that quantizes the copy, or None.
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
    """Whether a value is channels last, according to the mark of a pass, or else to its strides."""
    if is_quant(node) and isinstance(node.args[0], Node):
        node = node.args[0]
    if meta.get_channels_last(node) is None:
        return has_channels_last(node)
    return ChannelsLastTaggedReshapePass.is_nhwc_node(node)
