"""Folds batch norms into the convolutions of a program."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.nn.utils.fusion import fuse_conv_bn_weights
from typing_extensions import override

from rushlight.compat.transforms.constants import get_param_tensor, is_param_node
from rushlight.compat.transforms.program_graph import ProgramGraphPass
from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op
from rushlight.ir.fake import Evaluator

aten = torch.ops.aten

_NORMS = (aten.native_batch_norm.default, aten._native_batch_norm_legit_no_training.default)


class FuseBatchNormWithConvPass(ProgramGraphPass):
    """Folds a batch norm into the preceding convolution. The new weight and bias are graph attributes.

    Before: y = batch_norm(convolution(x, w, b, ...), ...)[0]
    Expected: y = convolution(x, _fused_with_bn_weight_0, _fused_with_bn_bias_0, ...)
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        count = 0
        for conv in list(module.graph.nodes):
            norm = next(iter(conv.users), None)
            if not is_op(conv, aten.convolution.default) or len(conv.users) != 1 or not is_op(norm, *_NORMS):
                continue
            if not self.can_fuse(conv, norm, self.exported_program):
                continue
            self._fuse(module, conv, norm, count, evaluator)
            count += 1
        return count > 0

    def _fuse(self, module: GraphModule, conv: Node, norm: Node, index: int, evaluator: Evaluator) -> None:
        weight, bias, gamma, beta, mean, variance = (
            get_param_tensor(self.exported_program, node)  # type: ignore[arg-type]
            for node in (*conv.args[1:3], *norm.args[1:5])
        )
        assert weight is not None and mean is not None and variance is not None
        epsilon: Any = norm.args[-1]
        fused = fuse_conv_bn_weights(weight, bias, mean, variance, epsilon, gamma, beta, bool(conv.args[6]))
        nodes = []
        for kind, parameter in zip(("weight", "bias"), fused, strict=True):
            name = f"_fused_with_bn_{kind}_{index}"
            module.register_parameter(name, parameter)
            with conv.graph.inserting_before(conv):
                node = conv.graph.get_attr(name)
            meta.set_val(node, evaluator.like(parameter))
            nodes.append(node)
        conv.args = (conv.args[0], *nodes, *conv.args[3:])
        for item in list(norm.users):
            item.replace_all_uses_with(conv)

    @staticmethod
    def can_fuse(conv: Node, bn: Node, program: ExportedProgram) -> bool:
        """Returns whether a batch norm can be folded into a convolution.

        This is so if only the first result of the batch norm is used, and the weights of both operators are
        parameters or constants.

        Args:
            conv: the convolution.
            bn: the batch norm, which is the only user of the convolution.
            program: the program of both nodes.
        """
        if any(user.args[1:] != (0,) for user in bn.users):
            return False
        weights = (conv.args[1], bn.args[1])
        return all(isinstance(weight, Node) and is_param_node(program, weight) for weight in weights)
