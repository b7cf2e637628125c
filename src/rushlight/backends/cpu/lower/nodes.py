"""What lowering and its checks ask about nodes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import Node

from rushlight.backends.cpu.plan.sizes import is_bounded
from rushlight.backends.cpu.plan.tensor import planned_dtype
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.sym import bounds


def operation(node: Node) -> Any:
    """The ATen overload of a node, or operator.getitem."""
    return node.target if node.target is operator.getitem else aten_op(node.target)


def tensors_of(node: Node) -> list[torch.Tensor]:
    value = meta.find_val(node)
    values = value if isinstance(value, (tuple, list)) else [value]
    return [item for item in values if isinstance(item, torch.Tensor)]


def shape_of(node: Node) -> Sequence[Any]:
    fake = meta.get_tensor(node)
    return () if fake is None else fake.shape


def rank_of(node: Any) -> int:
    fake = meta.get_tensor(node) if isinstance(node, Node) else None
    return -1 if fake is None else fake.dim()


def is_static(node: Any) -> bool:
    fake = meta.get_tensor(node) if isinstance(node, Node) else None
    return fake is not None and all(isinstance(size, int) for size in fake.shape)


def is_empty(weight: Any) -> bool:
    fake = meta.get_tensor(weight) if isinstance(weight, Node) else None
    return fake is not None and fake.numel() == 0


def check_first_result_alone(node: Node) -> str | None:
    used = [user for user in node.users if user.args[1] != 0 and user.users]
    return "more than its first result is used" if used else None


def check_slice_bounds(whole: Node, part: Node, axis: Any, start: Any, step: Any) -> str | None:
    """Whether a slice of `whole`, of the shape of `part`, begins where a plan can say."""
    if step not in (None, 1) and not isinstance(step, int):
        return "its step is symbolic"
    if start is None or isinstance(start, int):
        return None
    a, b = meta.get_tensor(whole), meta.get_tensor(part)
    value = meta.find_val(start) if isinstance(start, Node) else None
    if a is None or b is None or not isinstance(value, torch.SymInt) or not is_bounded(value):
        return "it begins at a place without bounds"
    size, length = a.shape[axis], b.shape[axis]
    low, high = bounds(value)
    if low < 0 or high is None or not isinstance(size, int) or not isinstance(length, int):
        return "it begins at a place without bounds"
    return None if high + (length - 1) * (step or 1) < size else "it may end beyond the tensor"


def dtype_of(node: Any) -> torch.dtype | None:
    """That in which a plan keeps a tensor's node."""
    fake = meta.get_tensor(node) if isinstance(node, Node) else None
    return None if fake is None else planned_dtype(fake.dtype)
