"""Removes permutes around operators that can be computed on the tensors without the permutes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.compat.transforms.channels_last import is_permute_copy
from rushlight.compat.transforms.dim_maps import inverse_permutation, keeps_memory_order
from rushlight.compat.transforms.permute_chains import extra_ones
from rushlight.compat.transforms.permutes import VIEWS, get_arg, permutation_of, set_arg, source_of
from rushlight.compat.transforms.rewriting import InPlacePass, static_shape
from rushlight.ir import meta
from rushlight.ir.edge_ops import Overload, aten_op, is_op, ops
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import insert_call

aten = torch.ops.aten
edge = ops.edge.aten

_REDUCTIONS = (aten.mean.dim, aten.sum.dim_IntList)
_PADS = (aten.constant_pad_nd.default, aten.pad.default)
_PERMUTABLE = frozenset(
    {
        edge.add.Tensor,
        edge.mul.Tensor,
        edge.sub.Tensor,
        edge.hardtanh.default,
        edge.clamp.default,
        edge.cat.default,
        edge.constant_pad_nd.default,
        edge.pad.default,
        edge.mean.dim,
        edge.sum.dim_IntList,
        edge.slice_copy.Tensor,
        ops.edge.quantized_decomposed.quantize_per_tensor.default,
        ops.edge.quantized_decomposed.dequantize_per_tensor.default,
    }
)

Order = tuple[int, ...]
"""The permutation of a permute: its argument `dims`."""


@dataclass(frozen=True)
class _Repeat:
    """A sequence of unsqueeze, expand and view that repeats elements along a dimension."""

    dim: int
    count: int
    expand: Node
    view: Node


@dataclass
class _Region:
    """Connected operators on permuted tensors, and the permutes at the boundary of this region.

    Attributes:
        orders: for each node, the permutation that its input has. The result of a view may have another one.
        repeats: the repetitions by their first nodes. Their other two nodes are in `orders` too.
        entries: pairs (permute, node): the node of the region reads the permute.
        exits: pairs (node, permute): the permute restores the original order of dimensions.
        later: pairs (permute, new order): a permute behind the region that does not restore the original
            order. It is combined with the permutation of the region.
        constants: pairs (constant, node): the node of the region reads the constant.
    """

    orders: dict[Node, Order] = field(default_factory=dict)
    repeats: dict[Node, _Repeat] = field(default_factory=dict)
    entries: list[tuple[Node, Node]] = field(default_factory=list)
    exits: list[tuple[Node, Node]] = field(default_factory=list)
    later: list[tuple[Node, Order]] = field(default_factory=list)
    constants: list[tuple[Node, Node]] = field(default_factory=list)

    def removes_a_permute(self) -> bool:
        """Whether the rewrite removes at least one permute."""
        rewired = set(self.entries)
        return bool(self.exits) or any(
            all((permute, user) in rewired for user in permute.users) for permute, _ in self.entries
        )


class RemovePermutesAroundElementwiseOpsPass(InPlacePass):
    """Removes permutes in front of elementwise operators together with the inverse permutes behind them.

    Before: y = permute_copy(relu(permute_copy(x, [0, 2, 1])), [0, 2, 1]). Expected: y = relu(x)

    The pass also supports concatenations, slices, paddings, sums and means with keepdim=True, views that add
    or remove dimensions of size 1, and repetitions. It changes the dimensions in their arguments. A permute
    behind these operators that is not the inverse is combined with the removed permute. Constants in the
    region are permuted instead.

    Args:
        extra_permutable_ops: additional elementwise operators.
    """

    def __init__(self, extra_permutable_ops: Collection[Overload] | None = None) -> None:
        super().__init__()
        self._permutable_ops = _PERMUTABLE.union(extra_permutable_ops or ())

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        done: set[Node] = set()
        evaluator = Evaluator.of(module)
        for node in list(module.graph.nodes):
            order = self.get_permutation(node) if is_permute_copy(node) else None
            if order is None:
                continue
            for user in list(node.users):
                if user in done or not self._can_be_in_region(user):
                    continue
                region = _Region()
                if self._grow(region, user, tuple(order), done) and self._apply(evaluator, region):
                    done.update(region.orders)
                    changed = True
        return changed

    def get_permutation(self, permute_node: Node) -> list[int] | None:
        """Returns the permutation of a permute; None if its argument is not a permutation."""
        return permutation_of(permute_node)

    def is_node_permutable(self, node: Node) -> bool:
        """Returns whether permuting the input of an operator only permutes its result."""
        if is_op(node, *_PADS):
            return _is_constant_pad(node)
        if is_op(node, *_REDUCTIONS):
            return node.target in self._permutable_ops and get_arg(node, "keepdim") is True
        op = aten_op(node.target) if node.op == "call_function" else None
        pointwise = op is not None and torch.Tag.pointwise in op.tags
        return node.target in self._permutable_ops or pointwise or _changes_ones(node)

    def _can_be_in_region(self, node: Node) -> bool:
        return self.is_node_permutable(node) or _repeat_at(node) is not None

    def _grow(self, region: _Region, start: Node, order: Order, done: Collection[Node]) -> bool:
        """Finds the region around a node. Returns whether the region can be computed without permutes."""
        waiting = [(start, order, False)]
        while waiting:
            node, order, from_below = waiting.pop()
            if node in region.orders:
                continue
            if node in done or not self._can_be_in_region(node):
                return False
            repeat = _repeat_at(node)
            if not self._fits(node, order, repeat, from_below):
                return False
            region.orders[node] = order
            last = node
            if repeat is not None:
                region.repeats[node] = repeat
                region.orders[repeat.expand] = region.orders[repeat.view] = order
                last = repeat.view
            behind = _order_behind(node, order) if repeat is None and _changes_ones(node) else order
            if behind is None:
                return False
            for user in last.users:
                if not self._add_exit(region, last, user, behind):
                    return False
                if user.op == "call_function" and not is_permute_copy(user) and not _is_sink(user):
                    waiting.append((user, behind, False))
            for source in node.all_input_nodes:
                is_boundary = self._add_entry(region, source, node, order)
                if is_boundary is None:
                    return False
                if not is_boundary:
                    waiting.append((source, order, True))
        return True

    @staticmethod
    def _fits(node: Node, order: Order, repeat: _Repeat | None, from_below: bool) -> bool:
        """Whether the input of a node has as many dimensions as the permutation."""
        if repeat is not None or _changes_ones(node):
            if from_below:  # The permutation is that of the result, which has other dimensions.
                return False
            return len(meta.get_shape(node.args[0])) == len(order)
        return meta.get_tensor(node) is None or len(meta.get_shape(node)) == len(order)

    def _add_exit(self, region: _Region, node: Node, user: Node, order: Order) -> bool:
        """Records a user of a node in the region. Returns whether the user can be supported."""
        if user.op == "output":
            return False
        if is_permute_copy(user):
            undone = self.get_permutation(user)
            if undone is None or len(undone) != len(order):
                return False
            if undone == inverse_permutation(order):
                region.exits.append((node, user))
            else:
                region.later.append((user, tuple(order[axis] for axis in undone)))
            return True
        return not _is_sink(user) or self._ignores_layout(user)

    def _add_entry(self, region: _Region, source: Node, node: Node, order: Order) -> bool | None:
        """Records an input of a node in the region.

        Returns:
            True if the input is at the boundary, False if it may belong to the region, None if the input
            cannot be supported.
        """
        if is_permute_copy(source):
            if self.get_permutation(source) != list(order):
                return None
            region.entries.append((source, node))
            return True
        tensor = meta.get_tensor(source)
        if tensor is not None and tensor.numel() == 1:
            return True  # A tensor with one element does not depend on the permutation.
        if not _is_constant(source):
            return False
        if tensor is None or tensor.dim() > len(order):
            return None
        region.constants.append((source, node))
        return True

    def _ignores_layout(self, sink: Node) -> bool:
        """Whether the operators behind a view do not depend on the order of the view's dimensions."""
        waiting = [(user, sink) for user in sink.users]
        seen: set[Node] = set()
        while waiting:
            node, source = waiting.pop()
            if (
                node in seen
                or node.op == "output"
                or is_op(node, aten.permute_copy.default)
                or _is_sink(node)
            ):
                continue
            seen.add(node)
            others = [item for item in node.all_input_nodes if item is not source]
            if not self.is_node_permutable(node) or any(_elements(item) not in (None, 1) for item in others):
                return False
            waiting.extend((user, node) for user in node.users)
        return True

    @staticmethod
    def _apply(evaluator: Evaluator, region: _Region) -> bool:
        """Rewrites a region if this removes a permute. Returns whether the region was rewritten."""
        if region.later and not region.removes_a_permute():
            return False
        inside = {node for repeat in region.repeats.values() for node in (repeat.expand, repeat.view)}
        for node, order in region.orders.items():
            if node in region.repeats:
                _move_repeat(node, region.repeats[node], order)
            elif node not in inside:
                _move_dims(node, order)
        for permute, node in region.entries:
            node.replace_input_with(permute, source_of(permute))
        for constant, node in region.constants:
            _permute_constant(evaluator, constant, node, inverse_permutation(region.orders[node]))
        for node, permute in region.exits:
            permute.replace_all_uses_with(node)
        for permute, order in region.later:
            set_arg(permute, "dims", list(order))
        return True


def _elements(node: Node) -> int | None:
    shape = static_shape(meta.get_tensor(node))
    return None if shape is None else math.prod(shape)


def _shapes(view: Node) -> tuple[list[int], list[int]] | None:
    """Returns the static shapes of the input and the result of a view; None for other nodes."""
    if not is_op(view, *VIEWS) or not isinstance(view.args[0], Node):
        return None
    before, after = (static_shape(meta.get_tensor(node)) for node in (view.args[0], view))
    return None if before is None or after is None else (before, after)


def _changes_ones(node: Node) -> bool:
    """Whether a node is a view that only adds or only removes dimensions of size 1."""
    shapes = _shapes(node)
    if shapes is None or len(shapes[0]) == len(shapes[1]):
        return False
    shorter, longer = sorted(shapes, key=len)
    return extra_ones(longer, shorter) is not None


def _order_behind(view: Node, order: Order) -> Order | None:
    """Returns the permutation of the result of a view that adds or removes dimensions of size 1.

    `order` is the permutation of the input.
    """
    shapes = _shapes(view)
    if shapes is None or len(shapes[0]) != len(order):
        return None
    before, after = shapes
    if len(after) > len(before):
        longer = list(order)
        for place in extra_ones(after, before) or ():
            longer = [axis + (axis >= place) for axis in longer]
            longer.insert(place, place)
        return tuple(longer)
    removed = [order[place] for place in extra_ones(before, after) or ()]
    kept = [axis for axis in order if axis not in removed]
    return tuple(axis - sum(other < axis for other in removed) for axis in kept)


def _is_sink(node: Node) -> bool:
    """Whether a node is a view of a tensor in which at most one dimension has a size other than 1."""
    if not is_op(node, *VIEWS):
        return False
    sizes = meta.get_shape(node.args[0])
    return sum(not (isinstance(size, int) and size == 1) for size in sizes) <= 1


def _is_constant(node: Node) -> bool:
    """Whether a node is a stored tensor, recognized by torch.export's prefixes, or a call of `full`."""
    if node.op == "placeholder":
        return str(node.target).startswith(("p_", "b_", "c_"))
    return node.op == "get_attr" or is_op(node, aten.full.default)


def _is_constant_pad(node: Node) -> bool:
    pad = node.args[1] if len(node.args) > 1 else None
    if not isinstance(pad, (list, tuple)) or len(pad) % 2:
        return False
    return not is_op(node, aten.pad.default) or get_arg(node, "mode") in (None, "constant")


def _repeat_at(node: Node) -> _Repeat | None:
    """Returns the repetition whose first node is `node`, or None.

    A repetition is an unsqueeze, an expand along the new dimension, and a view that merges this dimension
    with the previous one.
    """
    if len(node.users) != 1 or not is_op(node, aten.unsqueeze_copy.default, *VIEWS):
        return None
    source = node.args[0]
    before, after = static_shape(meta.get_tensor(source)), static_shape(meta.get_tensor(node))  # type: ignore[arg-type]
    if before is None or after is None or len(after) != len(before) + 1:
        return None
    if is_op(node, aten.unsqueeze_copy.default):
        place = int(get_arg(node, "dim")) % len(after)
    else:
        extra = extra_ones(after, before)
        if extra is None or len(extra) != 1:
            return None
        place = extra[0]
    expand = next(iter(node.users))
    if place == 0 or not is_op(expand, aten.expand_copy.default) or len(expand.users) != 1:
        return None
    size: Any = get_arg(expand, "size")
    if len(size) != len(after) or not all(type(item) is int for item in size) or size[place] < 1:
        return None
    if any(item not in (-1, after[axis]) for axis, item in enumerate(size) if axis != place):
        return None
    view = next(iter(expand.users))
    joined = list(before)
    joined[place - 1] *= size[place]
    if not is_op(view, *VIEWS) or static_shape(meta.get_tensor(view)) != joined:
        return None
    return _Repeat(place - 1, size[place], expand, view)


def _move_dims(node: Node, order: Order) -> None:
    """Changes the dimensions in the arguments of an operator to those of the input without the permute."""
    rank = len(order)
    if is_op(node, aten.cat.default, aten.slice_copy.Tensor):
        set_arg(node, "dim", order[int(get_arg(node, "dim")) % rank])
    elif is_op(node, *_REDUCTIONS):
        dims: Any = get_arg(node, "dim")
        if dims is not None:
            listed = [dims] if isinstance(dims, int) else dims
            set_arg(node, "dim", [order[axis % rank] for axis in listed])
    elif is_op(node, *_PADS):
        node.update_arg(1, _moved_padding(node.args[1], order))
    elif is_op(node, *VIEWS):
        shapes = _shapes(node)
        assert shapes is not None
        node.update_arg(1, _moved_shape(*shapes, order))


def _moved_padding(padding: Any, order: Order) -> list[int]:
    """Returns the padding for the input without the permute.

    A padding has the amounts (before, behind) for each dimension, starting with the last dimension.
    """
    rank = len(order)
    pairs = [(0, 0)] * rank
    for index in range(len(padding) // 2):
        pairs[order[rank - 1 - index]] = (padding[2 * index], padding[2 * index + 1])
    moved = [amount for pair in reversed(pairs) for amount in pair]
    while len(moved) > 2 and moved[-2:] == [0, 0]:
        del moved[-2:]
    return moved


def _without_order(shape: Sequence[int], order: Order) -> list[int]:
    inverse = inverse_permutation(order)
    return [shape[axis] for axis in inverse]


def _moved_shape(before: list[int], after: list[int], order: Order) -> list[int]:
    """Returns the shape of a view's result without the permute.

    `before` and `after` are the shapes of the view's input and result with the permute.
    """
    shape = _without_order(before, order)
    if len(after) > len(before):
        for place in extra_ones(after, before) or ():
            shape.insert(place, 1)
    else:
        for axis in sorted((order[place] for place in extra_ones(before, after) or ()), reverse=True):
            del shape[axis]
    return shape


def _move_repeat(node: Node, repeat: _Repeat, order: Order) -> None:
    """Changes a repetition to the dimension of the input without the permute."""
    shape = _without_order([int(size) for size in meta.get_shape(node.args[0])], order)
    dim = order[repeat.dim]
    if is_op(node, aten.unsqueeze_copy.default):
        set_arg(node, "dim", dim + 1)
    else:
        set_arg(node, "size", [*shape[: dim + 1], 1, *shape[dim + 1 :]])
    set_arg(repeat.expand, "size", [*shape[: dim + 1], repeat.count, *shape[dim + 1 :]])
    set_arg(repeat.view, "size", [*shape[:dim], shape[dim] * repeat.count, *shape[dim + 1 :]])


def _permute_constant(evaluator: Evaluator, constant: Node, node: Node, order: Sequence[int]) -> None:
    """Permutes a constant input of a node. Missing dimensions of the constant are added with size 1."""
    tensor = meta.get_tensor(constant)
    assert tensor is not None
    shape = [1] * (len(order) - tensor.dim()) + [int(size) for size in tensor.shape]
    first = next(item for item in constant.graph.nodes if item.op not in ("placeholder", "get_attr"))
    at = node if constant.op == "call_function" else first
    permuted = [shape[axis] for axis in order]
    if keeps_memory_order(shape, order):
        new = insert_call(evaluator, at, edge.view_copy.default, (constant, permuted))
    else:
        full = constant
        if len(shape) != tensor.dim():
            full = insert_call(evaluator, at, edge.view_copy.default, (constant, shape))
        new = insert_call(evaluator, at, edge.permute_copy.default, (full, list(order)))
    node.replace_input_with(constant, new)
