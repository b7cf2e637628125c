"""Moves views and permutes up or down a graph, so that they can be merged with other views and permutes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.compat.transforms.dim_maps import (
    PermuteMap,
    Size,
    ViewMap,
    keeps_memory_order,
    normalized_axes,
    normalized_permutation,
)
from rushlight.compat.transforms.duplicates import FuseDuplicateUsersPass
from rushlight.compat.transforms.identical_inputs import FuseIdenticalInputTransformsPass
from rushlight.compat.transforms.permutes import get_arg
from rushlight.compat.transforms.rewriting import renew, settle, size_arguments
from rushlight.compat.transforms.view_permutes import (
    PERMUTE_COPY,
    CanonicalizeViewCopyPermutePass,
)
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op, is_op, ops
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import graph_modules

aten = torch.ops.aten
edge = ops.edge.aten

_REDUCTIONS = (aten.mean.dim, aten.sum.dim_IntList)
_LAYOUT_COPIES = frozenset(
    {
        ops.edge.dim_order_ops._clone_dim_order.default,
        ops.edge.dim_order_ops._to_dim_order_copy.default,
    }
)

_SwappedArguments = tuple[tuple[Argument, ...], tuple[Argument, ...]]
"""After a swap of two nodes: the arguments of the moved node and of the other node, without the first one."""


class PropagateViewCopyPermutePass(PassBase):
    """The base class of the passes that move views and permutes. A subclass defines the direction.

    Each view or permute is swapped with the next operator in this direction as long as possible. Then
    adjacent views and permutes are merged, and both steps are repeated until the graph does not change.

    Args:
        compile_spec: the options of a backend, for subclasses; or the program of the graph.
        exported_program: the program of the graph, for subclasses.
        permute_targets: the permute operators. The default is `aten.permute_copy`, which new permutes always
            call.
    """

    _TRANSPARENT_TARGETS: ClassVar[frozenset[Any]] = _LAYOUT_COPIES

    def __init__(
        self,
        compile_spec: Any | None = None,
        exported_program: ExportedProgram | None = None,
        permute_targets: Iterable[Any] | None = None,
    ) -> None:
        super().__init__()
        if isinstance(compile_spec, ExportedProgram) and exported_program is None:
            compile_spec, exported_program = None, compile_spec
        self.exported_program = exported_program
        self.compile_spec = compile_spec
        self._permute_targets = frozenset(permute_targets or (PERMUTE_COPY,))

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module and the bodies of its control flow, in place."""
        changed = False
        for module in list(graph_modules(graph_module)):
            again = self._merge(module)
            while True:
                moved = self._move_all(module)
                if moved:
                    settle(module)
                joined = not moved and self._merge(module)
                again |= moved or joined
                if not moved and not joined:
                    break
            if again:
                settle(module)
                changed = True
        return PassResult(graph_module, changed)

    def _merge(self, module: GraphModule) -> bool:
        """Merges parallel views and permutes, and chains of them. Returns whether the graph changed."""
        return any([self.fuse_horizontal(module).modified, self.fuse_vertical(module).modified])

    def _move_all(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            while node.users and self._is_moved(node) and self._step(evaluator, node):
                changed = True
        return changed

    def _is_moved(self, node: Node) -> bool:
        known = node.op == "call_function" and meta.get_tensor(node) is not None
        return known and (self._is_view(node) or node.target in self._permute_targets)

    @staticmethod
    def _is_view(node: Node) -> bool:
        return is_op(node, aten.view_copy.default, aten.view.default)

    @abstractmethod
    def _step(self, evaluator: Evaluator, node: Node) -> bool:
        """Swaps a node with the next operator. Returns whether this was possible."""

    @abstractmethod
    def fuse_horizontal(self, graph_module: GraphModule) -> PassResult:
        """Merges equal views and permutes of parallel branches."""

    def fuse_vertical(self, graph_module: GraphModule) -> PassResult:
        """Merges chains of views and permutes."""
        fusion = self.make_fusion_pass()
        changed = fusion is not None and bool(fusion.call(graph_module).modified)  # type: ignore[union-attr]
        changed |= CanonicalizeViewCopyPermutePass(self._permute_targets).call(graph_module).modified
        return PassResult(graph_module, changed)

    def duplicate_user_fusion_exclusions(self) -> frozenset[Any]:
        """Returns the operators whose equal calls must not be merged. By default, there are none."""
        return frozenset()

    def make_fusion_pass(self) -> PassBase | None:
        """Returns an in-place pass that runs before chains are merged, or None (the default)."""
        return None

    def is_transparent(self, node: Node) -> bool:
        """Returns whether an operator only copies elements and changes the memory layout.

        A view that changes the number of dimensions is not swapped with such an operator.
        """
        return node.target in self._TRANSPARENT_TARGETS

    def is_multi_input_elementwise(self, node: Node) -> bool:
        """Returns whether an elementwise operator has other inputs whose layout need not change."""
        return False

    def blocks_crossing(self, node: Node) -> bool:
        """Returns whether the inputs of a node must not be moved."""
        return False

    def blocks_moving(self, moving_node: Node, frontier: Node, next_nodes: Sequence[Node]) -> bool:
        """Returns whether a view or permute must not be moved.

        Args:
            moving_node: the view or permute.
            frontier: the node with which it was swapped last; at first `moving_node`.
            next_nodes: the nodes with which it would be swapped.
        """
        return False

    def tolerates_shape_after_move(self, next_node: Node, shape: Any) -> bool:
        """Returns whether an operator supports an input with a shape."""
        return True

    def is_elementwise(self, node: Node) -> bool:
        """Returns whether an operator is elementwise."""
        op = aten_op(node.target) if node.op == "call_function" else None
        return op is not None and (self.is_transparent(node) or torch.Tag.pointwise in op.tags)

    def is_swappable(self, next_node: Node) -> bool:
        """Returns whether an operator is a slice, or a sum or mean with keepdim=True."""
        if is_op(next_node, *_REDUCTIONS):
            return get_arg(next_node, "keepdim") is True
        return is_op(next_node, aten.slice_copy.Tensor)

    def _can_swap_elementwise(self, node: Node, other: Node, source: Node, shape: Sequence[Size]) -> bool:
        """Whether a node can be swapped with an elementwise operator.

        Args:
            node: the view or permute.
            other: the operator.
            source: the input of the operator whose shape would change.
            shape: the new shape of this input.
        """
        if not self.is_elementwise(other) or meta.get_tensor(other) is None:
            return False
        permutes = not self._is_view(node)
        if len(other.all_input_nodes) != 1 and not self.is_multi_input_elementwise(other):
            rank = len(meta.get_shape(source))
            rest = [item for item in other.all_input_nodes if item is not source]
            if not permutes or not all(
                FuseIdenticalInputTransformsPass.is_layout_invariant(item, rank) for item in rest
            ):
                return False
        if permutes and len(meta.get_shape(other)) != len(meta.get_shape(node)):
            return False
        if not permutes:
            mapping = ViewMap(node)
            if not mapping.is_valid_map:
                return False
            if self.is_transparent(other) and mapping.source_rank != mapping.target_rank:
                return False
        return self.tolerates_shape_after_move(other, torch.Size(shape))  # type: ignore[arg-type]


class PropagateViewCopyPermuteUpPass(PropagateViewCopyPermutePass):
    """Moves views and permutes towards the inputs of the graph.

    Before: y = permute_copy(relu(x), [1, 0]). Expected: y = relu(permute_copy(x, [1, 0]))
    """

    @override
    def fuse_horizontal(self, graph_module: GraphModule) -> PassResult:
        equal = FuseDuplicateUsersPass(self.duplicate_user_fusion_exclusions())
        changed = equal.rewrite_all(graph_module)
        return PassResult(graph_module, changed)

    @override
    def _step(self, evaluator: Evaluator, node: Node) -> bool:
        other = node.all_input_nodes[0]
        if other.op != "call_function" or self.blocks_moving(node, node, [other]):
            return False
        if self._permute_concatenated(evaluator, node, other):
            return True
        if list(other.users) != [node] or any(map(self.blocks_crossing, node.users)):
            return False
        source, crossing = self._source(node, other), self._swapped_arguments(node, other)
        if source is None or crossing is None:
            return False
        node.replace_all_uses_with(other)
        other.prepend(node)
        node.args = (source, *crossing[0])
        if crossing[1]:
            other.args = (other.args[0], *crossing[1])
        other.replace_input_with(source, node)
        renew(evaluator, node)
        renew(evaluator, other)
        return True

    def _source(self, node: Node, other: Node) -> Node | None:
        """Returns the input of an operator in front of which the node is moved, or None."""
        rank = len(meta.get_shape(other))
        found = [
            item
            for item in other.all_input_nodes
            if not FuseIdenticalInputTransformsPass.is_layout_invariant(item, rank)
        ]
        if len(other.all_input_nodes) == 1 or self.is_multi_input_elementwise(other):
            return other.all_input_nodes[0]
        return found[0] if len(found) == 1 else None

    def _swapped_arguments(self, node: Node, other: Node) -> _SwappedArguments | None:
        """Returns the arguments after a swap with the operator in front of a node; None if impossible."""
        source = self._source(node, other)
        if source is None:
            return None
        if self._can_swap_elementwise(node, other, source, meta.get_shape(node)):
            return node.args[1:], ()
        if not self.is_swappable(other) or len(other.all_input_nodes) != 1:
            return None
        if not self._is_view(node):
            dims = _dims_of(other)
            if dims is None:
                return None
            mapped: Any = PermuteMap(node).map_dims(dims)
            return node.args[1:], _with_dims(other, mapped)
        mapping = ViewMap(node)
        shape = meta.get_shape(source)
        if not mapping.is_valid_map:
            return None
        if is_op(other, *_REDUCTIONS):
            return self._view_over_reduction(node, other, source, mapping, shape)
        return self._view_over_slice(node, other, source, mapping, shape)

    @staticmethod
    def _view_over_reduction(
        node: Node, other: Node, source: Node, mapping: ViewMap, shape: tuple[Size, ...]
    ) -> _SwappedArguments | None:
        dims = _dims_of(other)
        found = mapping.map_reduction_after_view(shape, dims) if dims is not None else None
        sizes = size_arguments(source, found[0], other) if found is not None else None
        return None if found is None or sizes is None else ((sizes,), _with_dims(other, found[1]))

    @staticmethod
    def _view_over_slice(
        node: Node, other: Node, source: Node, mapping: ViewMap, shape: tuple[Size, ...]
    ) -> _SwappedArguments | None:
        dims, bounds = _dims_of(other), [get_arg(other, name) for name in ("start", "end", "step")]
        if dims is None or other.kwargs or not all(type(bound) is int for bound in bounds):
            return None
        start, end, step = bounds
        unit = mapping.remap_unit_slice(shape, dims[0], start, end, step)
        if unit is not None:
            viewed, axis, start, end = unit
        else:
            remapped = mapping.remap_target_shape(shape)
            mapped = mapping.source_to_target_axes()[dims[0]]
            if remapped is None or len(mapped) != 1:
                return None
            viewed, axis = remapped, mapped[0]
            if mapping.source_axes_for_target_axis(axis, mapping.source_to_target_axes()) != dims:
                return None
        length = viewed[axis]
        if not isinstance(length, int) or not 0 <= start < end <= length:
            return None
        sizes = size_arguments(source, viewed, other)
        return None if sizes is None else ((sizes,), (axis, start, end, step))

    def _permute_concatenated(self, evaluator: Evaluator, node: Node, other: Node) -> bool:
        """Replaces a permute of a concatenation by permutes of its inputs, if these do not move data.

        Returns:
            Whether the graph changed.
        """
        if self._is_view(node) or not is_op(other, aten.cat.default):
            return False
        order = normalized_permutation(node.args[1])
        same = [user for user in other.users if user.target is node.target and user.args[1:] == node.args[1:]]
        dim = normalized_axes(get_arg(other, "dim"), len(meta.get_shape(other)))
        inputs: Any = other.args[0]
        if order is None or dim is None or len(same) != len(other.users):
            return False
        if any(len(meta.get_shape(item)) != len(order) for item in inputs):
            return False
        if not all(keeps_memory_order(meta.get_shape(item), order) for item in inputs):
            return False
        permuted = []
        for item in inputs:
            with other.graph.inserting_before(other):
                new = other.graph.call_function(PERMUTE_COPY, (item, order))
            meta.copy_origin(item, new)
            meta.set_val(new, evaluator.value(PERMUTE_COPY, new.args))
            permuted.append(new)
        other.args, other.kwargs = (permuted, PermuteMap(node).map_dims(dim)[0]), {}
        renew(evaluator, other)
        for user in same:
            user.replace_all_uses_with(other)
        for user in same:
            if user is not node:
                user.graph.erase_node(user)
        return True


class PropagateViewCopyPermuteDownPass(PropagateViewCopyPermutePass):
    """Moves views and permutes towards the outputs of the graph.

    Before: y = relu(permute_copy(x, [1, 0])). Expected: y = permute_copy(relu(x), [1, 0])

    A permute with several users is moved behind each of them.
    """

    @override
    def fuse_horizontal(self, graph_module: GraphModule) -> PassResult:
        return FuseIdenticalInputTransformsPass(permute_targets=self._permute_targets).call(graph_module)

    @override
    def _step(self, evaluator: Evaluator, node: Node) -> bool:
        users = list(node.users)
        if self._is_view(node) and len(users) > 1:
            return False
        if self.blocks_moving(node, node, users):
            return False
        crossings = [self._swapped_arguments(node, user, alone=len(users) == 1) for user in users]
        if None in crossings:
            return False
        source = node.all_input_nodes[0]
        for user, crossing in zip(users, crossings, strict=True):
            assert crossing is not None
            self._pass(evaluator, node, source, user, crossing, alone=len(users) == 1)
        if len(users) > 1:
            node.graph.erase_node(node)
        return True

    @staticmethod
    def _pass(
        evaluator: Evaluator, node: Node, source: Node, user: Node, crossing: _SwappedArguments, alone: bool
    ) -> None:
        """Moves a node behind its user. If the node has several users, a copy is inserted behind the user."""
        readers = list(user.users)
        user.replace_input_with(node, source)
        if crossing[1]:
            user.args = (user.args[0], *crossing[1])
        renew(evaluator, user)
        arguments = (user, *crossing[0])
        if alone:
            node.args, moved = arguments, node
            user.append(node)
        else:
            with user.graph.inserting_after(user):
                moved = user.graph.call_function(node.target, arguments, dict(node.kwargs))  # type: ignore[arg-type]
            meta.copy_all(node, moved)
        for reader in readers:
            reader.replace_input_with(user, moved)
        renew(evaluator, moved)

    def _swapped_arguments(self, node: Node, user: Node, alone: bool) -> _SwappedArguments | None:
        """Returns the arguments after a swap with a user of a node; None if the swap is impossible."""
        source = node.all_input_nodes[0]
        if user.op != "call_function" or meta.get_tensor(user) is None:
            return None
        if not alone and len(meta.get_shape(user)) != len(meta.get_shape(node)):
            return None
        if self._can_swap_elementwise(node, user, node, meta.get_shape(source)):
            if alone and len(user.all_input_nodes) != 1 and not self.is_multi_input_elementwise(user):
                return None
            if self._is_view(node):
                sizes = size_arguments(source, meta.get_shape(node), node)
                return None if sizes is None else ((sizes,), ())
            return node.args[1:], ()
        dims = _dims_of(user)
        if not self.is_swappable(user) or len(user.all_input_nodes) != 1 or dims is None:
            return None
        if not self._is_view(node):
            return node.args[1:], _with_dims(user, PermuteMap(node).map_dims_inverse(dims))
        mapping = ViewMap(node)
        if not mapping.is_valid_map:
            return None
        if is_op(user, *_REDUCTIONS):
            found = mapping.map_reduction_before_view(dims)
            sizes = size_arguments(source, found[1], node) if found is not None else None
            return None if found is None or sizes is None else ((sizes,), _with_dims(user, found[0]))
        mapped = mapping.map_dim_inverse(dims)
        sizes = size_arguments(source, meta.get_shape(user), node)
        if mapped is None or len(mapped) != 1 or sizes is None:
            return None
        return (sizes,), _with_dims(user, mapped)


def _dims_of(node: Node) -> list[int] | None:
    """Returns the dimensions of a reduction or slice; None if they are not a positional argument."""
    rank = len(meta.get_shape(node.all_input_nodes[0]))
    dims = node.args[1] if len(node.args) > 1 else None
    return normalized_axes(list(dims) if isinstance(dims, (list, tuple)) else dims, rank)


def _with_dims(node: Node, dims: Sequence[int]) -> tuple[Argument, ...]:
    """Returns the arguments of a reduction or slice without the first one, with other dimensions."""
    first: Argument = list(dims) if is_op(node, *_REDUCTIONS) else dims[0]
    return (first, *node.args[2:])
