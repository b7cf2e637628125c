"""Operators that return their argument as it is: whole slices, and copies that convert nothing."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node

from rushlight.ir import meta
from rushlight.passes.base import GraphPass


class RemoveNoopSlices(GraphPass):
    """Before: aten.slice_copy(x, 0, 0, 9223372036854775807). Expected: x. Only static shapes are judged."""

    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            if node.target is torch.ops.aten.slice_copy.Tensor and _same_static_shape(node):
                node.replace_all_uses_with(node.args[0])
                changed = True
        return changed


class RemoveNoopConversions(GraphPass):
    """Before: aten._to_copy(x, dtype=torch.float32) of a float32 x of that layout. Expected: x."""

    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            if node.target is torch.ops.aten._to_copy.default and _same_metadata(node):
                node.replace_all_uses_with(node.args[0])
                changed = True
        return changed


def _tensors(node: Node) -> tuple[torch.Tensor, torch.Tensor] | None:
    source = node.args[0]
    before = meta.get_tensor(source) if isinstance(source, Node) else None
    after = meta.get_tensor(node)
    return None if before is None or after is None else (before, after)


def _same_static_shape(node: Node) -> bool:
    tensors = _tensors(node)
    if tensors is None:
        return False
    before, after = tensors
    static = all(isinstance(size, int) for size in (*before.shape, *after.shape))
    return static and before.shape == after.shape


def _same_metadata(node: Node) -> bool:
    tensors = _tensors(node)
    if tensors is None:
        return False
    before, after = tensors
    return (
        before.dtype == after.dtype
        and before.device == after.device
        and before.shape == after.shape
        and before.stride() == after.stride()
    )
