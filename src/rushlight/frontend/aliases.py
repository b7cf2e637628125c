"""Alias analysis for functionalization: which tensors of a graph share a storage.

Each tensor of the old graph has a handle. The handle of a root owns a storage; the handle of a view has a
parent, whose storage it shares. An in-place operator gives its handle new content, and scatters this content
into the parents up to the root. Other views of the same root are computed again from the root when they are
next read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node
from torch.fx.node import Argument

from rushlight.frontend.recorder import NeedsFallback
from rushlight.frontend.tables import is_view
from rushlight.ir import meta
from rushlight.ir.sym import same_size

aten = torch.ops.aten

# (operator, positional arguments, keyword arguments) -> the node of the new graph that computes the operator
Emit = Callable[[OpOverload, tuple[Argument, ...], dict[str, Argument]], Node]


class Handle:
    """A tensor of the old graph: the new node with its content, and for a view its parent and operator.

    An item of a list of views, such as a result of split, has the operator that makes this item alone. `op`
    is None for a root, and for an item whose position depends on a size. Such an item cannot be made again.
    `strides` are the strides of the parent for which the arguments of `as_strided` are valid.
    """

    __slots__ = ("args", "kwargs", "node", "op", "parent", "root", "strides", "version")

    def __init__(self, node: Node, parent: Handle | None = None) -> None:
        self.node = node
        self.parent = parent
        self.root: Handle = self if parent is None else parent.root
        self.op: OpOverload | None = None
        self.args: tuple[Any, ...] = ()
        self.kwargs: dict[str, Any] = {}
        self.strides: tuple[Any, ...] = ()
        # A root counts its writes. A view stores the root's count at the time when the view was computed.
        self.version: int = 0 if parent is None else parent.root.version


class Aliases:
    """The handles of one graph.

    Args:
        sizes: returns the shape of a node as arguments of a call: ints, and nodes for symbolic sizes.
    """

    def __init__(self, sizes: Callable[[Node], list[int | Node]]) -> None:
        self._sizes = sizes
        self._of: dict[Node, Handle] = {}

    def of(self, node: Node) -> Handle:
        """Returns the handle whose content is `node` of the new graph. The first call creates it."""
        handle = self._of.get(node)
        if handle is None:
            handle = self._of[node] = self._new(node)
        return handle

    def _new(self, node: Node) -> Handle:
        op, source = node.target, node.args[0] if node.args else None
        if not isinstance(source, Node):
            return Handle(node)
        if op is operator.getitem:
            base = source.args[0] if source.args else None
            if isinstance(base, Node) and isinstance(source.target, OpOverload) and is_view(source.target):
                handle = Handle(node, self.of(base))
                handle.op, handle.args = _view_of_item(source, node.args[1])
                return handle
        if not isinstance(op, OpOverload) or not is_view(op):
            return Handle(node)
        handle = Handle(node, self.of(source))
        handle.op, handle.args, handle.kwargs = op, node.args[1:], dict(node.kwargs)
        if op is aten.as_strided.default:
            handle.strides = meta.get_val(source).stride()
        return handle

    def current(self, handle: Handle, emit: Emit) -> Node:
        """Returns the node with the handle's content after all writes so far.

        Args:
            handle: a handle of this graph.
            emit: adds a call to the new graph, if a view must be computed again.

        Raises:
            NeedsFallback: the handle is an item without an operator, and its base was written.
        """
        if handle.parent is None or handle.version == handle.root.version:
            return handle.node
        if handle.op is None:
            raise NeedsFallback("an item of a list of views is read after its base was written")
        base = self._base(handle, emit)
        handle.node = emit(handle.op, (base, *handle.args), handle.kwargs)
        handle.version = handle.root.version
        self._of[handle.node] = handle
        return handle.node

    def write(self, handle: Handle, content: Node, emit: Emit) -> None:
        """Sets a handle's content, and writes it into the tensors of which the handle is a view.

        Args:
            handle: a handle of this graph.
            content: the node of the new graph that computes the content.
            emit: adds a call to the new graph.

        Raises:
            NeedsFallback: a view has no operator that writes its content into the base.
        """
        path = [(handle, content)]
        child = handle
        while child.parent is not None:
            base = self._base(child, emit)
            content = self._scatter(child, base, content, emit)
            child = child.parent
            path.append((child, content))
        child.root.version += 1
        for written, node in path:
            written.node = node
            written.version = written.root.version
            self._of[node] = written

    def add_view(self, node: Node, base: Handle, op: OpOverload) -> Handle:
        """Makes `node`, the result of a functional operator, a view of another tensor."""
        handle = self._of[node] = Handle(node, base)
        handle.op = op
        return handle

    def share_memory(self, node: Node, others: Iterable[Node]) -> bool:
        """Whether the content of `node` is in the same storage as that of one of the others."""
        root = self.of(node).root
        return any(self.of(other).root is root for other in others)

    def with_strides(self, handle: Handle, strides: tuple[Any, ...], emit: Emit) -> Node:
        """Returns the node with the handle's content in a layout, which a write may have changed.

        Raises:
            NeedsFallback: the layout has gaps.
        """
        node = self.current(handle, emit)
        if handle.parent is not None and meta.get_val(node).stride() != strides:
            handle.version = -1
            node = self.current(handle, emit)
        if meta.get_val(node).stride() != strides:
            order = sorted(range(len(strides)), key=lambda dim: strides[dim], reverse=True)
            inverse = sorted(range(len(order)), key=order.__getitem__)
            ordered = emit(aten.permute.default, (node, order), {})
            dense = emit(aten.clone.default, (ordered,), {"memory_format": torch.contiguous_format})
            node = emit(aten.permute.default, (dense, inverse), {})
            self.store(handle, node)
        if meta.get_val(node).stride() != strides:
            raise NeedsFallback("as_strided reads a tensor whose layout changes")
        return node

    def _base(self, view: Handle, emit: Emit) -> Node:
        assert view.parent is not None
        if view.op is aten.as_strided.default:
            return self.with_strides(view.parent, view.strides, emit)
        return self.current(view.parent, emit)

    def store(self, handle: Handle, node: Node) -> None:
        """Uses another node with the same content for a handle, such as a copy in another layout."""
        handle.node = node
        self._of[node] = handle

    def _scatter(self, view: Handle, base: Node, content: Node, emit: Emit) -> Node:
        """Returns `base` in which the elements of `view` are replaced by `content`."""
        scatter = _SCATTERS.get(view.op)
        if scatter is not None:
            return emit(scatter, (base, content, *view.args), {})
        inverse_op = _INVERSES.get(view.op)
        if inverse_op is not None:
            return emit(inverse_op, (content,), {})
        if view.op is aten.view.dtype:
            return emit(aten.view.dtype, (content, meta.get_val(base).dtype), {})
        if view.op is aten.as_strided.default:
            _check_whole(view, base)
            return emit(aten.as_strided_scatter.default, (base, content, *view.args), view.kwargs)
        if view.op in (aten.view.default, aten._unsafe_view.default):
            # `reshape`, because a view to the shape of the base may not exist for the content's strides.
            return emit(aten.reshape.default, (content, self._sizes(base)), {})
        if view.op is aten.permute.default:
            order = [dim % len(view.args[0]) for dim in view.args[0]]
            inverse = sorted(range(len(order)), key=order.__getitem__)
            return emit(aten.permute.default, (content, inverse), {})
        if view.op is aten.unsqueeze.default:
            return emit(aten.squeeze.dims, (content, [view.args[0]]), {})
        if view.op is aten.squeeze.dims:
            for dim in _squeezed(base, view.args[0]):
                content = emit(aten.unsqueeze.default, (content, dim), {})
            return content
        if view.op in (aten.alias.default, aten.clone.default):
            return content
        if view.op is aten.expand.default:
            return _unexpanded(base, content, emit)
        raise NeedsFallback(f"a tensor is written through {view.op or 'an item of a list of views'}")


_SCATTERS: dict[object, OpOverload] = {
    aten.slice.Tensor: aten.slice_scatter.default,
    aten.select.int: aten.select_scatter.default,
    aten.diagonal.default: aten.diagonal_scatter.default,
}

_INVERSES: dict[object, OpOverload] = {
    aten._conj_physical.default: aten._conj_physical.default,
    aten.view_as_real.default: aten.view_as_complex.default,
    aten.view_as_complex.default: aten.view_as_real.default,
}


def _check_whole(view: Handle, base: Node) -> None:
    """Raises NeedsFallback if a view by strides may reach elements outside its base."""
    root = meta.get_val(view.root.node)
    if not same_size(meta.get_val(base).numel(), root.numel()):
        raise NeedsFallback("a part of a tensor is written through as_strided")


def _view_of_item(views: Node, index: Any) -> tuple[OpOverload | None, tuple[Any, ...]]:
    """Returns the operator and the arguments, after the base, that make one item of a list of views."""
    dims = views.args[1:] if views.target is aten.unbind.int else views.args[2:]
    dim = dims[0] if dims else views.kwargs.get("dim", 0)
    if views.target is aten.unbind.int:
        return aten.select.int, (dim, index)
    sizes: Any = views.args[1]
    if views.target is aten.split.Tensor:
        sizes = [sizes] * (index + 1)
    elif views.target is not aten.split_with_sizes.default:
        return None, ()
    if not all(isinstance(size, int) for size in sizes[: index + 1]):
        return None, ()
    start = sum(sizes[:index])
    return aten.slice.Tensor, (dim, start, start + sizes[index])


def _unexpanded(base: Node, content: Node, emit: Emit) -> Node:
    """Returns the content of `base` after its expanded view got `content`. Repeated elements are equal."""
    before, shape = meta.get_val(base).shape, meta.get_val(content).shape
    for _ in range(len(shape) - len(before)):
        content = emit(aten.select.int, (content, 0, 0), {})
    for dim, size in enumerate(before):
        if isinstance(size, int) and size == 1:
            content = emit(aten.slice.Tensor, (content, dim, 0, 1), {})
    if meta.get_val(content).shape != before or not all(isinstance(size, int) and size for size in shape):
        raise NeedsFallback("a tensor is written through a view that may be empty")
    return content


def _squeezed(base: Node, dims: Any) -> list[int]:
    shape = meta.get_val(base).shape
    return sorted(dim % len(shape) for dim in dims if shape[dim] == 1)
