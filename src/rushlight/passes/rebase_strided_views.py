"""Lets `as_strided` and its scatter use the tensor that owns the memory, in the order of this memory."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.errors import CompileError
from rushlight.ir.fake import Evaluator
from rushlight.ir.spec import dim_order_from_strides, is_dense_in
from rushlight.ir.sym import same_size
from rushlight.passes.base import GraphPass, insert_call

aten = torch.ops.aten

_READS = (aten.as_strided.default, aten.as_strided_copy.default)
_WRITE = aten.as_strided_scatter.default


class RebaseStridedViewsPass(GraphPass):
    """Replaces the source of `as_strided` and its scatter by a row-major tensor with the same memory.

    These operators count elements from the start of the memory that their source shares. Later passes replace
    views by copies with a memory of their own, so that the source must not be a view. The result of
    `as_strided_scatter` has the shape and the strides of its source: the views of the source follow it.

    Before: a = aten.permute(x, [1, 0]); b = aten.as_strided(a, [2, 2], [1, 1])
    Expected: b = aten.as_strided(x, [2, 2], [1, 1], 0)

    Raises:
        CompileError: the memory of the source has gaps.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            if node.target in _READS:
                changed = _rebase_read(node, evaluator) or changed
            elif node.target is _WRITE:
                changed = _rebase_write(node, evaluator) or changed
        return changed


def _rebase_read(node: Node, evaluator: Evaluator) -> bool:
    source = node.args[0]
    assert isinstance(source, Node)
    size, stride, offset = _window(node, 1)
    path, start = _memory(source, offset, evaluator)
    order = _order(node, path[0])
    if len(path) == 1 and order == sorted(order):
        return False
    node.args = (_permuted(evaluator, node, path[0], order), size, stride, start)
    node.kwargs = {}
    return True


def _rebase_write(node: Node, evaluator: Evaluator) -> bool:
    source, values = node.args[:2]
    assert isinstance(source, Node)
    if _has_overlap(meta.get_val(source)):  # the operator first copies such a source
        source = insert_call(evaluator, node, aten.clone.default, (source,))
    size, stride, offset = _window(node, 2)
    path, start = _memory(source, offset, evaluator)
    order = _order(node, path[0])
    if len(path) == 1 and order == sorted(order):
        return False
    base = _permuted(evaluator, node, path[0], order)
    written = insert_call(evaluator, node, _WRITE, (base, values, size, stride, start))
    result = _permuted(evaluator, node, written, sorted(range(len(order)), key=order.__getitem__))
    for before, view in zip(path, path[1:], strict=False):
        args = [result if arg is before else arg for arg in view.args]
        result = insert_call(evaluator, node, view.target, tuple(args), **view.kwargs)  # type: ignore[arg-type]
    node.replace_all_uses_with(result)
    return True


def _window(node: Node, first: int) -> tuple[Any, Any, Any]:
    """Returns the sizes, the strides and the offset; the sizes are argument `first`."""
    names = ("size", "stride", "storage_offset")
    given = dict(zip(names, node.args[first:], strict=False)) | node.kwargs
    return given["size"], given["stride"], given.get("storage_offset")


def _memory(source: Node, offset: Any, evaluator: Evaluator) -> tuple[list[Node], Any]:
    """Returns the path to a source, and the offset in the memory of its first node.

    A source whose start depends on a size becomes the only node of the path. If the operator uses elements
    outside this source, the kernel reports an error.
    """
    path = _path(source)
    if offset is not None:
        return path, offset
    start = _start(path, evaluator)
    return (path, start) if isinstance(start, int) else ([source], 0)


def _path(node: Node) -> list[Node]:
    """Returns the node that makes the memory of a view, and the views from this node to `node`.

    A node that is no view makes its own memory, and so does a view with another dtype than its source.
    """
    path = [node]
    while True:
        node = path[0]
        view = node.args[0] if node.target is operator.getitem else node
        if not isinstance(view, Node) or not _shares_memory(view) or not isinstance(view.args[0], Node):
            return path
        if meta.get_val(view.args[0]).dtype != meta.get_val(node).dtype:
            return path
        path[:0] = [view.args[0]] if view is node else [view.args[0], view]


def _shares_memory(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and any(
        result.alias_info is not None for result in node.target._schema.returns
    )


def _order(node: Node, owner: Node) -> list[int]:
    """Returns the dims of a dense tensor from the outermost to the innermost."""
    memory = meta.get_val(owner)
    order = dim_order_from_strides(memory.stride())
    if not is_dense_in(memory, order):
        _refuse(node, memory)
    return list(order)


def _start(path: list[Node], evaluator: Evaluator) -> Any:
    """Returns the start of the last view of a path in elements.

    The values of nodes do not always contain their start, so that the starts of all views are added.
    """
    tensors = (view for view in path[1:] if isinstance(meta.get_val(view), torch.Tensor))
    return sum(_made(view, evaluator).storage_offset() for view in tensors)


def _made(view: Node, evaluator: Evaluator) -> torch.Tensor:
    """Evaluates a view of a tensor that begins with the first element of its memory."""
    if view.target is operator.getitem:
        call, index = view.args
        assert isinstance(call, Node)
        return evaluator.value(call.target, call.args, call.kwargs)[index]  # type: ignore[arg-type, no-any-return]
    return evaluator.value(view.target, view.args, view.kwargs)  # type: ignore[arg-type, no-any-return]


def _permuted(evaluator: Evaluator, origin: Node, source: Node, order: list[int]) -> Node:
    if order == sorted(order):
        return source
    return insert_call(evaluator, origin, aten.permute.default, (source, order))


def _has_overlap(tensor: torch.Tensor) -> bool:
    return any(
        same_size(stride, 0) and not same_size(size, 1)
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )


def _refuse(node: Node, memory: torch.Tensor) -> NoReturn:
    place = meta.source_of(node)
    where = f" from {place}: {place.code}" if place is not None else ""
    shape, strides = ([*map(str, numbers)] for numbers in (memory.shape, memory.stride()))
    raise CompileError(
        f"{node.target}{where}: the memory of the first argument has gaps (shape [{', '.join(shape)}], "
        f"strides [{', '.join(strides)}]). Call contiguous() on it, or use slices and transposes instead"
    )
