"""Implicit pairs of quantize and dequantize nodes, which a backend must not run as separate operators."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from rushlight.compat.quantized_nodes import tag_as_implicit_q_dq
from rushlight.compat.transforms.rewriting import in_dialect_of
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import insert_call

qd = torch.ops.quantized_decomposed


def insert_implicit_pair(evaluator: Evaluator, before: Node, source: Node, params: tuple[Any, ...]) -> Node:
    """Inserts an implicit pair of quantize and dequantize nodes.

    Args:
        evaluator: computes the values of the new nodes.
        before: the node in front of which the pair is inserted. The new nodes get its source line.
        source: the value to quantize.
        params: scale, zero point, quant_min, quant_max and dtype.

    Returns:
        The dequantize node.
    """
    for op in (qd.quantize_per_tensor.default, qd.dequantize_per_tensor.default):
        source = insert_call(evaluator, before, in_dialect_of(before, op), (source, *params))
        tag_as_implicit_q_dq(source)
    return source
