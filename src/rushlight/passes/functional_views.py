"""Replaces views by copies (`view` by `view_copy`), so that results do not share memory."""

from __future__ import annotations

import operator
from typing import Any

import torch
from sympy import Symbol
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.fx.node import map_aggregate
from torch.utils._pytree import tree_leaves
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.dim_order_ops import has_memory_format
from rushlight.ir.fake import Evaluator, constant_key, tensor_key
from rushlight.ir.out_variants import written_arguments
from rushlight.passes.base import GraphPass


class FunctionalViewsPass(GraphPass):
    """Replaces operators whose results alias their arguments, and propagates the new layouts.

    A result of another operator becomes row-major if its strides do not match a memory format.

    Before: a = aten.permute(x, [1, 0])  # strides (1, 2)      b = aten.relu(a)  # strides (1, 2)
    Expected: a = aten.permute_copy(x, [1, 0])  # contiguous   b = aten.relu(a)  # contiguous
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        moved: set[Node] = set()
        changed = False
        for node in module.graph.nodes:
            if node.op != "call_function":
                continue
            if node.target is operator.getitem:
                self._refresh_item(node, moved)
                continue
            if not isinstance(node.target, OpOverload) or not node.target._schema.returns:
                continue
            copy = copy_form(node.target)
            if copy is not None:
                node.target = copy
                changed = True
                _set_layout(node, map_aggregate(meta.get_val(node), evaluator.dense), moved)
                continue
            val = meta.get_val(node)
            if moved and any(used in moved for used in node.all_input_nodes) and _may_refresh(node):
                val = evaluator.value(node.target, node.args, node.kwargs)
            _set_layout(node, _in_memory_format(val, evaluator), moved)
        return changed or bool(moved)

    def _refresh_item(self, node: Node, moved: set[Node]) -> None:
        source = node.args[0]
        if isinstance(source, Node) and source in moved:
            before = meta.get_val(node)
            after = meta.get_val(source)[node.args[1]]
            if _layout_key(before) != _layout_key(after):
                meta.set_val(node, after)
                moved.add(node)


def copy_form(op: OpOverload) -> OpOverload | None:
    """Returns the copying form of a view operator; None if `op` makes no view or has no copying form."""
    if written_arguments(op._schema) or not any(
        result.alias_info is not None for result in op._schema.returns
    ):
        return None
    namespace, name = op._schema.name.split("::")
    packet = getattr(getattr(torch.ops, namespace), f"{name}_copy", None)
    copy = getattr(packet, op._overloadname, None) if packet is not None else None
    return copy if isinstance(copy, OpOverload) else None


def _may_refresh(node: Node) -> bool:
    """Returns whether a node can be evaluated again: its result has no sizes that only the node defines.

    A second selection by the same mask has the sizes of the first one. A new evaluation would give it other
    symbols.
    """
    if meta.makes_symbols(node) or node.target.is_view:  # type: ignore[union-attr]
        return False
    known = set[Symbol]().union(*(_data_dependent_sizes(meta.get_val(used)) for used in node.all_input_nodes))
    return _data_dependent_sizes(meta.get_val(node)) <= known


def _data_dependent_sizes(val: object) -> set[Symbol]:
    tensors = [item for item in tree_leaves(val) if isinstance(item, (torch.Tensor, torch.SymInt))]
    return set[Symbol]().union(*map(free_unbacked_symbols, tensors))


def _in_memory_format(val: object, evaluator: Evaluator) -> Any:
    """Returns `val`, in which a tensor is row-major if its strides do not match a memory format."""
    if isinstance(val, torch.Tensor):
        return val if has_memory_format(val) else evaluator.dense(val)
    if isinstance(val, (list, tuple)):
        return type(val)(_in_memory_format(item, evaluator) for item in val)
    return val


def _set_layout(node: Node, after: object, moved: set[Node]) -> None:
    """Sets a value with another layout, and adds the node to `moved`."""
    before = meta.get_val(node)
    if after is not before and _layout_key(after) != _layout_key(before):
        meta.set_val(node, after)
        moved.add(node)


def _layout_key(val: object) -> object:
    if isinstance(val, torch.Tensor):
        return tensor_key(val)
    if isinstance(val, (list, tuple)):
        return tuple(_layout_key(item) for item in val)
    return constant_key(val)
