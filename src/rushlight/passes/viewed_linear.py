"""Matches linear layers with several batch dims, which torch decomposes to view, product and view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload, is_op, to_edge_op
from rushlight.ir.fake import Evaluator
from rushlight.ir.quantization import LinearOperands, linear_operands
from rushlight.ir.sym import IntLike, same_size
from rushlight.passes.base import insert_call

aten = torch.ops.aten


@dataclass(frozen=True)
class ViewedLinear:
    """A product whose input and result are views of tensors with more dimensions.

    Attributes:
        product: the node that multiplies [n, k] with the transpose of [m, k].
        operands: the operands of the layer. Its input is the input of the first view, [.., k].
        result: the view of the product, [.., m].
    """

    product: Node
    operands: LinearOperands
    result: Node


def viewed_linear(node: Node) -> ViewedLinear | None:
    """Returns the linear layer of a product; None if the product is not between two views."""
    if not is_op(node, aten.mm.default, aten.addmm.default) or len(node.users) != 1:
        return None
    operands = linear_operands(node)
    (result,) = node.users
    if operands is None or not is_op(result, aten.view_copy.default):
        return None
    if not is_op(operands.input, aten.view_copy.default):
        return None
    source = operands.input.args[0]
    assert isinstance(source, Node)
    shape = [*meta.get_shape(source)[:-1], meta.get_shape(operands.weight)[0]]
    behind = _size_argument(result)
    inner = meta.get_shape(operands.weight)[1]
    if len(shape) != len(behind) or not all(map(same_size, shape, behind)):
        return None
    if len(shape) < 2 or not same_size(meta.get_shape(source)[-1], inner):
        return None
    return ViewedLinear(node, LinearOperands(source, operands.weight, operands.bias), result)


def _size_argument(view: Node) -> list[IntLike]:
    """Returns the size argument of a view. Its expressions are simpler than the sizes of the value."""
    given: Any = view.args[1]
    values = [meta.find_val(size) if isinstance(size, Node) else size for size in given]
    shape = meta.get_shape(view)
    known = [isinstance(value, torch.SymInt) or (isinstance(value, int) and value >= 0) for value in values]
    return [value if ok else size for value, size, ok in zip(values, shape, known, strict=True)]


def restore_linear(evaluator: Evaluator, found: ViewedLinear) -> Node:
    """Replaces the second view by one linear operator. The old nodes stay in the graph without users.

    Before: y = view_copy(addmm(b, view_copy(x, ..), permute_copy(w, [1, 0])), ..).
    Expected: y = linear(x, w, b).
    """
    operands = found.operands
    op = aten.linear.default
    target = to_edge_op(op) if isinstance(found.product.target, EdgeOpOverload) else op
    args = (operands.input, operands.weight, operands.bias)
    linear = insert_call(evaluator, found.product, target, args[: 2 if operands.bias is None else 3])
    found.result.replace_all_uses_with(linear)
    return linear
