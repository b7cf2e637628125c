"""Determines which nodes XNNPACK supports.

Each operator has a check, which returns the reason why a node is not supported; None if it is.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.xnnpack.nodes import (
    MAX_RANK,
    SupportContext,
    dynamic_axes,
    is_channels_last,
    is_dense,
    is_row,
    is_static,
    lower_dims,
    operation,
    pair,
    rank_of,
    tensor_of,
    transposed_constant,
    upper_dims,
)
from rushlight.ir import meta
from rushlight.ir.edge_ops import argument

aten = torch.ops.aten
Check = Callable[[Node, SupportContext], str | None]


def unsupported_reason(node: Node, context: SupportContext) -> str | None:
    """Returns the reason why XNNPACK does not support a node; None if it does."""
    if node.op != "call_function":
        return "it does not call an operator"
    op = operation(node)
    if op not in CHECKS:
        return "XNNPACK has no such operator"
    if context.is_cast(node):
        result = tensor_of(node)
        assert result is not None
        if result.dtype not in context.dtypes:
            return f"{result.dtype} is not supported"
        return unsupported_shape(result)
    reason = _unsupported_tensors(node, context)
    check = CHECKS[op]
    return reason or (check(node, context) if check is not None else None)


def _unsupported_tensors(node: Node, context: SupportContext) -> str | None:
    val = meta.find_val(node)
    outputs = [val[0] if isinstance(val, (tuple, list)) else val]
    inputs = [tensor_of(source) for source in node.all_input_nodes]
    if any(tensor is None for tensor in inputs):
        return "an argument is not a tensor"
    if not isinstance(outputs[0], torch.Tensor):
        return "the result is not a tensor"
    dtypes = {tensor.dtype for tensor in [*inputs, *outputs] if isinstance(tensor, torch.Tensor)}
    if len(dtypes) > 1:
        return f"its tensors have different dtypes: {', '.join(sorted(map(str, dtypes)))}"
    if not dtypes <= context.dtypes:
        return f"{dtypes.pop()} is not supported"
    reasons = (unsupported_shape(tensor) for tensor in [*inputs, *outputs] if tensor is not None)
    return next(filter(None, reasons), None)


def unsupported_shape(tensor: torch.Tensor) -> str | None:
    """Returns why XNNPACK does not support the shape or the layout of a tensor; None if it does."""
    if tensor.dim() > MAX_RANK:
        return f"a tensor has {tensor.dim()} dimensions; at most {MAX_RANK} are supported"
    if any(size == 0 for size in upper_dims(tensor)):
        return "a tensor is empty or has no upper bound"
    return None if is_dense(tensor) else "a tensor is neither contiguous nor channels-last"


def _alpha_is_one(node: Node, context: SupportContext) -> str | None:
    return None if argument(node, 2, 1) == 1 else "alpha is not 1"


def _clamp(node: Node, context: SupportContext) -> str | None:
    low, high = argument(node, 1), argument(node, 2)
    is_range = (-math.inf if low is None else low) <= (math.inf if high is None else high)
    return None if is_range else f"the lower bound {low} is not at most the upper bound {high}"


def _layout_kept(node: Node, context: SupportContext) -> str | None:
    source, result = tensor_of(node.args[0]), tensor_of(node)
    assert source is not None and result is not None
    return None if is_channels_last(source) == is_channels_last(result) else "the dim order changes"


def _is_image(node: Node, context: SupportContext) -> str | None:
    return None if rank_of(node.args[0]) == 4 else f"the input has {rank_of(node.args[0])} dimensions, not 4"


def _convolution(node: Node, context: SupportContext) -> str | None:
    rank = rank_of(node.args[1])
    if rank not in (3, 4):
        return f"it is a convolution over {rank - 2} dimensions, not 1 or 2"
    if rank_of(node.args[0]) != rank:
        return "the input has no batch dimension"
    if not context.is_weight(node.args[1]):
        return "the weight is not constant"
    if node.args[2] is not None and not context.is_constant(node.args[2]):
        return "the bias is not constant"
    paddings: Any = node.args[4]
    if min(paddings) < 0:
        return "the padding is negative"
    source = tensor_of(node.args[0])
    assert source is not None
    if rank == 3 and len(dynamic_axes(source)) > 1:
        return "more than one size of the input of a 1-d convolution is dynamic"
    return _transposed(node, source) if node.args[6] else None


def _transposed(node: Node, source: torch.Tensor) -> str | None:
    """Refuses transposed convolutions for which XNNPACK returns wrong results.

    If the strides are not larger than the kernel, XNNPACK splits the convolution into subconvolutions.
    Results that are smaller than a stride are then wrong.
    """
    weight = tensor_of(node.args[1])
    assert weight is not None
    stride, padding, dilation, extra = (
        list(pair(node.args[i])) if weight.dim() == 4 else [int(item) for item in node.args[i]]  # type: ignore[union-attr, arg-type]
        for i in (3, 4, 5, 7)
    )
    window = [int(size) for size in weight.shape[2:]]
    if any(added >= step for added, step in zip(extra, stride, strict=True)):
        return f"the output padding {extra} is not smaller than the stride {stride}"
    is_split = max(dilation) == 1 and all(step <= size for step, size in zip(stride, window, strict=True))
    for axis, length in enumerate(lower_dims(source)[2:]):
        spread = dilation[axis] * (window[axis] - 1) + 1 + extra[axis] - 2 * padding[axis]
        least = stride[axis] * (max(length, 1) - 1) + spread
        least = least if least > 0 else (least - 1) % stride[axis] + 1
        if is_split and least + 1 < stride[axis]:
            return f"a result of {least} pixels is smaller than the stride {stride[axis]}"
    return None


def _weights(node: Node, context: SupportContext, weight: object, bias: object) -> str | None:
    is_constant = context.is_weight(weight) or transposed_constant(context, weight) is not None
    is_half = tensor_of(node).dtype == torch.float16  # type: ignore[union-attr]
    if not is_constant and (is_half or not context.dynamic_weights):
        return "the weight is not constant"
    return None if bias is None or context.is_constant(bias) else "the bias is not constant"


def _linear(node: Node, context: SupportContext) -> str | None:
    if rank_of(node.args[0]) < 1 or rank_of(node.args[1]) != 2:
        return "the weight is not a matrix"
    return _weights(node, context, node.args[1], argument(node, 2))


def _addmm(node: Node, context: SupportContext) -> str | None:
    if argument(node, 3, 1) != 1 or argument(node, 4, 1) != 1:
        return "alpha or beta is not 1"
    if rank_of(node.args[0]) != 1 and not is_row(node.args[0], context):
        return "the bias is not a vector"
    return _weights(node, context, node.args[2], node.args[0])


def _mm(node: Node, context: SupportContext) -> str | None:
    return _weights(node, context, node.args[1], None)


def _batch_norm(node: Node, context: SupportContext) -> str | None:
    if any(user.target is not operator.getitem or user.args[1] != 0 for user in node.users):
        return "a result other than the first one is used"
    if rank_of(node.args[0]) not in (2, 3, 4):
        return f"the input has {rank_of(node.args[0])} dimensions, not 2, 3 or 4"
    known = all(source is None or context.is_constant(source) for source in node.args[1:5])
    return None if known else "weight, bias, mean or variance is not constant"


def _first_item_only(node: Node) -> bool:
    return all(user.target is operator.getitem and user.args[1] == 0 for user in node.users)


def _max_pool(node: Node, context: SupportContext) -> str | None:
    kernel = pair(node.args[1])
    stride = pair(argument(node, 2), kernel)
    if stride[0] > kernel[0] or stride[1] > kernel[1]:
        return f"the stride {stride} is larger than the window {kernel}"
    if kernel == (1, 1):
        return "the window has one element"
    source = tensor_of(node.args[0])
    assert source is not None
    if argument(node, 5, False) and not is_static(source):
        return "ceil_mode is True and a size is dynamic"
    if operation(node) == aten.max_pool2d_with_indices.default and not _first_item_only(node):
        return "the indices are used"
    return _is_image(node, context)


def _avg_pool(node: Node, context: SupportContext) -> str | None:
    kernel, padding = pair(node.args[1]), pair(argument(node, 3), (0, 0))
    if argument(node, 4, False):
        return "ceil_mode is True"
    if argument(node, 5, True) and padding != (0, 0):
        return "count_include_pad is True and there is padding"
    if argument(node, 6) not in (None, kernel[0] * kernel[1]):
        return "the divisor is not the number of elements of the window"
    if kernel == (1, 1):
        return "the window has one element"
    return _is_image(node, context)


def _mean(node: Node, context: SupportContext) -> str | None:
    dims = argument(node, 1)
    if rank_of(node.args[0]) != 4 or not dims or sorted(d % 4 for d in dims) != [2, 3]:
        return "only means over height and width of images are supported"
    if not argument(node, 2, False):
        return "only keepdim=True is supported"
    return None if argument(node, 3) is None else "the dtype changes"


def _max_dim(node: Node, context: SupportContext) -> str | None:
    source = tensor_of(node.args[0])
    if source is None or source.dim() != 4 or int(node.args[1]) % 4 < 2:  # type: ignore[arg-type]
        return "only maxima over the height or the width of images are supported"
    axis = int(node.args[1]) % 4  # type: ignore[arg-type]
    if axis in dynamic_axes(source):
        return "the reduced size is dynamic"
    if source.shape[axis] == 1:
        return "the reduced size is 1"
    if not argument(node, 2, False) and len(dynamic_axes(source)) > 1:
        return "more than one size of the result is dynamic"
    return None if _first_item_only(node) else "the indices are used"


def _softmax(node: Node, context: SupportContext) -> str | None:
    rank = rank_of(node.args[0])
    return None if rank > 0 and node.args[1] in (-1, rank - 1) else "the dimension is not the last dimension"


def _cat(node: Node, context: SupportContext) -> str | None:
    is_supported = len(node.args[0]) >= 2  # type: ignore[arg-type]
    return None if is_supported else "it concatenates fewer than two tensors"


def _reshape(node: Node, context: SupportContext) -> str | None:
    result = tensor_of(node)
    assert result is not None
    if sum(not isinstance(size, int) for size in result.shape) > 1:
        return "more than one size of the result is dynamic"
    if result.dim() == 0:
        return "the result has no dimensions"
    return None


def _slice(node: Node, context: SupportContext) -> str | None:
    source, result = tensor_of(node.args[0]), tensor_of(node)
    assert source is not None and result is not None
    if argument(node, 4, 1) != 1:
        return "the step is not 1"
    return None if is_static(source) and is_static(result) else "a size is dynamic"


def _pad(node: Node, context: SupportContext) -> str | None:
    sizes: Any = node.args[1]
    return "the padding is negative" if min(sizes, default=0) < 0 else None


def _square(node: Node, context: SupportContext) -> str | None:
    return None if node.args[1] == 2 else "only the second power is supported"


def _gelu(node: Node, context: SupportContext) -> str | None:
    if argument(node, 1, "none") != "none":
        return "the tanh approximation is not supported"
    is_half = tensor_of(node).dtype == torch.float16  # type: ignore[union-attr]
    return "float16 is not supported for gelu" if is_half else None


def _elu(node: Node, context: SupportContext) -> str | None:
    return None if argument(node, 2, 1) == 1 and argument(node, 3, 1) == 1 else "a scale is not 1"


def _prelu(node: Node, context: SupportContext) -> str | None:
    if not context.is_constant(node.args[1]):
        return "the weight is not constant"
    source = tensor_of(node.args[0])
    assert source is not None
    if source.dim() not in (2, 4):
        return "the input has neither 2 nor 4 dimensions"
    return "the number of channels is dynamic" if 1 in dynamic_axes(source) else None


def _resize(node: Node, context: SupportContext) -> str | None:
    source, result = tensor_of(node.args[0]), tensor_of(node)
    assert source is not None and result is not None
    if argument(node, 3) is not None and not argument(node, 2, False):
        factors = list(argument(node, 3))
        exact = [result.shape[2 + i] / source.shape[2 + i] for i in range(2)]
        if not is_static(source) or any(abs(f - e) > 1e-6 for f, e in zip(factors, exact, strict=True)):
            return "the scale factors are not the ratios of the sizes"
    return None if is_static(result) else "a size is dynamic"


def _clone(node: Node, context: SupportContext) -> str | None:
    return _layout_kept(node, context)


CHECKS: dict[object, Check | None] = {
    aten.abs.default: None,
    aten.add.Tensor: _alpha_is_one,
    aten.addmm.default: _addmm,
    aten.avg_pool2d.default: _avg_pool,
    aten.bmm.default: None,
    aten.cat.default: _cat,
    aten.ceil.default: None,
    aten.clamp.default: _clamp,
    aten.clone.default: _clone,
    aten.constant_pad_nd.default: _pad,
    aten.convolution.default: _convolution,
    aten.cos.default: None,
    aten.div.Tensor: None,
    aten.elu.default: _elu,
    aten.exp.default: None,
    aten.floor.default: None,
    aten.gelu.default: _gelu,
    aten.hardswish.default: None,
    aten.hardtanh.default: None,
    aten.leaky_relu.default: None,
    aten.linear.default: _linear,
    aten.log.default: None,
    aten.max_pool2d.default: _max_pool,
    aten.max_pool2d_with_indices.default: _max_pool,
    aten.max.dim: _max_dim,
    aten.maximum.default: None,
    aten.mean.dim: _mean,
    aten.minimum.default: None,
    aten.mm.default: _mm,
    aten.mul.Tensor: None,
    aten._native_batch_norm_legit_no_training.default: _batch_norm,
    aten.neg.default: None,
    aten.permute_copy.default: None,
    aten.pow.Tensor_Scalar: _square,
    aten.prelu.default: _prelu,
    aten.relu.default: None,
    aten.rsqrt.default: None,
    aten.sigmoid.default: None,
    aten.sin.default: None,
    aten.slice_copy.Tensor: _slice,
    aten._softmax.default: _softmax,
    aten.sqrt.default: None,
    aten.squeeze_copy.dim: _reshape,
    aten.squeeze_copy.dims: _reshape,
    aten.sub.Tensor: _alpha_is_one,
    aten.tanh.default: None,
    aten.unsqueeze_copy.default: _reshape,
    aten.upsample_bilinear2d.vec: _resize,
    aten.view_copy.default: _reshape,
    "dim_order_ops._clone_dim_order.default": _clone,
    "dim_order_ops._to_dim_order_copy.default": _clone,
}

PRESERVED_OPS = (
    aten.linear.default,
    aten.max_pool2d.default,
    aten.upsample_bilinear2d.vec,
    aten.prelu.default,
    aten.hardswish.default,
    aten.elu.default,
)
"""Operators that are not decomposed, because XNNPACK supports them."""
