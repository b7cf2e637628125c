"""Passes that merge permutes and transposes, or move them across views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassResult
from typing_extensions import override

from rushlight.compat.transforms.channels_last import (
    ATEN_PERMUTE_COPY,
    LAYOUT_PERMUTE_COPY,
    PERMUTE_COPY_TARGETS,
)
from rushlight.compat.transforms.dim_maps import Size, keeps_memory_order, same_sizes
from rushlight.compat.transforms.permutes import (
    VIEWS,
    FuseOpPairsAcrossBranchesPass,
    RemoveOrReplacePass,
    get_edge_overload_packet,
    permutation_of,
    source_of,
)
from rushlight.compat.transforms.rewriting import set_call, settle, size_arguments
from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload, EdgeOpOverloadPacket, is_op, ops
from rushlight.ir.fake import Evaluator
from rushlight.ir.sym import same_size
from rushlight.passes.base import graph_modules

aten = torch.ops.aten

VIEW_COPY = ops.edge.aten.view_copy.default
TRANSPOSE_COPY = ops.edge.aten.transpose_copy.int


def extra_ones(longer: Sequence[Size], shorter: Sequence[Size]) -> list[int] | None:
    """Returns the dimensions of size 1 that only the longer shape has; None if other sizes differ."""
    extra, rest = [], list(shorter)
    for axis, size in enumerate(longer):
        if rest and same_size(rest[0], size):
            rest.pop(0)
        elif same_size(size, 1):
            extra.append(axis)
        else:
            return None
    return extra if extra and not rest else None


class _PermutePass(RemoveOrReplacePass):
    """The base class of passes that rewrite each permute and transpose."""

    @property
    @override
    def targets(self) -> list[EdgeOpOverload]:
        return [TRANSPOSE_COPY, ATEN_PERMUTE_COPY, LAYOUT_PERMUTE_COPY]

    @staticmethod
    def _become_view(node: Node, source: Node) -> bool:
        """Replaces a node by a view of `source`. Returns whether this is possible."""
        sizes = size_arguments(source, meta.get_shape(node), node)
        if sizes is None:
            return False
        set_call(Evaluator.of(node.graph), node, VIEW_COPY, source, sizes)
        return True


class FuseCascadedTransposeOrPermuteOpsPass(_PermutePass):
    """Merges consecutive permutes and transposes into one permute, or removes them.

    Before: a = transpose_copy(x, 0, 1); y = permute_copy(a, [1, 0, 2]). Expected: y = x
    Before: y = permute_copy(view_copy(permute_copy(x, [0, 2, 1]), [1, 3, 1, 4]), [0, 2, 3, 1])
    Expected: y = view_copy(x, [1, 1, 4, 3]), because the combined permute moves only dimensions of size 1
    """

    @override
    def maybe_remove_or_replace(self, node: Node) -> bool:
        order, parent = permutation_of(node), source_of(node)
        before = permutation_of(parent)
        if order is None:
            return False
        if before is not None:
            joined = [before[axis] for axis in order]
            source = source_of(parent)
            if joined == sorted(joined):
                node.replace_all_uses_with(source)
            else:
                set_call(Evaluator.of(node.graph), node, ATEN_PERMUTE_COPY, source, joined)
            return True
        return is_op(parent, *VIEWS) and len(parent.users) == 1 and self._across_view(node, order, parent)

    def _across_view(self, node: Node, order: Sequence[int], view: Node) -> bool:
        first = source_of(view)
        before = permutation_of(first)
        if before is None:
            return False
        shape, viewed = meta.get_shape(first), meta.get_shape(view)
        # For each dimension, the dimension of the source; None for a dimension that the view adds.
        origins: list[int | None] = list(before)
        if len(viewed) == len(shape) + 1:
            extra = extra_ones(viewed, shape)
            if extra is None:
                return False
            origins.insert(extra[0], None)
        elif len(shape) == len(viewed) + 1:
            extra = extra_ones(shape, viewed)
            if extra is None:
                return False
            del origins[extra[0]]
        else:
            return False
        moved = [origin for origin in (origins[axis] for axis in order) if origin is not None]
        source = source_of(first)
        if moved != sorted(moved):
            return False
        if same_sizes(meta.get_shape(node), meta.get_shape(source)):
            node.replace_all_uses_with(source)
            return True
        return self._become_view(node, source)


class ReplaceNopTransposeOrPermuteWithViewPass(_PermutePass):
    """Replaces permutes that move only dimensions of size 1 by views.

    Before: y = permute_copy(x, [1, 0, 2]) of a [1, 3, 4] x. Expected: y = view_copy(x, [3, 1, 4])
    """

    @override
    def maybe_remove_or_replace(self, node: Node) -> bool:
        order, source = permutation_of(node), source_of(node)
        if order is None:
            return False
        if order == sorted(order):
            node.replace_all_uses_with(source)
            return True
        return keeps_memory_order(meta.get_shape(source), order) and self._become_view(node, source)


class PostponePermuteBelowSqueezeViewPass(RemoveOrReplacePass):
    """Moves permutes behind views that add or remove one dimension of size 1.

    Views that do not change the shape are removed.

    Before: y = view_copy(permute_copy(x, [0, 2, 1]), [2, 1, 4, 3])
    Expected: y = permute_copy(view_copy(x, [2, 1, 3, 4]), [0, 1, 3, 2])
    """

    @property
    @override
    def targets(self) -> list[EdgeOpOverload]:
        return list(PERMUTE_COPY_TARGETS)

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        while super().rewrite(module):  # Each round moves a permute across one view.
            changed = True
        return changed

    @override
    def maybe_remove_or_replace(self, node: Node) -> bool:
        view = next(iter(node.users))
        order, source = permutation_of(node), source_of(node)
        known = all(meta.get_tensor(item) is not None for item in (node, view, source))
        if len(node.users) != 1 or not is_op(view, *VIEWS) or order is None or not known:
            return False
        shape, viewed = meta.get_shape(node), meta.get_shape(view)
        if same_sizes(shape, viewed):
            view.replace_all_uses_with(node)
            view.graph.erase_node(view)
            return True
        sizes = list(meta.get_shape(source))
        if len(viewed) == len(shape) + 1 and (extra := extra_ones(viewed, shape)) is not None:
            place = extra[0]
            sizes.insert(place, 1)
            order = [axis + (axis >= place) for axis in order]
            order.insert(place, place)
        elif len(shape) == len(viewed) + 1 and (extra := extra_ones(shape, viewed)) is not None:
            removed = order.pop(extra[0])
            del sizes[removed]
            order = [axis - (axis > removed) for axis in order]
        else:
            return False
        arguments = size_arguments(source, sizes, node)
        if arguments is None:
            return False
        permute, reshape = node.target, view.target
        evaluator = Evaluator.of(node.graph)
        set_call(evaluator, node, reshape, source, arguments)
        set_call(evaluator, view, permute, node, order)
        return True


class FuseTransposeOrPermuteOpPairsPass(FuseOpPairsAcrossBranchesPass):
    """Removes pairs of inverse permutes and transposes with only `bypass_ops` between them.

    Before: y = permute_copy(quantize_per_tensor(permute_copy(x, [0, 2, 1]), ...), [0, 2, 1])
    Expected: y = view_copy(quantize_per_tensor(x, ...), shape)

    The positions of dimensions of size 1 may differ between the two permutes.

    Attributes:
        bypass_ops: elementwise operators that may be between a pair.
    """

    bypass_ops: ClassVar[set[EdgeOpOverload]] = {
        ops.edge.quantized_decomposed.quantize_per_tensor.default,
        ops.edge.quantized_decomposed.dequantize_per_tensor.default,
    }

    @override
    def can_fuse_for_chain(
        self, producer: Node, consumer: Node, consumer_op_packets: set[EdgeOpOverloadPacket]
    ) -> bool:
        if not super().can_fuse_for_chain(producer, consumer, consumer_op_packets):
            return False
        before, behind = permutation_of(producer), permutation_of(consumer)
        if before is None or behind is None or meta.get_tensor(source_of(producer)) is None:
            return False
        return keeps_memory_order(meta.get_shape(source_of(producer)), [before[axis] for axis in behind])

    @override
    def get_fused_node(self, producer: Node, consumer: Node, graph_module: GraphModule) -> Node:
        source = source_of(consumer)
        shape = meta.get_shape(consumer)
        with consumer.graph.inserting_before(consumer):
            view = consumer.graph.call_function(VIEW_COPY, (source, list(shape)))
        sizes = size_arguments(source, shape, view)
        view.args = (source, sizes if sizes is not None else list(shape))
        meta.copy_all(consumer, view)
        return view

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module and the bodies of its control flow, in place."""
        packets = {get_edge_overload_packet(op) for op in (TRANSPOSE_COPY, *PERMUTE_COPY_TARGETS)}
        changed = False
        for module in list(graph_modules(graph_module)):
            if self.find_and_fuse(module, packets, packets, self.bypass_ops):
                settle(module)
                changed = True
        return PassResult(graph_module, changed)
