"""Repeats the weight of PReLU for each channel."""

from __future__ import annotations

import torch
from torch.fx import GraphModule
from typing_extensions import override

from rushlight.compat.transforms.program_graph import ProgramGraphPass
from rushlight.compat.xnnpack_helpers import check_or_raise
from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import add_constant


class PReLUReshapePass(ProgramGraphPass):
    """Repeats the weight of PReLU for each channel, if the weight is a single number.

    Before: y = _prelu_kernel(x, w) of a [1, 3, 4, 4] x and a [1, 1, 1, 1] w
    Expected: y = _prelu_kernel(x, w3) with a [1, 3, 1, 1] w3

    Raises:
        RuntimeError: a weight is not a stored tensor, or a weight or an input does not have four dimensions.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        changed = False
        for node in list(module.graph.nodes):
            if not is_op(node, torch.ops.aten._prelu_kernel.default):
                continue
            weight = self.stored(node.args[1])
            if weight is None:
                raise RuntimeError(
                    f"Only constant weight PReLU is supported by XNNPACK, not that of {node.name}"
                )
            check_or_raise(
                weight.dim() == 4, f"4D weight required for XNNPACK PReLU, got: {weight.dim()}D ({node.name})"
            )
            if weight.numel() != 1:
                continue
            shape = meta.get_shape(node.args[0])
            check_or_raise(
                len(shape) == 4, f"4D input required for XNNPACK PReLU, got: {len(shape)}D ({node.name})"
            )
            repeated = weight.detach().repeat(1, int(shape[1]), 1, 1)
            constant = add_constant(module, repeated, node, evaluator.like(repeated))
            node.update_arg(1, constant)
            changed = True
        return changed
