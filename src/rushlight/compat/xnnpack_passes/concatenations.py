"""Splits concatenations of many tensors."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.compat.transforms.rewriting import in_dialect_of
from rushlight.ir.edge_ops import is_op
from rushlight.ir.fake import Evaluator
from rushlight.ir.quantization import dequantize_params, quantize_params
from rushlight.passes.base import GraphPass, insert_call

qd = torch.ops.quantized_decomposed

_MAX_TENSORS = 5
"""The largest number of tensors that a concatenation of XNNPACK supports."""


class DecomposeConcatenatePass(GraphPass):
    """Splits concatenations of more than five tensors into several concatenations.

    If all tensors are quantized, the intermediate results are quantized too.

    Before: y = cat([a, b, c, d, e, f]). Expected: y = cat([cat([a, b, c, d, e]), f])
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            sources: list[Node] = list(node.args[0]) if is_op(node, torch.ops.aten.cat.default) else []  # type: ignore[arg-type]
            if len(sources) <= _MAX_TENSORS:
                continue
            quantized = [*map(dequantize_params, sources), *map(quantize_params, node.users)]
            is_quantized = all(params is not None for params in quantized)
            while len(sources) > _MAX_TENSORS:
                part = insert_call(
                    evaluator,
                    node,
                    node.target,
                    (sources[:_MAX_TENSORS], *node.args[1:]),
                    **node.kwargs,
                )
                if is_quantized:
                    part = _requantized(evaluator, node, part, sources[0])
                sources = [part, *sources[_MAX_TENSORS:]]
            node.args = (sources, *node.args[1:])
            changed = True
        return changed


def _requantized(evaluator: Evaluator, node: Node, part: Node, source: Node) -> Node:
    """Returns `part`, quantized and dequantized with the parameters of `source`."""
    settings = source.args[1:]
    for op in (qd.quantize_per_tensor.default, qd.dequantize_per_tensor.default):
        part = insert_call(evaluator, node, in_dialect_of(node, op), (part, *settings))
    return part
