"""Replaces operators with two results if only the first result is used."""

from __future__ import annotations

import operator

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.compat.transforms.rewriting import in_dialect_of
from rushlight.ir.edge_ops import aten_op, is_op
from rushlight.ir.errors import PassError
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, insert_call

aten = torch.ops.aten

_ONE_RESULT: dict[object, OpOverload] = {
    aten.max_pool2d_with_indices.default: aten.max_pool2d.default,
    aten.max.dim: aten.amax.default,
}


class RemovedIndicesError(PassError, AssertionError):
    """The indices of a maximum are used, so that the operator cannot be replaced."""


class RemoveGetItemPass(GraphPass):
    """Replaces maxima with unused indices by operators that return only the values.

    Before: y = max_pool2d_with_indices(x, [2, 2])[0]. Expected: y = max_pool2d(x, [2, 2])
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        evaluator = Evaluator.of(module)
        for node in list(module.graph.nodes):
            if not is_op(node, *_ONE_RESULT):
                continue
            items = list(node.users)
            if len(items) == 2 and is_op(node, aten.max.dim):
                continue
            self._check(node, items)
            op = in_dialect_of(node, _ONE_RESULT[aten_op(node.target)])
            items[0].replace_all_uses_with(insert_call(evaluator, node, op, node.args, **node.kwargs))
            changed = True
        return changed

    @staticmethod
    def _check(node: Node, items: list[Node]) -> None:
        if len(items) != 1 or items[0].target is not operator.getitem or items[0].args[1] != 0:
            raise RemovedIndicesError(
                f"{node.name} ({node.target}) has {len(items)} users: it can be replaced only if its single "
                "user is getitem with index 0"
            )
