"""Lets `as_strided` read the tensor that owns the memory, in the order of this memory."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, insert_call

aten = torch.ops.aten


class RebaseStridedViewsPass(GraphPass):
    """Replaces the source of `as_strided` by a row-major tensor with the same memory.

    `as_strided` counts elements from the start of the memory that its source shares. Later passes replace
    views by copies with a memory of their own, so that its source must not be a view. A source with symbolic
    sizes, or with gaps in its memory, does not change.

    Before: a = aten.permute(x, [1, 0]); b = aten.as_strided(a, [2, 2], [1, 1])
    Expected: b = aten.as_strided(x, [2, 2], [1, 1], 0)
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in module.graph.find_nodes(op="call_function", target=aten.as_strided.default):
            changed = _rebase(node, evaluator) or changed
        return changed


def _rebase(node: Node, evaluator: Evaluator) -> bool:
    size, stride, offset = (*node.args[1:], None)[:3]
    source = node.args[0]
    assert isinstance(source, Node)
    owner, start = _owner(source, evaluator)
    memory = meta.get_val(owner)
    if not _is_static(meta.get_val(source)) or not _is_static(memory) or not isinstance(start, int):
        return False
    if owner is source and memory.is_contiguous():
        return False
    order = sorted(range(memory.dim()), key=lambda dim: -memory.stride(dim))
    if not memory.permute(order).is_contiguous():
        return False
    base = owner
    if not memory.is_contiguous():
        base = insert_call(evaluator, node, aten.permute.default, (owner, order))
    node.args = (base, size, stride, start if offset is None else offset)
    node.kwargs = {}
    return True


def _owner(node: Node, evaluator: Evaluator) -> tuple[Node, Any]:
    """Returns the node that makes the memory of a view, and the start of the view in elements.

    A node that is no view is its own owner. The values of nodes do not always contain their start, so that
    the starts of all views on the path are added.
    """
    start: Any = 0
    while True:
        view = node.args[0] if node.target is operator.getitem else node
        if not isinstance(view, Node) or not _shares_memory(view) or not isinstance(view.args[0], Node):
            return node, start
        made = evaluator.value(view.target, view.args, view.kwargs)  # type: ignore[arg-type]
        start += (made if view is node else made[node.args[1]]).storage_offset()
        node = view.args[0]


def _shares_memory(node: Node) -> bool:
    return isinstance(node.target, OpOverload) and any(
        result.alias_info is not None for result in node.target._schema.returns
    )


def _is_static(val: Any) -> bool:
    return isinstance(val, torch.Tensor) and all(
        isinstance(number, int) for number in (*val.shape, *val.stride())
    )
