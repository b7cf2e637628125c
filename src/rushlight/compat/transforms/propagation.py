"""Moves views and permutes up or down a graph, until they meet others and can be joined with them."""

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

_Crossing = tuple[tuple[Argument, ...], tuple[Argument, ...]]
"""The arguments behind the first one of the moved node, and of the node that it has passed."""


class PropagateViewCopyPermutePass(PassBase):
    """The base of the passes that move views and permutes; a subclass has the direction.

    One after another passes the next operator of its direction as long as it can. Then those that meet are
    joined, and all are tried again.

    Args:
        compile_spec: options of a backend, which subclasses read; it may be the program instead.
        exported_program: the program of the graph, which subclasses read.
        permute_targets: the operators that permute; new ones are `aten.permute_copy`, which is the default.
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
        """Changes the graph module that is given, and the bodies of its control flow."""
        changed = False
        for module in list(graph_modules(graph_module)):
            again = self._join(module)
            while True:
                moved = self._move_all(module)
                if moved:
                    settle(module)
                joined = not moved and self._join(module)
                again |= moved or joined
                if not moved and not joined:
                    break
            if again:
                settle(module)
                changed = True
        return PassResult(graph_module, changed)

    def _join(self, module: GraphModule) -> bool:
        """Joins parallel views and permutes, and chains of them."""
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
        """Lets a node pass the next operator; says whether it did."""

    @abstractmethod
    def fuse_horizontal(self, graph_module: GraphModule) -> PassResult:
        """Joins equal views and permutes beside each other."""

    def fuse_vertical(self, graph_module: GraphModule) -> PassResult:
        """Joins views and permutes of each other."""
        further = self.make_fusion_pass()
        changed = further is not None and bool(further.call(graph_module).modified)  # type: ignore[union-attr]
        changed |= CanonicalizeViewCopyPermutePass(self._permute_targets).call(graph_module).modified
        return PassResult(graph_module, changed)

    def duplicate_user_fusion_exclusions(self) -> frozenset[Any]:
        """Returns the operators whose equal calls must stay apart: by default none."""
        return frozenset()

    def make_fusion_pass(self) -> PassBase | None:
        """Returns a pass that runs before chains are joined, in place; by default None."""
        return None

    def is_transparent(self, node: Node) -> bool:
        """Returns whether an operator does the same to each element, and only reads its dimensions' order.

        A view that changes the number of dimensions does not pass it.
        """
        return node.target in self._TRANSPARENT_TARGETS

    def is_multi_input_elementwise(self, node: Node) -> bool:
        """Returns whether an elementwise operator has further inputs that need no other layout."""
        return False

    def blocks_crossing(self, node: Node) -> bool:
        """Returns whether what a node reads must not be moved."""
        return False

    def blocks_moving(self, moving_node: Node, frontier: Node, next_nodes: Sequence[Node]) -> bool:
        """Returns whether a view or permute must stay where it is, whatever the next operators are.

        Args:
            moving_node: the view or permute.
            frontier: what it has passed last, at first itself.
            next_nodes: what it would pass.
        """
        return False

    def tolerates_shape_after_move(self, next_node: Node, shape: Any) -> bool:
        """Returns whether an operator can have an input of a shape."""
        return True

    def is_elementwise(self, node: Node) -> bool:
        """Returns whether an operator does the same to each element."""
        op = aten_op(node.target) if node.op == "call_function" else None
        return op is not None and (self.is_transparent(node) or torch.Tag.pointwise in op.tags)

    def is_swappable(self, next_node: Node) -> bool:
        """Returns whether an operator is a slice, or a sum or mean that keeps its dimensions."""
        if is_op(next_node, *_REDUCTIONS):
            return get_arg(next_node, "keepdim") is True
        return is_op(next_node, aten.slice_copy.Tensor)

    def _passes_elementwise(self, node: Node, other: Node, source: Node, shape: Sequence[Size]) -> bool:
        """Whether a node can change places with an elementwise operator.

        Args:
            node: the view or permute.
            other: the operator.
            source: the input of the operator that would have the other shape.
            shape: that shape.
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
        if self._spread_over_concatenation(evaluator, node, other):
            return True
        if list(other.users) != [node] or any(map(self.blocks_crossing, node.users)):
            return False
        source, crossing = self._source(node, other), self._crossing(node, other)
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
        """The input of an operator that has its layout."""
        rank = len(meta.get_shape(other))
        found = [
            item
            for item in other.all_input_nodes
            if not FuseIdenticalInputTransformsPass.is_layout_invariant(item, rank)
        ]
        if len(other.all_input_nodes) == 1 or self.is_multi_input_elementwise(other):
            return other.all_input_nodes[0]
        return found[0] if len(found) == 1 else None

    def _crossing(self, node: Node, other: Node) -> _Crossing | None:
        """How a node passes the operator that it reads; None if it cannot."""
        source = self._source(node, other)
        if source is None:
            return None
        if self._passes_elementwise(node, other, source, meta.get_shape(node)):
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
    ) -> _Crossing | None:
        dims = _dims_of(other)
        found = mapping.map_reduction_after_view(shape, dims) if dims is not None else None
        sizes = size_arguments(source, found[0], other) if found is not None else None
        return None if found is None or sizes is None else ((sizes,), _with_dims(other, found[1]))

    @staticmethod
    def _view_over_slice(
        node: Node, other: Node, source: Node, mapping: ViewMap, shape: tuple[Size, ...]
    ) -> _Crossing | None:
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

    def _spread_over_concatenation(self, evaluator: Evaluator, node: Node, other: Node) -> bool:
        """Permutes what is concatenated instead of the concatenation, where that moves no data."""
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
        crossings = [self._crossing(node, user, alone=len(users) == 1) for user in users]
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
        evaluator: Evaluator, node: Node, source: Node, user: Node, crossing: _Crossing, alone: bool
    ) -> None:
        """Puts a node, or one like it, behind its user."""
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

    def _crossing(self, node: Node, user: Node, alone: bool) -> _Crossing | None:
        """How a node passes one of its users; None if it cannot."""
        source = node.all_input_nodes[0]
        if user.op != "call_function" or meta.get_tensor(user) is None:
            return None
        if not alone and len(meta.get_shape(user)) != len(meta.get_shape(node)):
            return None
        if self._passes_elementwise(node, user, node, meta.get_shape(source)):
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
    """The dimensions of a reduction or slice; None if it does not name them, or by a keyword."""
    rank = len(meta.get_shape(node.all_input_nodes[0]))
    dims = node.args[1] if len(node.args) > 1 else None
    return normalized_axes(list(dims) if isinstance(dims, (list, tuple)) else dims, rank)


def _with_dims(node: Node, dims: Sequence[int]) -> tuple[Argument, ...]:
    """The arguments of a reduction or slice behind the first one, with other dimensions."""
    first: Argument = list(dims) if is_op(node, *_REDUCTIONS) else dims[0]
    return (first, *node.args[2:])
