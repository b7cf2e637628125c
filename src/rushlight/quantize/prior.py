"""Estimates the statistics of the inputs of a layer without data."""

from __future__ import annotations

import operator

import torch
from torch.fx import GraphModule, Node

aten = torch.ops.aten
qd = torch.ops.quantized_decomposed

_PASSED = {
    aten.dropout.default,
    aten.flatten.using_ints,
    aten.reshape.default,
    aten.to.dtype,
    aten.unsqueeze.default,
    aten.view.default,
    qd.dequantize_per_tensor.tensor,
    qd.dequantize_per_token.default,
    qd.quantize_per_tensor.tensor,
    qd.quantize_per_token.default,
}
"""Operators that keep the vectors of their first argument unchanged, or change them only by rounding."""

_NORMS = {aten.layer_norm.default, aten.rms_norm.default}


def expected_gram_matrix(model: GraphModule, node: object, width: int) -> torch.Tensor | None:
    """Returns the expected Gram matrix of a layer's inputs if a normalization layer computes them.

    Layer norm and RMS norm compute vectors x * weight + bias. x has approximately mean 0 and variance 1. The
    expected Gram matrix is diag(weight^2) + bias^T bias.

    Args:
        model: the graph.
        node: the node that computes the inputs.
        width: the size of their last dimension.

    Returns:
        The mean of x^T x [width, width] over the vectors x, or None.
    """
    while isinstance(node, Node) and (node.target in _PASSED or node.op == "call_module"):
        node = node.args[0]
    if not isinstance(node, Node) or node.target not in _NORMS or list(node.args[1]) != [width]:  # type: ignore[arg-type]
        return None
    values = [_stored(model, arg) for arg in node.args[2:4]]
    scale = values[0] if values and values[0] is not None else torch.ones(width)
    found = torch.diag(scale.square())
    if len(values) == 2 and values[1] is not None:
        found += torch.outer(values[1], values[1])
    return found


def _stored(model: GraphModule, arg: object) -> torch.Tensor | None:
    if not isinstance(arg, Node) or arg.op != "get_attr":
        return None
    value: torch.Tensor = operator.attrgetter(str(arg.target))(model)
    return value.detach().to(torch.float32)
