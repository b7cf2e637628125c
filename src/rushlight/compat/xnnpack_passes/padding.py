"""Quantizes the results of padding quantized tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.compat.quantized_nodes import is_quant
from rushlight.compat.transforms.program_graph import ProgramGraphPass
from rushlight.compat.xnnpack_passes.implicit_pairs import insert_implicit_pair
from rushlight.ir.edge_ops import argument, is_op
from rushlight.ir.fake import Evaluator

_DEQUANTIZE = torch.ops.quantized_decomposed.dequantize_per_tensor.default


class InsertPadQDQPass(ProgramGraphPass):
    """Quantizes and dequantizes the result of zero padding with the parameters of the padded tensor.

    Padding with another number or with negative amounts, and padding whose result is already quantized, is
    not changed.

    Before: y = convolution(constant_pad_nd(dequantize(q), [0, 1]), ...)
    Expected: y = convolution(dequantize(quantize(constant_pad_nd(dequantize(q), [0, 1]))), ...)
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        found = [node for node in module.graph.nodes if _is_float_padding(node)]
        for node in found:
            source: Any = node.args[0]
            users = list(node.users)
            pair = insert_implicit_pair(evaluator, node.next, node, source.args[1:])
            for user in users:
                user.replace_input_with(node, pair)
        return bool(found)


def _is_float_padding(node: Node) -> bool:
    if not is_op(node, torch.ops.aten.constant_pad_nd.default) or not is_op(node.args[0], _DEQUANTIZE):
        return False
    amounts: list[int] = argument(node, 1)
    is_zero = argument(node, 2, 0) == 0
    return is_zero and min(amounts, default=0) >= 0 and not any(map(is_quant, node.users))
