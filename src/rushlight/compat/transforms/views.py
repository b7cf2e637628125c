"""Passes for operators that change shapes: views, squeezes and unsqueezes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.compat.transforms.rewriting import InPlacePass, replace, static_shape
from rushlight.ir import meta
from rushlight.ir.edge_ops import argument, aten_op, is_op
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass

aten = torch.ops.aten
qd = torch.ops.quantized_decomposed

_VIEWS = (aten.view_copy.default, aten.view.default)
_POINTWISE = (
    aten.abs.default,
    aten.alias_copy.default,
    aten.ceil.default,
    aten.clamp.default,
    aten.clone.default,
    aten._to_copy.default,
    aten.exp.default,
    aten.floor.default,
    aten.gelu.default,
    aten.log.default,
    aten.neg.default,
    aten.reciprocal.default,
    aten.relu.default,
    aten.round.default,
    aten.rsqrt.default,
    aten.sigmoid.default,
    aten.sign.default,
    aten.silu.default,
    aten.sqrt.default,
    aten.tanh.default,
    qd.quantize_per_tensor.default,
    qd.dequantize_per_tensor.default,
)
_POINTWISE_NAMES = ("dim_order_ops._clone_dim_order.default", "dim_order_ops._to_dim_order_copy.default")


def _is_pointwise(node: Node) -> bool:
    return is_op(node, *_POINTWISE) or str(aten_op(node.target)) in _POINTWISE_NAMES


class FuseViewCopyPass(GraphPass):
    """Merges the views in a chain of views and elementwise operators into the first view.

    Before: a = view_copy(x, [4, 3]); b = abs(a); y = view_copy(b, [12])
    Expected: a = view_copy(x, [12]); y = abs(a)
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        evaluator = Evaluator.of(module)
        for view in list(module.graph.nodes):
            if not is_op(view, *_VIEWS):
                continue
            chain = self._chain(view)
            later = [node for node in chain if is_op(node, *_VIEWS)]
            if not later:
                continue
            view.args = (view.args[0], later[-1].args[1])
            meta.set_val(view, evaluator.value(view.target, view.args))  # type: ignore[arg-type]
            for node in chain:
                if node in later:
                    node.replace_all_uses_with(node.args[0])  # type: ignore[arg-type]
                else:
                    meta.set_val(node, evaluator.value(node.target, node.args, node.kwargs))  # type: ignore[arg-type]
            for node in reversed(later):
                module.graph.erase_node(node)
            changed = True
        return changed

    @staticmethod
    def _chain(view: Node) -> list[Node]:
        """Returns the chain of nodes behind a view, up to the last view of the chain.

        Each node of a chain is the only user of the previous node.
        """
        if not view.users:
            return []
        chain: list[Node] = []
        node = view
        while len(node.users) == 1:
            node = next(iter(node.users))
            if not is_op(node, *_VIEWS) and not _is_pointwise(node):
                break
            chain.append(node)
        while chain and not is_op(chain[-1], *_VIEWS):
            chain.pop()
        return chain


class CollapseViewCopyPass(InPlacePass):
    """Merges consecutive views, and removes views that restore the original shape.

    Before: y = view_copy(view_copy(x, [4, 3]), [12]). Expected: y = view_copy(x, [12])
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in list(module.graph.nodes):
            before = node.args[0] if is_op(node, *_VIEWS) else None
            if not is_op(before, *_VIEWS) or len(before.users) != 1:
                continue
            source = before.args[0]
            assert isinstance(source, Node)
            if static_shape(meta.get_tensor(node)) == static_shape(meta.get_tensor(source)) is not None:
                node.replace_all_uses_with(source)
            else:
                node.args = (source, *node.args[1:])
            changed = True
        return changed


class FuseCascadedViewOpsPass(GraphPass):
    """Replaces a view of a view by a view of the first view's input, even if the first view has other users.

    Before: a = view_copy(x, [4, 3]); y = view_copy(a, [12]). Expected: y = view_copy(x, [12])
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in list(module.graph.nodes):
            before = node.args[0] if is_op(node, *_VIEWS) else None
            if is_op(before, *_VIEWS):
                node.replace_input_with(before, before.args[0])
                changed = True
        return changed


class ViewCopyToSqueezeUnsqueezePass(GraphPass):
    """Replaces views that only remove dimensions of size 1, or add one, by squeeze_copy and unsqueeze_copy.

    Before: y = view_copy(x, [2, 3]) of a [2, 1, 3] x. Expected: y = squeeze_copy.dims(x, [1])
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        evaluator = Evaluator.of(module)
        for node in list(module.graph.nodes):
            if not is_op(node, *_VIEWS):
                continue
            source = node.args[0]
            assert isinstance(source, Node)
            before, after = static_shape(meta.get_tensor(source)), static_shape(meta.get_tensor(node))
            if before is None or after is None:
                continue
            removed, added = self.find_squeeze_dims(before, after), self.find_unsqueeze_dim(before, after)
            if removed:
                replace(evaluator, node, aten.squeeze_copy.dims, (source, removed))
            elif added is not None:
                replace(evaluator, node, aten.unsqueeze_copy.default, (source, added))
            else:
                continue
            changed = True
        return changed

    @staticmethod
    def find_squeeze_dims(input_shape: Sequence[int], view_shape: Sequence[int]) -> list[int] | None:
        """Returns the dimensions of size 1 that the input shape has and the view's shape lacks, or None."""
        removed = []
        rest = list(view_shape)
        for axis, size in enumerate(input_shape):
            if rest and rest[0] == size:
                rest.pop(0)
            elif size == 1:
                removed.append(axis)
            else:
                return None
        return removed if removed and not rest else None

    @staticmethod
    def find_unsqueeze_dim(input_shape: Sequence[int], view_shape: Sequence[int]) -> int | None:
        """Returns the dimension of size 1 to add to the input shape to get the view's shape, or None."""
        shape = list(view_shape)
        for axis, size in enumerate(shape):
            if size == 1 and shape[:axis] + shape[axis + 1 :] == list(input_shape):
                return axis
        return None


class ReplaceSqueezeAndUnsqueezeWithViewPass(GraphPass):
    """Replaces squeeze_copy and unsqueeze_copy with static shapes by view_copy.

    Before: y = unsqueeze_copy(x, 0) of a [2, 3] x. Expected: y = view_copy(x, [1, 2, 3])
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        evaluator = Evaluator.of(module)
        squeeze = aten.squeeze_copy
        for node in list(module.graph.nodes):
            if not is_op(node, squeeze.default, squeeze.dim, squeeze.dims, aten.unsqueeze_copy.default):
                continue
            shape = static_shape(meta.get_tensor(node))
            if shape is not None:
                replace(evaluator, node, aten.view_copy.default, (argument(node, 0), shape))
                changed = True
        return changed
