"""Properties of nodes and their tensors, for the checks and for lowering."""

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
from rushlight.ir.sym import IntLike, bounds

_MAX_WINDOW, _MAX_WINDOW_STEP = 4096, 65536  # bounds of the table Window in schema/cpu_plan.fbs


def operation(node: Node) -> Any:
    """Returns the ATen overload of a node, or operator.getitem."""
    return node.target if node.target is operator.getitem else aten_op(node.target)


def tensors_of(node: Node) -> list[torch.Tensor]:
    """Returns the fake tensors that a node computes: none, one, or several."""
    value = meta.find_val(node)
    values = value if isinstance(value, (tuple, list)) else [value]
    return [item for item in values if isinstance(item, torch.Tensor)]


def check_window(kernel: Any, *others: Any) -> str | None:
    """Refuses a window with a number that is larger than its bound in the schema.

    Args:
        kernel: the sizes of the window, or one number for all axes.
        others: strides, paddings and dilations in the same form; None and [] are defaults.

    Returns:
        The reason; None if all numbers are within their bounds.
    """

    def largest(value: Any) -> int:
        return int(max(value, default=0)) if isinstance(value, Sequence) else int(value or 0)

    if largest(kernel) > _MAX_WINDOW:
        return f"its window has more than {_MAX_WINDOW} elements on an axis"
    if any(largest(other) > _MAX_WINDOW_STEP for other in others):
        return f"its stride, padding or dilation is larger than {_MAX_WINDOW_STEP}"
    return None


def shape_of(node: Node) -> Sequence[IntLike]:
    """Returns the sizes (int or SymInt) of the node's tensor; empty if the node has no single tensor."""
    fake = meta.get_tensor(node)
    return () if fake is None else fake.shape


def rank_of(node: object) -> int:
    """Returns the number of dimensions of the node's tensor; -1 for any other value."""
    fake = meta.get_tensor(node) if isinstance(node, Node) else None
    return -1 if fake is None else fake.dim()


def is_static(node: object) -> bool:
    """Returns whether an argument is a node with a tensor whose sizes are all integers."""
    fake = meta.get_tensor(node) if isinstance(node, Node) else None
    return fake is not None and all(isinstance(size, int) for size in fake.shape)


def is_empty(weight: object) -> bool:
    """Returns whether an argument is a node with a tensor of no elements."""
    fake = meta.get_tensor(weight) if isinstance(weight, Node) else None
    return fake is not None and fake.numel() == 0


def check_first_result_alone(node: Node) -> str | None:
    """Refuses the node if a result other than the first one is used."""
    used = [user for user in node.users if user.args[1] != 0 and user.users]
    return "a result other than its first one is used" if used else None


def check_slice_bounds(whole: Node, part: Node, axis: Any, start: object, step: object) -> str | None:
    """Refuses a slice whose first index has no bounds, or which may end outside its input.

    Args:
        whole: the node with the sliced tensor.
        part: a node whose tensor has the shape of the slice.
        axis: the sliced dimension.
        start: None, an integer, or the node of a symbolic integer.
        step: None, an integer, or a symbolic value.
    """
    if step not in (None, 1) and not isinstance(step, int):
        return "its step is symbolic"
    if start is None or isinstance(start, int):
        return None
    a, b = meta.get_tensor(whole), meta.get_tensor(part)
    value = meta.find_val(start) if isinstance(start, Node) else None
    if a is None or b is None or not isinstance(value, torch.SymInt) or not is_bounded(value):
        return "its first index has no bounds"
    size, length = a.shape[axis], b.shape[axis]
    low, high = bounds(value)
    if low < 0 or high is None or not isinstance(size, int) or not isinstance(length, int):
        return "its first index has no bounds"
    return None if high + (length - 1) * (step or 1) < size else "it may end beyond the tensor"


def dtype_of(node: object) -> torch.dtype | None:
    """Returns the dtype in which a plan stores the node's tensor; None for any other value."""
    fake = meta.get_tensor(node) if isinstance(node, Node) else None
    return None if fake is None else planned_dtype(fake.dtype)
