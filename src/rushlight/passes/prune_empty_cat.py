"""Removes empty tensors from concatenations."""

from __future__ import annotations

import functools

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import GraphPass, insert_call


class PruneEmptyCatPass(GraphPass):
    """Before: aten.cat([x, empty, y]). Expected: aten.cat([x, y]). If all parts are empty: aten.full.

    The concatenation stays if all parts are empty and a size of the result is unknown. Parts are converted if
    the dtype of the result depends on a removed part.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            if node.target is not torch.ops.aten.cat.default:
                continue
            parts = node.args[0]
            kept = [part for part in parts if not _is_empty(part)]
            val = meta.get_val(node)
            known = all(isinstance(size, int) for size in val.shape)
            if len(kept) == len(parts) or not (kept or known):
                continue
            changed = True
            if kept:
                node.args = (_with_dtype(kept, val.dtype, node, evaluator), *node.args[1:])
                continue
            full = insert_call(
                evaluator, node, torch.ops.aten.full.default, (list(val.shape), 0), dtype=val.dtype
            )
            node.replace_all_uses_with(full)
        return changed


def _with_dtype(parts: list[Node], dtype: torch.dtype, cat: Node, evaluator: Evaluator) -> list[Node]:
    """Returns the parts of a concatenation, converted to `dtype` if their promoted dtype is another one."""
    if functools.reduce(torch.promote_types, [meta.get_val(part).dtype for part in parts]) == dtype:
        return parts
    convert = torch.ops.aten._to_copy.default
    return [
        part
        if meta.get_val(part).dtype == dtype
        else insert_call(evaluator, cat, convert, (part,), dtype=dtype)
        for part in parts
    ]


def _is_empty(part: Node) -> bool:
    val = meta.get_tensor(part)
    return val is not None and any(isinstance(size, int) and size == 0 for size in val.shape)
