"""Classifies quantize and dequantize nodes, as ExecuTorch's `backends.xnnpack.utils.quant_utils` does."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op

IS_IMPLICIT_Q_DQ_TAG = meta.IMPLICIT_QUANTIZATION

_SCHEMES = (
    "per_tensor.tensor",
    "per_tensor.default",
    "per_channel.default",
    "per_channel_group.default",
    "per_token.default",
    "affine.default",
)
_Q_OPS = {f"quantize_{scheme}" for scheme in _SCHEMES}
_DQ_OPS = {f"dequantize_{scheme}" for scheme in _SCHEMES}
_QPARAM_OPS = {
    "choose_qparams.tensor",
    "choose_qparams_affine.default",
    "choose_qparams_per_token_asymmetric.default",
}

_ZERO_POINTS = {
    torch.int8: (-128, 127),
    torch.qint8: (-128, 127),
    torch.uint8: (0, 255),
    torch.quint8: (0, 255),
    torch.int32: (0, 0),
}
"""The smallest and the largest zero point by the dtype of a quantized tensor."""


def _name_of(node: Node) -> str:
    """Returns the operator of a node without its namespace, such as `quantize_per_tensor.default`."""
    op = aten_op(node.target) if node.op == "call_function" else None
    return "" if op is None else str(op).partition(".")[2]


def is_quant(node: Node) -> bool:
    """Returns whether a node quantizes a tensor."""
    return _name_of(node) in _Q_OPS


def is_dequant(node: Node) -> bool:
    """Returns whether a node dequantizes a tensor."""
    return _name_of(node) in _DQ_OPS


def is_qparam(node: Node) -> bool:
    """Returns whether a node computes a scale and a zero point from a tensor."""
    return _name_of(node) in _QPARAM_OPS


def tag_as_implicit_q_dq(node: Node) -> None:
    """Marks a quantize or dequantize node as implicit: it belongs to the operator that it surrounds."""
    meta.set_implicit_quantization(node)


def is_tagged_as_implicit_q_dq(node: Node) -> bool:
    """Returns whether `tag_as_implicit_q_dq` has marked a node."""
    return meta.is_implicit_quantization(node)


def is_affine_qdq(node: Node) -> bool:
    """Returns whether a node calls torchao's affine quantize or dequantize operator."""
    return _name_of(node) in ("quantize_affine.default", "dequantize_affine.default")


def is_per_tensor(node: Node) -> bool:
    """Returns whether a node quantizes or dequantizes with one scale."""
    return _has_scheme(node, "per_tensor")


def is_per_channel(node: Node) -> bool:
    """Returns whether a node quantizes or dequantizes with a scale for each channel or group of a channel."""
    return _has_scheme(node, "per_channel") or is_per_channel_group(node)


def is_per_channel_group(node: Node) -> bool:
    """Returns whether a node quantizes or dequantizes the rows of a static matrix in groups."""
    if not is_affine_qdq(node):
        return _has_scheme(node, "per_channel_group")
    block, tensor, scale = _affine_blocks(node)
    sizes = (*tensor.shape, *scale.shape, *block)
    if len(block) != 2 or block[0] != 1 or not all(isinstance(size, int) for size in sizes):
        return False
    return bool(tensor.numel() == block[1] * scale.numel())


def is_per_token(node: Node) -> bool:
    """Returns whether a node quantizes or dequantizes with a scale for each row along the last dimension."""
    if not is_affine_qdq(node):
        return _has_scheme(node, "per_token")
    block, tensor, scale = _affine_blocks(node)
    rows = math.prod(tensor.shape[:-1])
    is_row = all(size == 1 for size in block[:-1]) and bool(block[-1] == tensor.shape[-1])
    return is_row and bool(scale.numel() == rows)


def _has_scheme(node: Node, scheme: str) -> bool:
    return (is_quant(node) or is_dequant(node)) and scheme in _name_of(node)


def _affine_blocks(node: Node) -> tuple[list[Any], torch.Tensor, torch.Tensor]:
    """Returns the block size, the input tensor and the scales of an affine node."""
    arguments: list[Any] = list(node.args)
    block = [meta.get_val(size) if isinstance(size, Node) else size for size in arguments[1]]
    return block, meta.get_val(arguments[0]), meta.get_val(arguments[2])


def is_dynamic_qdq(node: Node) -> bool:
    """Returns whether a node quantizes or dequantizes with parameters that are computed at run time."""
    if not (is_quant(node) or is_dequant(node)):
        return False
    arguments = extract_qdq_affine_op_args_for_decomposed_ops(node) if is_affine_qdq(node) else node.args
    scale, zero_point = arguments[1:3] if len(arguments) > 2 else (None, None)
    return _is_computed(scale) and _is_computed(zero_point)


def _is_computed(parameter: object) -> bool:
    if not isinstance(parameter, Node) or parameter.target is not operator.getitem:
        return False
    return is_qparam(parameter.all_input_nodes[0])


def extract_qdq_affine_op_args_for_decomposed_ops(node: Node) -> Sequence[Any]:
    """Converts the arguments of an affine operator to those of a `quantized_decomposed` operator.

    Args:
        node: a call of `quantize_affine` or `dequantize_affine`.

    Returns:
        The tensor, scales, zero points, quant_min, quant_max, dtype, the group size if a matrix is quantized
        in groups, and the last argument of the node. (None, None) for other operators, and for dtypes other
        than int8.
    """
    if not is_affine_qdq(node):
        return None, None
    source, _, scale, zero_point, dtype, *limits = node.args
    if dtype is not torch.int8:
        return None, None
    info = torch.iinfo(dtype)
    bounds = limits[:2] if len(limits) > 1 else [info.min, info.max]
    groups = [_affine_blocks(node)[0][-1]] if is_per_channel_group(node) else []
    return [source, scale, zero_point, *bounds, dtype, *groups, node.args[-1]]


def is_tensor_subnormal(tensor: torch.Tensor) -> torch.Tensor:
    """Returns for each element whether it is zero or a positive subnormal number."""
    return (tensor >= 0) & (tensor.abs() < torch.finfo(tensor.dtype).smallest_normal)


def validate_quant_scales(scales: float | torch.Tensor) -> None:
    """Checks that scales are finite and normal.

    Raises:
        ValueError: a scale is infinite, NaN, zero or subnormal.
    """
    given = scales if isinstance(scales, torch.Tensor) else torch.tensor([scales])
    for is_wrong in (~given.isfinite(), is_tensor_subnormal(given)):
        index = _first(is_wrong)
        if index is not None:
            raise ValueError(
                f"Scales must be finite and normal, however found scale value: {given[index]} in scale "
                f"tensor at index: {index}"
            )


def validate_quant_zeropoints(zp: float | torch.Tensor, dtype: torch.dtype, is_4bit: bool) -> None:
    """Checks that zero points are in the range of their dtype.

    Args:
        zp: the zero points.
        dtype: the dtype of the quantized tensor.
        is_4bit: whether the tensor contains integers from 0 to 15.

    Raises:
        ValueError: a zero point is out of range, or the dtype is not supported.
    """
    given = zp if isinstance(zp, torch.Tensor) else torch.tensor([zp])
    if dtype not in _ZERO_POINTS:
        raise ValueError(f"Unsupported dtype for quantization: {dtype}")
    low, high = (0, 15) if is_4bit and dtype in (torch.int8, torch.qint8) else _ZERO_POINTS[dtype]
    index = _first((given < low) | (given > high))
    if index is not None:
        raise ValueError(f"Found invalid zeropoint {given[index]} in zero point tensor at index: {index}")


def _first(chosen: torch.Tensor) -> tuple[int, ...] | None:
    """Returns the index of the first element that is true, or None."""
    found = chosen.nonzero()
    return tuple(found[0].tolist()) if len(found) else None
