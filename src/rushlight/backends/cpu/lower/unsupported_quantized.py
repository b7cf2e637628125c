"""Determines which nodes with quantized tensors plans can express."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.lower.quantized_lowering import MOVES, grouped_weight, int8_weight
from rushlight.backends.cpu.plan.int8 import INT4_BLOCK
from rushlight.ir import meta
from rushlight.ir.constants import Constants
from rushlight.ir.edge_ops import is_op
from rushlight.ir.quantization import (
    CHOOSE_QPARAMS,
    DEQUANTIZE_WEIGHT,
    DYNAMIC_DEQUANTIZE,
    DYNAMIC_QUANTIZE,
    dequantize_params,
    dynamic_quantization,
    linear_operands,
    qd,
    quantize_params,
)

_SCALE_IS_READ = "an operator other than quantize and dequantize operators reads its quantization parameters"


def unsupported_quantized_reason(node: Node, constants: Constants) -> str | None:
    """Returns the reason why a plan cannot express a quantize or dequantize node; None if it can."""
    if is_op(node, qd.quantize_per_tensor.default):
        if quantize_params(node) is None or meta.get_dtype(node.args[0]) is not torch.float32:
            return "its input is not float32, or its result is not int8 or uint8"
        return None
    if is_op(node, qd.dequantize_per_tensor.default):
        if dequantize_params(node) is None or meta.get_dtype(node) is not torch.float32:
            return "its input is not int8 or uint8, or its result is not float32"
        return None
    return _unsupported_dynamic_reason(_choice_of_params(node), constants)


def _choice_of_params(node: Node) -> Node:
    """Returns the node that chooses the parameters of a dynamic quantize or dequantize node."""
    arguments: Any = node.args
    if is_op(node, *DYNAMIC_DEQUANTIZE):
        return _choice_of_params(arguments[0])
    is_chosen = is_op(node, *DYNAMIC_QUANTIZE) and getattr(arguments[1], "target", None) is operator.getitem
    return arguments[1].args[0] if is_chosen else node


def _unsupported_dynamic_reason(choose: Node, constants: Constants) -> str | None:
    """Returns the reason why a plan cannot express a dynamic quantization.

    It is the same for all nodes from the choice of parameters to the products that read the result.
    """
    if not is_op(choose, *CHOOSE_QPARAMS) or meta.get_dtype(choose.args[0]) is not torch.float32:
        return "plans do not support the operator that chooses its quantization parameters"
    if not all(user.target is operator.getitem for user in choose.users):
        return _SCALE_IS_READ
    quantizes = {user for item in choose.users for user in item.users if is_op(user, *DYNAMIC_QUANTIZE)}
    for item in choose.users:
        if not all(u in quantizes or is_op(u, *DYNAMIC_DEQUANTIZE) for u in item.users):
            return _SCALE_IS_READ
    for quantize in quantizes:
        low, high, dtype = quantize.args[3:6]
        if dtype is not torch.int8 or int(low) < -128 or int(high) > 127:  # type: ignore[arg-type]
            return "its result is not int8"
        if quantize.args[0] is not choose.args[0]:
            return "its quantization parameters are chosen for another tensor"
        for user in quantize.users:
            if dynamic_quantization(user) is None or meta.get_dtype(user) is not torch.float32:
                return "an operator other than its dequantize operator reads the quantized tensor"
            if not all(_is_product(node, user, constants) for node in user.users):
                return (
                    "it is not only read by products with constant int8 matrices, or with constant 4-bit "
                    f"matrices whose group size is a multiple of {INT4_BLOCK}"
                )
    return None


def _is_product(node: Node, source: Node, constants: Constants) -> bool:
    parts = linear_operands(node)
    if parts is None:
        before, after = meta.get_tensor(source), meta.get_tensor(node)
        same_rows = before is not None and after is not None and before.dim() > 0 and after.dim() > 0
        same_rows = same_rows and before.shape[-1] == after.shape[-1]  # type: ignore[union-attr]
        return (
            is_op(node, *MOVES[:2]) and same_rows and all(_is_product(u, node, constants) for u in node.users)
        )
    if parts.input is not source:
        return False
    weight = int8_weight(parts.weight, constants)
    if weight is not None:
        return weight.values.dim() == 2
    grouped = grouped_weight(parts.weight, constants)
    if grouped is None or grouped.bits != 4:
        return False
    return grouped.group % INT4_BLOCK == 0


def unsupported_product_reason(node: Node, constants: Constants) -> str | None:
    """Returns the reason why a plan does not support the quantized weight of a product; None if it does."""
    parts = linear_operands(node)
    if (
        parts is None
        or not constants.is_constant(parts.weight)
        or not is_op(parts.weight, *DEQUANTIZE_WEIGHT)
    ):
        return None
    source: object = parts.input
    while is_op(source, *MOVES[:2]):
        source = source.args[0]
    if is_op(source, *DYNAMIC_DEQUANTIZE):
        return unsupported_quantized_reason(source, constants)
    return "its weight has zero points" if grouped_weight(parts.weight, constants) is None else None


def unsupported_table_reason(table: Node, constants: Constants) -> str | None:
    """Returns the reason why a plan cannot read rows of a quantized table; None if it can."""
    grouped = grouped_weight(table, constants)
    if grouped is None:
        return "its table has zero points, or scales that are not per row"
    return "its table is empty" if grouped.values.numel() == 0 else None


def reject_needless_conversions(supported: set[Node], nodes: list[Node], constants: Constants) -> None:
    """Removes conversions next to nodes that are not supported.

    Kernels compute such nodes from or to quantized tensors without these conversions.

    Args:
        supported: the nodes that plans support, from which the conversions are removed.
        nodes: all nodes in graph order.
        constants: the constants of the graph.
    """
    for node in nodes:
        if (
            node in supported
            and is_op(node, qd.quantize_per_tensor.default)
            and not constants.is_constant(node)
        ):
            source = node.args[0]
            if isinstance(source, Node) and source.op == "call_function" and _root(source) not in supported:
                supported.discard(node)
    for node in nodes:
        found = dynamic_quantization(node)
        if found is not None and not supported.issuperset(_readers(node)):
            supported.difference_update(found.nodes)
    for node in reversed(nodes):
        converts = is_op(node, *DEQUANTIZE_WEIGHT, *DYNAMIC_DEQUANTIZE) or constants.is_constant(node)
        if node in supported and converts and not _is_read(node, supported):
            supported.discard(node)


def _readers(node: Node) -> Iterator[Node]:
    """Yields the nodes that read a tensor or views of it, and these views."""
    for user in node.users:
        yield user
        if is_op(user, *MOVES[:2]):
            yield from _readers(user)


def _root(node: Node) -> Node:
    source = node.args[0]
    return source if node.target is operator.getitem and isinstance(source, Node) else node


def _is_read(node: Node, supported: set[Node]) -> bool:
    return any(user in supported or user.op == "output" for user in node.users)
