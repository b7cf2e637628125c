"""Copies the user's metadata from nodes to their quantize and dequantize nodes."""

from __future__ import annotations

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.passes.base import GraphPass

qd = torch.ops.quantized_decomposed

_PACKETS = (
    qd.quantize_per_tensor,
    qd.quantize_per_channel,
    qd.quantize_per_token,
    qd.dequantize_per_tensor,
    qd.dequantize_per_channel,
    qd.dequantize_per_token,
)


class PropagateCustomMetaPass(GraphPass):
    """Copies `meta["custom"]` from a node to the nodes that quantize and dequantize its result."""

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in module.graph.nodes:
            op = aten_op(node.target) if node.op == "call_function" else None
            source = node.args[0] if op is not None and op.overloadpacket in _PACKETS else None
            custom = meta.get_custom(source) if isinstance(source, Node) else None
            if custom is not None and meta.get_custom(node) != custom:
                meta.set_custom(node, custom)
                changed = True
        return changed
