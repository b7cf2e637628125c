"""Replaces 1-d convolutions by 2-d convolutions."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.compat.quantized_nodes import is_dequant, is_quant
from rushlight.compat.transforms.program_graph import ProgramGraphPass
from rushlight.compat.transforms.rewriting import in_dialect_of
from rushlight.compat.xnnpack_passes.implicit_pairs import insert_implicit_pair
from rushlight.ir import meta
from rushlight.ir.edge_ops import is_op
from rushlight.ir.errors import PassError
from rushlight.ir.fake import Evaluator
from rushlight.passes.base import add_constant, insert_call

aten = torch.ops.aten


class UnstoredWeightError(PassError, AssertionError):
    """The weight of a convolution is not a stored tensor, so that the convolution cannot be replaced."""


class Conv1dUnsqueezePass(ProgramGraphPass):
    """Replaces 1-d convolutions by 2-d convolutions whose second spatial dimension has size 1.

    The new weight is an attribute of the graph. If the input or the result is quantized, the corresponding
    tensor of four dimensions is quantized too.

    Before: y = convolution(x, w, b, [1], [0], [1], False, [0], 1) of a [2, 3, 8] x
    Expected: y = squeeze_copy.dim(convolution(unsqueeze_copy(x, -1), w4, b, [1, 1], [0, 0], [1, 1], ...), -1)
    """

    @override
    def rewrite(self, module: GraphModule) -> bool:
        evaluator = Evaluator.of(module)
        found = [node for node in module.graph.nodes if _is_1d(node)]
        for node in found:
            self._widen(module, evaluator, node)
        return bool(found)

    def _widen(self, module: GraphModule, evaluator: Evaluator, node: Node) -> None:
        source, weight, bias, stride, padding, dilation, transposed, extra, groups = node.args
        assert isinstance(source, Node) and isinstance(weight, Node)
        widened = insert_call(evaluator, node, _in(node, aten.unsqueeze_copy.default), (source, -1))
        if is_dequant(source):
            widened = insert_implicit_pair(evaluator, node, widened, source.args[1:])
        args = (
            widened,
            self._widened_weight(module, evaluator, weight, node),
            bias,
            *(_two(given, fill) for given, fill in ((stride, 1), (padding, 0), (dilation, 1))),
            transposed,
            _two(extra, 0),
            groups,
        )
        users = list(node.users)
        result = insert_call(evaluator, node, _in(node, aten.convolution.default), args)
        if users and all(map(is_quant, users)):
            result = insert_implicit_pair(evaluator, node, result, users[0].args[1:])
        result = insert_call(evaluator, node, _in(node, aten.squeeze_copy.dim), (result, -1))
        node.replace_all_uses_with(result)

    def _widened_weight(self, module: GraphModule, evaluator: Evaluator, weight: Node, conv: Node) -> Node:
        """Returns the weight with a last dimension of size 1, dequantized like the given weight."""
        stored: Any = weight
        if is_dequant(weight):
            stored = weight.args[0] if not is_quant(weight.args[0]) else weight  # type: ignore[arg-type]
        tensor = self.stored(stored)
        if tensor is None:
            raise UnstoredWeightError(
                f"{conv.name} has the weight {stored.name}, which is not a stored tensor"
            )
        tensor = tensor.detach().unsqueeze(-1).contiguous()
        node = add_constant(module, tensor, conv, evaluator.like(tensor))
        if stored is weight:
            return node
        target: Any = weight.target
        return insert_call(evaluator, conv, target, (node, *weight.args[1:]), **weight.kwargs)


def _is_1d(node: Node) -> bool:
    """Whether a node is a convolution with a weight of three dimensions."""
    return is_op(node, aten.convolution.default) and len(meta.get_shape(node.args[1])) == 3


def _in(node: Node, op: Any) -> Any:
    return in_dialect_of(node, op)


def _two(given: Any, fill: int) -> list[int]:
    """Returns the numbers for two dimensions; the second number is `fill`."""
    return [*given[:1], fill]
