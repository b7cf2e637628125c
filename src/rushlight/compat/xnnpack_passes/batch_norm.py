"""Replaces batch norms by depthwise convolutions."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.compat.transforms.program_graph import ProgramGraphPass
from rushlight.compat.transforms.rewriting import in_dialect_of
from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import add_constant, insert_call

aten = torch.ops.aten

_NORMS = (aten.native_batch_norm.default, aten._native_batch_norm_legit_no_training.default)


class DecomposeBatchNormPass(ProgramGraphPass):
    """Replaces batch norms by depthwise convolutions with one weight and one bias for each channel.

    Before: y = _native_batch_norm_legit_no_training(x, gamma, beta, mean, variance, momentum, eps)[0]
    Expected: y = convolution(x, w, b, groups=channels)

    For an input of two dimensions, a third dimension is added for the convolution. A batch norm is not
    replaced if its statistics are used, or if its parameters are not constant.
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator: Evaluator | None = None
        for node in list(module.graph.nodes):
            if is_op(node, *_NORMS) and self.can_decompose(node):
                evaluator = evaluator or Evaluator.of(module)
                self._decompose(module, evaluator, node)
        return evaluator is not None

    def can_decompose(self, node: Node) -> bool:
        """Returns whether a batch norm can be replaced.

        This is so if its input has 2, 3 or 4 dimensions and a static number of channels, only the first
        result is used, and the parameters are stored tensors.
        """
        source: Any = node.args[0]
        shape = meta.get_shape(source)
        if len(shape) not in (2, 3, 4) or not isinstance(shape[1], int):
            return False
        if any(user.args[1:] != (0,) for user in node.users):
            return False
        stored = [parameter is None or self.stored(parameter) is not None for parameter in node.args[1:5]]
        return all(stored) and node.args[3] is not None and node.args[4] is not None

    def _decompose(self, module: GraphModule, evaluator: Evaluator, node: Node) -> None:
        source: Any = node.args[0]
        epsilon: Any = node.args[-1]
        gamma, beta, mean, variance = map(self.stored, node.args[1:5])
        assert mean is not None and variance is not None
        # In float64, so that the weights are rounded once.
        scale = (variance.double() + epsilon).rsqrt() * (1.0 if gamma is None else gamma.double())
        shift = (0.0 if beta is None else beta.double()) - mean.double() * scale
        dtype, rank, channels = meta.get_dtype(source), len(meta.get_shape(source)), len(mean)
        spatial = max(rank - 2, 1)
        weight = scale.to(dtype).reshape(channels, 1, *[1] * spatial)
        nodes = [
            add_constant(module, value, node, evaluator.like(value)) for value in (weight, shift.to(dtype))
        ]
        if rank == 2:
            source = insert_call(
                evaluator, node, in_dialect_of(node, aten.unsqueeze_copy.default), (source, 2)
            )
        ones, zeros = [1] * spatial, [0] * spatial
        result = insert_call(
            evaluator,
            node,
            in_dialect_of(node, aten.convolution.default),
            (source, *nodes, ones, zeros, ones, False, zeros, channels),
        )
        if rank == 2:
            result = insert_call(evaluator, node, in_dialect_of(node, aten.squeeze_copy.dim), (result, 2))
        for item in list(node.users):
            item.replace_all_uses_with(result)
