"""Decomposes scaled dot-product attention into matrix products and a softmax."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.compat.transforms.rewriting import in_dialect_of
from rushlight.ir import meta
from rushlight.ir.edge_ops import argument, is_op
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import graph_modules, insert_call

aten = torch.ops.aten


class DecomposeScaledDotProductAttentionPass(PassBase):
    """Decomposes attention in place.

    Before: y = scaled_dot_product_attention(q, k, v, mask, scale=s)
    Expected: y = matmul(softmax(matmul(q, k.transpose(-2, -1)) * s + mask, -1), v)

    As in torch, the result is 0 for a row in which the mask excludes all keys.

    Args:
        allow_non_fake_inputs: allow values in the metadata of the graph that are not fake tensors.
    """

    def __init__(self, allow_non_fake_inputs: bool = True) -> None:
        super().__init__()
        self.allow_non_fake_inputs = allow_non_fake_inputs

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Runs the pass on a graph module, in place.

        Raises:
            ValueError: a call has dropout, or it has more query heads than key heads without `enable_gqa`.
        """
        changed = False
        for module in graph_modules(graph_module):
            found = [n for n in module.graph.nodes if is_op(n, aten.scaled_dot_product_attention.default)]
            if found:
                evaluator = Evaluator.of(module)
                evaluator.fake_mode.allow_non_fake_inputs |= self.allow_non_fake_inputs
                for node in found:
                    _Attention(evaluator, node).decompose()
                module.recompile()
                changed = True
        return PassResult(graph_module, changed)


class _Attention:
    """One attention call, and the nodes that replace it."""

    def __init__(self, evaluator: Evaluator, node: Node) -> None:
        self._evaluator = evaluator
        self._node = node

    def decompose(self) -> None:
        node = self._node
        query, key, value = (argument(node, index) for index in range(3))
        dropout: float = argument(node, 4, 0.0)
        if dropout:
            raise ValueError(f"{node.name} has a dropout of {dropout}: export the model in eval mode")
        scale: float | None = argument(node, 6)
        if scale is None:
            width = meta.get_shape(query)[-1]
            if not isinstance(width, int):
                raise ValueError(f"{node.name} needs a scale, because the last size of its query is dynamic")
            scale = 1 / math.sqrt(width)
        key, value = self._with_heads(query, key), self._with_heads(query, value)
        scores = self._call(aten.matmul.default, query, self._call(aten.transpose.int, key, -2, -1))
        scores = self._call(aten.mul.Tensor, scores, scale)
        mask = self._causal_mask(query, key) if argument(node, 5, False) else argument(node, 3)
        kept: Node | None = None
        if mask is not None and meta.get_dtype(mask) is torch.bool:
            hidden = self._call(aten.logical_not.default, mask)
            scores = self._call(aten.masked_fill.Scalar, scores, hidden, -math.inf)
            kept = self._call(aten.any.dim, mask, -1, True)
        elif mask is not None:
            scores = self._call(aten.add.Tensor, scores, mask)
        weights = self._call(aten.softmax.int, scores, -1)
        if kept is not None:
            fully_masked = self._call(aten.logical_not.default, kept)
            weights = self._call(aten.masked_fill.Scalar, weights, fully_masked, 0.0)
        result = self._call(aten.matmul.default, weights, value)
        node.replace_all_uses_with(result)
        node.graph.erase_node(node)

    def _call(self, op: Any, *args: Any) -> Node:
        return insert_call(self._evaluator, self._node, in_dialect_of(self._node, op), args)

    def _with_heads(self, query: Node, tensor: Node) -> Node:
        """Repeats the heads of keys or values to the number of query heads."""
        wanted, given = meta.get_shape(query), meta.get_shape(tensor)
        if len(wanted) < 3 or wanted[-3] == given[-3]:
            return tensor
        if not argument(self._node, 7, False):
            raise ValueError(
                f"{self._node.name} has {wanted[-3]} query heads and {given[-3]} key heads, which needs "
                "enable_gqa=True"
            )
        return self._call(aten.repeat_interleave.self_int, tensor, int(wanted[-3] // given[-3]), -3)

    def _causal_mask(self, query: Node, key: Node) -> Node:
        """Returns a causal mask: query i attends to the keys 0 to i."""
        sizes: list[Any] = [
            size if isinstance(size, int) else self._call(aten.sym_size.int, tensor, -2)
            for tensor in (query, key)
            for size in [meta.get_shape(tensor)[-2]]
        ]
        full = insert_call(
            self._evaluator,
            self._node,
            in_dialect_of(self._node, aten.full.default),
            (sizes, True),
            dtype=torch.bool,
        )
        return self._call(aten.tril.default, full)
