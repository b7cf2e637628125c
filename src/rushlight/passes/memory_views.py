"""Replaces view copies of row-major tensors by views that share the memory of the base."""

from __future__ import annotations

import math

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import memory_ops, meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.spec import TensorSpec
from rushlight.passes.base import GraphPass


class NormalizeViewBasesPass(GraphPass):
    """Before: v = view_copy(x, ..); w = view_copy(v, ..). Expected: w = view_copy(x, ..)."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            if is_view_copy(node) and is_view_copy(node.args[0]):
                node.args = (node.args[0].args[0], *node.args[1:])
                changed = True
        return changed


class UseMemoryViewsPass(GraphPass):
    """Before: v = aten.view_copy(x, [6, 4]). Expected: v = memory.view(x, [6, 4]).

    A copy stays if its result is a graph output, because the caller may provide the memory of an output. It
    also stays if its base is not row-major.

    Args:
        copies_arguments: whether a copy of an argument of a body of control flow stays. The argument may be
            in memory of the caller. A call then sets the memory of a view, and the runtime requires that no
            jump skips this call.
    """

    def __init__(self, copies_arguments: bool = False) -> None:
        super().__init__()
        self._copies_arguments = copies_arguments
        self._method: GraphModule | None = None

    @override
    def rewrite_all(self, graph_module: GraphModule) -> bool:
        self._method = graph_module
        return super().rewrite_all(graph_module)

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        copies_arguments = self._copies_arguments and module is not self._method
        for node in module.graph.nodes:
            if not is_view_copy(node) or any(user.op == "output" for user in node.users):
                continue
            if copies_arguments and node.args[0].op == "placeholder":
                continue
            base, spec = _base_spec(node), _own_spec(node)
            if base is None or not isinstance(spec, TensorSpec) or not _may_share(base, spec):
                continue
            node.target = memory_ops.view
            node.kwargs = {}
            meta.set_spec(node, spec)
            changed = True
        return changed


def is_view_copy(node: object) -> bool:
    """Returns whether the node is a call of view_copy in any dialect."""
    return (
        isinstance(node, Node)
        and node.op == "call_function"
        and aten_op(node.target) is torch.ops.aten.view_copy.default
    )


def _own_spec(node: Node) -> object:
    """Returns the spec of the node, or a new spec from its value if it has no spec yet."""
    val = meta.get_tensor(node)
    return TensorSpec.from_tensor(val) if val is not None and not meta.has_spec(node) else meta.get_spec(node)


def _base_spec(node: Node) -> TensorSpec | None:
    base = node.args[0]
    spec = meta.get_spec(base) if isinstance(base, Node) else None
    return spec if isinstance(spec, TensorSpec) else None


def _may_share(base: TensorSpec, spec: TensorSpec) -> bool:
    if base.dtype != spec.dtype or base.shape_dynamism != spec.shape_dynamism:
        return False
    if tuple(base.dim_order) != tuple(range(len(base.shape))):
        return False
    static = all(isinstance(size, int) for size in (*base.shape, *spec.shape))
    return not static or math.prod(base.shape) == math.prod(spec.shape)
