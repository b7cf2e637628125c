"""Determines which nodes plans can express."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Node

from rushlight.backends.cpu.lower.comparisons import ARITHMETIC, check_same_types
from rushlight.backends.cpu.lower.nodes import dtype_of, operation, shape_of, tensors_of
from rushlight.backends.cpu.lower.quantized import QUANTIZED
from rushlight.backends.cpu.lower.quantized_lowering import MOVES
from rushlight.backends.cpu.lower.row import Category
from rushlight.backends.cpu.lower.state import UPDATES
from rushlight.backends.cpu.lower.table import ROWS, is_in
from rushlight.backends.cpu.lower.unsupported_quantized import (
    unsupported_product_reason,
    unsupported_quantized_reason,
)
from rushlight.backends.cpu.plan.bindings import shapes_of
from rushlight.backends.cpu.plan.sizes import is_bounded, same, size_of
from rushlight.backends.cpu.plan.tensor import planned_dtype
from rushlight.ir import meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import argument
from rushlight.ir.sym import is_symbolic

aten = torch.ops.aten
MAX_RANK = 6

PRESERVED_OPS = (
    aten.linear.default,
    aten.scaled_dot_product_attention.default,
    aten.instance_norm.default,
    aten.layer_norm.default,
    aten.rms_norm.default,
    aten.silu.default,
    aten.hardswish.default,
    aten.hardsigmoid.default,
    aten.max_pool2d.default,
    aten.adaptive_avg_pool2d.default,
    aten.matmul.default,
    aten.roll.default,
    aten.select_scatter.default,
    aten.lstm.input,
    aten.gru.input,
    aten.prelu.default,
    aten.softplus.default,
    aten.mish.default,
    aten.upsample_nearest1d.vec,
    aten.upsample_bicubic2d.vec,
    aten.upsample_linear1d.default,
    aten.upsample_trilinear3d.default,
    aten.upsample_nearest3d.default,
    aten._upsample_nearest_exact1d.default,
    aten._upsample_nearest_exact2d.default,
    aten.repeat.default,
)
"""Operators that this backend lowers directly; they are not decomposed."""

_PRODUCTS = frozenset(
    {aten.linear.default, aten.addmm.default, aten.mm.default, aten.matmul.default, aten.convolution.default}
)
_LOOK_UPS = {
    aten.embedding.default: 1,
    aten.index.Tensor: 1,
    aten.index_select.default: 2,
    aten.gather.default: 2,
}
"""Operators with indices, and the position of the index argument."""
_COMPUTED_TYPES = frozenset({"Tensor", "number", "float", "bool"})
"""The types of arguments with which operators compute; sizes, dimensions and indices are `int`."""
_MASKED = frozenset({aten.scaled_dot_product_attention.default})


def unsupported_reason(node: Node, constants: Constants) -> str | None:
    """Returns the reason why a plan cannot express the node; None if it can."""
    if constants.is_constant(node):
        return None
    op = operation(node)
    if op not in ROWS and op not in QUANTIZED:
        return f"plans do not support {op or node.target}"
    if op is operator.getitem:
        return None
    reason = _unsupported_shape(node)
    if reason is not None:
        return reason
    if op in _PRODUCTS and any(constants.is_constant(n) and 0 in shape_of(n) for n in node.all_input_nodes):
        return "its weights are empty"
    if op in QUANTIZED:
        return unsupported_quantized_reason(node, constants)
    if is_in(op, Category.ELEMENTWISE) and _has_equal_sizes_by_assertion(node):
        return "the sizes of its operands are equal only because the program asserts this"
    if _computes_with_symbol(node, op):
        return "it computes with a symbolic number, such as a dynamic size"
    if op in ARITHMETIC and dtype_of(node) in (torch.int64, torch.int32):
        return check_same_types(node, node)
    reason = _unsupported_dtype(node, op) or unsupported_product_reason(node, constants)
    if reason is not None:
        return reason
    check = ROWS[op].check
    return check(node, constants) if check else None


def _unsupported_shape(node: Node) -> str | None:
    """Returns why the shape of an operand or of the result is not supported; None if all are."""
    for tensor in (t for item in (*node.all_input_nodes, node) for t in tensors_of(item)):
        if tensor.dim() > MAX_RANK:
            return f"it has {tensor.dim()} dimensions"
        if not all(is_bounded(size) for size in tensor.shape):
            return "one of its sizes has no upper bound"
    return None


def _unsupported_dtype(node: Node, op: OpOverload) -> str | None:
    """Returns why the dtype of an operand or of the result is not supported; None if all are.

    Plans compute with float32. Some operators only move elements, or read indices or masks.
    """
    moves = is_in(op, Category.VIEW, Category.MASK) or op in UPDATES or op is aten.copy.default
    for source in [*node.all_input_nodes, node]:
        fake = meta.get_tensor(source)
        if fake is None or planned_dtype(fake.dtype) is torch.float32:
            continue
        if moves and fake.dtype in (torch.int64, torch.int32, torch.bool):
            continue
        if op in MOVES and fake.dtype in (torch.int8, torch.uint8):
            continue
        if op in _LOOK_UPS and source in _indices(node, _LOOK_UPS[op]) and fake.dtype is torch.int64:
            continue
        if op in _MASKED and source is argument(node, 3) and fake.dtype is torch.bool:
            continue
        return f"{source.name} is {fake.dtype}"
    return None


@cache
def _computed_arguments(op: OpOverload) -> tuple[tuple[int, str], ...]:
    """Returns the positions and names of arguments with numbers to compute with, not sizes or indices.

    For example, `other` of add.Tensor, but not `dim` of sum.dim_IntList. The type of an argument is a name,
    such as `Tensor` or `number`, or contains the name in brackets, as in `Optional[Tensor]`.
    """
    return tuple(
        (position, argument.name)
        for position, argument in enumerate(op._schema.arguments)
        if not _COMPUTED_TYPES.isdisjoint(re.findall(r"\w+", str(argument.type)))
    )


def _computes_with_symbol(node: Node, op: OpOverload) -> bool:
    for position, name in _computed_arguments(op):
        value = node.args[position] if position < len(node.args) else node.kwargs.get(name)
        if isinstance(value, Node) and is_symbolic(meta.find_val(value)):
            return True
    return False


def _has_equal_sizes_by_assertion(node: Node) -> bool:
    """Returns whether a plan cannot see that an operand broadcasts to the sizes of the result."""
    (result,) = shapes_of(node)
    # The slopes of prelu are per channel: they do not broadcast.
    is_prelu = operation(node) is aten.prelu.default
    for source in node.all_input_nodes[:1] if is_prelu else node.all_input_nodes:
        for tensor in tensors_of(source):
            sizes = [size_of(size) for size in tensor.shape]
            pairs = zip(reversed(sizes), reversed(result), strict=False)
            if any(size not in (1, whole) and not same(size, whole) for size, whole in pairs):
                return True
    return False


def _indices(node: Node, position: int) -> Sequence[Any]:
    indices = argument(node, position)
    return [indices] if isinstance(indices, Node) else indices
