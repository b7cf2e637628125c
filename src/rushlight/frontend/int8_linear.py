"""Recognizes the linear layers of torchao's `Int8Tensor`, whose graph multiplies the stored integers.

The configurations `Int8DynamicActivationInt8WeightConfig`, `Int8StaticActivationInt8WeightConfig` and
`Int8WeightOnlyConfig` make these layers. The graph of a layer has these parts, besides views and conversions:

    products of integers: total = int_mm(q, w.T), or int_mm(uint8(q + 128), w.T) - 128 * sum(w.T)
                          y = float(total) * scale * weight_scales
    with zero points:     y = (float(total) * scale - zero_point * scale * sum(w)) * weight_scales
    float inputs:         y = mm(x, float(w).T) * weight_scales

`q` is the result of `quantize_affine`. Layers with other dtypes than float32 are not recognized, because the
roundings of their intermediate results would differ.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.edge_ops import argument, is_op
from rushlight.ir.quantization import transposed

aten = torch.ops.aten
_VIEWS = (aten.reshape.default, aten.view.default, aten._unsafe_view.default, aten.flatten.using_ints)
_CASTS = (aten.to.dtype, aten._to_copy.default)
_SUBTRACTIONS = (aten.sub.Tensor, aten.sub_.Tensor)
_ADDITIONS = (aten.add.Tensor, aten.add_.Tensor)
_CHOOSE = "torchao.choose_qparams_affine.default"
_QUANTIZE = "torchao.quantize_affine.default"


@dataclass(frozen=True)
class QuantizedInput:
    """A float32 tensor that `quantize_affine` quantizes to int8, with one range for each row or for all rows.

    Args:
        source: the tensor.
        choose: the node that chooses the parameters at run time; None if they are constants.
        scale: the scale of all rows, if it is constant.
        zero_point: the zero point of all rows, if it is constant.
        symmetric: whether the zero points are 0.
        per_row: whether each row has its own range.
        quant_min: the least integer.
        quant_max: the greatest integer.
        eps: the least scale that `choose` chooses.
    """

    source: Node
    choose: Node | None
    scale: float
    zero_point: int
    symmetric: bool
    per_row: bool
    quant_min: int
    quant_max: int
    eps: float


@dataclass(frozen=True)
class Int8Linear:
    """A linear layer with a stored int8 weight.

    Args:
        input: the input, float32 [..., k], or its quantization.
        weight: the node of the stored integers [n, k].
        scales: the node of the stored scales, [n, 1] or [1, 1].
        result: the last node of the layer, float32.
        bias: the bias, float32 [n], or None.
        is_flat: whether the result is [rows, n] although the input has other dims than two.
    """

    input: Node | QuantizedInput
    weight: Node
    scales: Node
    result: Node
    bias: Node | None
    is_flat: bool


def int8_linear(node: Node, constants: Mapping[str, torch.Tensor]) -> Int8Linear | None:
    """Returns the linear layer whose multiplication by the weight's scales is `node`; None for other nodes.

    Args:
        node: any node of a graph before its decomposition.
        constants: the stored tensors, by the names of their placeholders.
    """
    if not is_op(node, aten.mul.Tensor) or meta.get_dtype(node) is not torch.float32:
        return None
    scales, product = _origin(node.args[1], torch.float32), _origin(node.args[0], torch.float32)
    if scales is None or scales.name not in constants or product is None:
        return None
    operands = _float_operands(product) or _integer_operands(product, constants)
    if operands is None:
        return None
    given, weight = operands
    stored = constants.get(weight.name)
    if stored is None or stored.dim() != 2 or stored.dtype is not torch.int8 or stored.shape[1] < 2:
        return None
    if tuple(constants[scales.name].shape) not in ((len(stored), 1), (1, 1)):
        return None
    source = given if isinstance(given, Node) else given.source
    if meta.get_dtype(source) is not torch.float32 or meta.get_shape(source)[-1] != stored.shape[1]:
        return None
    return _with_bias(node, given, weight, scales, (*meta.get_shape(source)[:-1], len(stored)))


def _with_bias(
    node: Node, given: Node | QuantizedInput, weight: Node, scales: Node, shape: tuple[Any, ...]
) -> Int8Linear:
    """Returns the layer, with the view and the addition behind the multiplication `node` if possible."""
    result, bias = node, None
    user = _only_user(node)
    if user is not None and is_op(user, *_VIEWS) and tuple(meta.get_shape(user)) == shape:
        result = user
    is_flat = tuple(meta.get_shape(result)) != shape
    user = _only_user(result)
    if not is_flat and user is not None and is_op(user, *_ADDITIONS) and user.args[0] is result:
        other = user.args[1]
        if isinstance(other, Node) and tuple(meta.get_shape(other)) == shape[-1:] and not user.kwargs:
            if other.op == "placeholder" and meta.get_dtype(other) is torch.float32:
                result, bias = user, other
    return Int8Linear(given, weight, scales, result, bias, is_flat)


def _only_user(node: Node) -> Node | None:
    users = [user for user in node.users if not is_op(user, aten._assert_tensor_metadata.default)]
    return users[0] if len(users) == 1 else None


def _origin(node: object, *dtypes: torch.dtype) -> Node | None:
    """Walks back over views and conversions whose results have one of the dtypes."""
    while is_op(node, *_VIEWS, *_CASTS) and meta.get_dtype(node) in dtypes:
        node = node.args[0]
    return node if isinstance(node, Node) else None


def _float_operands(product: Node) -> tuple[Node, Node] | None:
    """Returns x and w of mm(x, float(w).T). x is not yet flattened to a matrix, if a view does that."""
    if not is_op(product, aten.mm.default):
        return None
    left, right = product.args
    matrix = _matrix(right)
    if matrix is None or not isinstance(left, Node):
        return None
    before = left.args[0] if is_op(left, *_VIEWS) else left
    assert isinstance(before, Node)
    return (left if meta.get_shape(before)[-1:] != meta.get_shape(left)[-1:] else before), matrix


def _matrix(node: object) -> Node | None:
    """Returns the int8 matrix whose transpose `node` is, as int8 or float32."""
    turned = _origin(node, torch.float32)
    matrix = transposed(turned)
    return matrix if matrix is not None and meta.get_dtype(matrix) is torch.int8 else None


def _integer_operands(
    product: Node, constants: Mapping[str, torch.Tensor]
) -> tuple[QuantizedInput, Node] | None:
    """Returns the quantized input and w of the products of integers."""
    correction = None
    if is_op(product, aten.sub.Tensor) and not product.kwargs:
        correction, left = product.args[1], _origin(product.args[0], torch.float32)
        if left is None:
            return None
        product = left
    if not is_op(product, aten.mul.Tensor):
        return None
    total, scale = _origin(product.args[0], torch.float32), _origin(product.args[1], torch.float32)
    operands = _operands_of_total(total)
    if operands is None or scale is None:
        return None
    quantize, weight = operands
    zero_point = quantize.args[3]
    if quantize.args[2] is not scale or not isinstance(zero_point, Node):
        return None
    if correction is not None and not _is_correction(correction, scale, zero_point, weight):
        return None
    given = _quantized_input(quantize, constants)
    is_complete = given is not None and (given.symmetric or correction is not None)
    return (given, weight) if given is not None and is_complete else None


def _operands_of_total(total: Node | None) -> tuple[Node, Node] | None:
    """Returns the quantize_affine node q and w of int_mm(q, w.T)."""
    raised = is_op(total, *_SUBTRACTIONS) and not total.kwargs
    product: Any = total.args[0] if raised and total is not None else total
    if not is_op(product, aten._int_mm.default):
        return None
    right = product.args[1]
    matrix, left = _matrix(right), _origin(product.args[0], torch.int8, torch.uint8, torch.int32)
    if raised:
        added = left
        assert total is not None
        if not is_op(added, aten.add.Tensor) or added.args[1] != 128 or not _is_sum_of(total.args[1], right):
            return None
        left = _origin(added.args[0], torch.int8, torch.int32)
    if matrix is None or left is None or str(left.target) != _QUANTIZE:
        return None
    return left, matrix


def _is_sum_of(node: object, turned: object) -> bool:
    """Whether a node computes 128 * sum(turned, 0)."""
    if not is_op(node, aten.mul.Tensor) or node.args[1] != 128:
        return False
    total = node.args[0]
    return is_op(total, aten.sum.dim_IntList) and total.args[0] is turned and total.args[1] in ([0], [-2])


def _is_correction(node: object, scale: Node, zero_point: Node, weight: Node) -> bool:
    """Whether a node computes zero_point * scale * sum(weight, 1)."""
    product = _origin(node, torch.float32)
    if product is None or not is_op(product, aten.mul.Tensor):
        return False
    factor, total = (_origin(side, torch.float32) for side in product.args)
    if factor is None or not is_op(factor, aten.mul.Tensor):
        return False
    if _origin(factor.args[0], torch.float32, torch.int8) is not zero_point:
        return False
    if _origin(factor.args[1], torch.float32) is not scale:
        return False
    return is_op(total, aten.sum.dim_IntList) and total.args[0] is weight and total.args[1] in ([-1], [1])


def _quantized_input(quantize: Node, constants: Mapping[str, torch.Tensor]) -> QuantizedInput | None:
    source, block, scale, zero_point, dtype = quantize.args[:5]
    low, high = argument(quantize, 5), argument(quantize, 6)
    if dtype is not torch.int8 or low is None or high is None or not isinstance(source, Node):
        return None
    assert isinstance(block, (list, tuple)) and isinstance(scale, Node)
    shape = meta.get_shape(source)
    per_row = [*block] == [1] * (len(shape) - 1) + [shape[-1]]
    if not per_row and not _is_whole(block, shape):
        return None
    bounds = int(low), int(high)
    choose = scale.args[0] if scale.target is operator.getitem else None
    if isinstance(choose, Node):
        return _dynamic_input(choose, quantize, per_row, bounds)
    stored = constants.get(scale.name)
    zeros = torch.zeros(1) if is_op(zero_point, aten.zeros_like.default) else _stored(zero_point, constants)
    if stored is None or stored.numel() != 1 or zeros is None or zeros.numel() != 1:
        return None
    return QuantizedInput(
        source, None, float(stored), int(zeros), not bool(zeros.any()), False, *bounds, eps=0.0
    )


def _is_whole(block: Any, shape: Any) -> bool:
    """Whether the sizes of a block are those of the tensor. Dynamic sizes are nodes of the graph."""
    sizes = [meta.get_val(size) if isinstance(size, Node) else size for size in block]
    return sizes == [*shape]


def _stored(node: object, constants: Mapping[str, torch.Tensor]) -> torch.Tensor | None:
    return constants.get(node.name) if isinstance(node, Node) else None


def _dynamic_input(
    choose: Node, quantize: Node, per_row: bool, bounds: tuple[int, int]
) -> QuantizedInput | None:
    if str(choose.target) != _CHOOSE or choose.args[0] is not quantize.args[0]:
        return None
    mapping, block, dtype, low, high, eps, scale_dtype = (argument(choose, i) for i in range(1, 8))
    zero_point = quantize.args[3]
    if zero_point not in choose.users or zero_point.args[1] != 1:  # type: ignore[union-attr]
        return None
    if [*block] != [*quantize.args[1]] or dtype is not torch.int8 or (low, high) != bounds:  # type: ignore[misc]
        return None
    if mapping not in ("SYMMETRIC", "ASYMMETRIC") or scale_dtype not in (None, torch.float32) or eps is None:
        return None
    is_standard = bounds == (-128, 127) and eps == torch.finfo(torch.float32).eps
    if mapping == "ASYMMETRIC" and per_row and not is_standard:
        return None
    source = quantize.args[0]
    assert isinstance(source, Node)
    return QuantizedInput(source, choose, 1.0, 0, mapping == "SYMMETRIC", per_row, *bounds, float(eps))
