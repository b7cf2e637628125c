"""Passes over exported language models, before `to_edge`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from typing_extensions import override

from rushlight.ir import (
    llm_ops,  # noqa: F401  (defines llama::custom_sdpa)
)
from rushlight.ir.meta import get_val
from rushlight.passes.base import GraphPass
from rushlight.passes.export_pass import ExportPass, NodeMetadata, ProxyValue

aten = torch.ops.aten


class RemoveRedundantTransposesPass(GraphPass):
    """Removes pairs of transposes or permutes that undo each other.

    Before: y = transpose(transpose(x, 1, 2), 1, 2) + 1. Expected: y = x + 1
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:  # The iterator leaves out nodes that were erased.
            first = _permutation(node)
            if first is None:
                continue
            for user in list(node.users):
                second = _permutation(user)
                if user.target != node.target or second is None:
                    continue
                if [first[dim] for dim in second] == list(range(len(first))):
                    user.replace_all_uses_with(node.args[0])
                    module.graph.erase_node(user)
                    changed = True
        return changed


class ReplaceSDPAWithCustomSDPAPass(ExportPass):
    """Replaces `scaled_dot_product_attention` by `llama::custom_sdpa`.

    The query, key and value must have 4 dimensions and the same number of tokens, because `custom_sdpa` reads
    no keys after the last token. The mask must have 2 dimensions apart from leading dimensions of size 1.
    Other calls stay.

    Args:
        assume_causal_mask: replace every mask by a causal mask.
    """

    def __init__(self, assume_causal_mask: bool = False) -> None:
        super().__init__()
        self._assume_causal_mask = assume_causal_mask

    @override
    def call_operator(
        self,
        op: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        meta: NodeMetadata,
    ) -> ProxyValue:
        if op != aten.scaled_dot_product_attention.default:
            return super().call_operator(op, args, kwargs, meta)
        # enable_gqa needs no argument, because custom_sdpa accepts a multiple of the key heads.
        query, key, value = args[:3]
        defaults: tuple[Any, ...] = (None, 0.0, False)
        mask, dropout, is_causal = args[3:] + defaults[len(args) - 3 :]
        if self._assume_causal_mask:
            mask, is_causal = None, True
        if not (_same_tokens(query, key, value) and _is_matrix(mask)):
            return super().call_operator(op, args, kwargs, meta)
        if mask is not None:
            mask = self._as_addend(mask, meta)
        inputs = [self._swapped(item, meta) for item in (query, key, value)]
        result = super().call_operator(
            torch.ops.llama.custom_sdpa.default,
            (*inputs, 0, mask, dropout, is_causal, kwargs.get("scale")),
            {},
            meta,
        )
        return self._swapped(result, meta)

    def _as_addend(self, mask: ProxyValue, meta: NodeMetadata) -> ProxyValue:
        """Returns a mask as a matrix which is added to the scores."""
        value = mask.to_tensor()
        if value.dim() > 2:
            mask = super().call_operator(aten.squeeze.dims, (mask, tuple(range(value.dim() - 2))), {}, meta)
        if value.dtype == torch.bool:
            mask = super().call_operator(aten.where.Scalar, (mask, 0.0, -math.inf), {}, meta)
        return mask

    def _swapped(self, value: ProxyValue, meta: NodeMetadata) -> ProxyValue:
        """Exchanges the dims of heads and tokens."""
        swapped = super().call_operator(aten.transpose.int, (value, 1, 2), {}, meta)
        return super().call_operator(aten.contiguous.default, (swapped,), {}, meta)


def _permutation(node: Node) -> Sequence[int] | None:
    """Returns the source dim of each dim of a transpose or permute; None for other nodes."""
    if node.target not in (aten.transpose.int, aten.permute.default):
        return None
    source = node.args[0]
    assert isinstance(source, Node)
    dims = list(range(get_val(source).dim()))
    if node.target == aten.permute.default:
        return [dims[dim] for dim in cast(Sequence[int], node.args[1])]
    a, b = cast(tuple[int, int], node.args[1:])
    dims[a], dims[b] = dims[b], dims[a]
    return dims


def _same_tokens(query: ProxyValue, key: ProxyValue, value: ProxyValue) -> bool:
    """Whether three values have 4 dimensions and equal sizes in dimension 2."""
    shapes = [item.to_tensor().shape for item in (query, key, value)]
    return all(len(shape) == 4 and statically_known_true(shape[2] == shapes[0][2]) for shape in shapes)


def _is_matrix(mask: ProxyValue | None) -> bool:
    """Whether a mask is None, or a matrix apart from leading dims of size 1."""
    if mask is None:
        return True
    sizes = mask.to_tensor().shape
    return len(sizes) >= 2 and all(size == 1 for size in sizes[:-2])
