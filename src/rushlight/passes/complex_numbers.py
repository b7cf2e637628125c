"""Moves complex numbers to arguments that can be constant tensors, because a program file has none."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, insert_call

aten = torch.ops.aten

_FILLS = {aten.scalar_tensor.default: 0, aten.full.default: 1, aten.full_like.default: 1}
"""The position of the number by operator."""

_SUMS = (aten.add.Tensor, aten.sub.Tensor)


class ComplexNumbersPass(GraphPass):
    """Adds a complex fill value to zeros, and multiplies a summand by its complex factor.

    `ScalarToTensorPass` makes constants of these numbers later.

    Before: aten.full([3], 1j); aten.add(x, y, alpha=1j)
    Expected: aten.add(aten.full([3], 0, dtype=complex64), 1j); aten.add(x, aten.mul(y, 1j))
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            if node.target in _FILLS:
                changed = _add_fill_value(node, evaluator) or changed
            elif node.target in _SUMS:
                changed = _multiply(node, evaluator) or changed
        return changed


def _add_fill_value(node: Node, evaluator: Evaluator) -> bool:
    position = _FILLS[node.target]  # type: ignore[index]
    args = list(node.args)
    value = args[position]
    if not isinstance(value, complex):
        return False
    args[position] = 0
    options = {**node.kwargs, "dtype": meta.get_val(node).dtype}
    zeros = insert_call(evaluator, node, node.target, tuple(args), **options)  # type: ignore[arg-type]
    filled = insert_call(evaluator, node, aten.add.Tensor, (zeros, value))
    node.replace_all_uses_with(filled)
    return True


def _multiply(node: Node, evaluator: Evaluator) -> bool:
    factor = node.kwargs.get("alpha")
    if not isinstance(factor, complex):
        return False
    left, right = node.args
    node.args = (left, insert_call(evaluator, node, aten.mul.Tensor, (right, factor)))
    node.kwargs = {}
    return True
