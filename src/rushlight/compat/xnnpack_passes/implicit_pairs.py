"""Pairs of quantize and dequantize nodes that a backend must not run as such."""

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
    """Quantizes and dequantizes a value in front of a node; returns the node that dequantizes.

    Args:
        evaluator: computes the values of the new nodes.
        before: the node behind the new ones, whose source line they get.
        source: the value.
        params: scale, zero point, least and greatest integer, dtype.
    """
    for op in (qd.quantize_per_tensor.default, qd.dequantize_per_tensor.default):
        source = insert_call(evaluator, before, in_dialect_of(before, op), (source, *params))
        tag_as_implicit_q_dq(source)
    return source
