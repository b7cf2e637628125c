"""Moves activations into the metadata of the preceding operators."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.backends.xnnpack.graph import OutputMinMax
from rushlight.ir import meta
from rushlight.ir.edge_ops import argument, is_op
from rushlight.passes.base import GraphPass

aten = torch.ops.aten

_FUSING = (
    aten.add.Tensor,
    aten.convolution.default,
    aten.linear.default,
    aten.mul.Tensor,
    aten.sub.Tensor,
)


class FuseActivationPass(GraphPass):
    """Removes ReLU and hardtanh behind operators that can clamp, and stores the bounds in their metadata.

    The graph no longer computes the activation, so that only a backend that reads the bounds can use it.

    Before: y = relu(add(x, x)). Expected: y = add(x, x), with `meta["XNN_FUSED_ACTIVATION"]`
    """

    FUSED_ACTIVATION_TAG: ClassVar[str] = meta.FUSED_ACTIVATION

    @staticmethod
    def get_fused_activation(node: Node) -> OutputMinMax | None:
        """Returns the bounds of the activation that is fused into a node, or None."""
        bounds: OutputMinMax | None = meta.get_fused_activation(node)
        return bounds

    @override
    def rewrite(self, module: GraphModule) -> bool:
        changed = False
        for node in list(module.graph.nodes):
            source = node.args[0] if is_op(node, aten.relu.default, aten.hardtanh.default) else None
            if not is_op(source, *_FUSING) or len(source.users) != 1:
                continue
            meta.set_fused_activation(source, _bounds(node))
            node.replace_all_uses_with(source)
            changed = True
        return changed


def _bounds(node: Node) -> OutputMinMax:
    if is_op(node, aten.relu.default):
        return OutputMinMax(0, float("inf"))
    low: Any = argument(node, 1, -1)
    high: Any = argument(node, 2, 1)
    return OutputMinMax(low, high)
