"""Operators with a dim order as layout argument: copy with dtype conversion, clone, empty.

A dim order lists dims from the outermost to the innermost: (0, 1, 2, 3) is contiguous, (0, 2, 3, 1) is
channels last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch._ops import OpOverload

from rushlight.ir.spec import dim_order_from_strides

_ORDER = "int[]? dim_order=None"
_OUT = "Tensor(a!) out) -> Tensor(a!)"
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

# An out overload has no arguments for dtype, layout and device, because the out tensor defines them.
_SCHEMAS = (
    f"_to_dim_order_copy(Tensor self, *, {_OPTIONS}, bool non_blocking=False, {_ORDER}) -> Tensor",
    f"_to_dim_order_copy.out(Tensor self, *, bool non_blocking=False, {_ORDER}, {_OUT}",
    f"_empty_dim_order(SymInt[] size, *, {_OPTIONS}, {_ORDER}) -> Tensor",
    f"_empty_dim_order.out(SymInt[] size, *, {_ORDER}, {_OUT}",
    f"_clone_dim_order(Tensor self, *, bool non_blocking=False, {_ORDER}) -> Tensor",
    f"_clone_dim_order.out(Tensor self, *, bool non_blocking=False, {_ORDER}, {_OUT}",
)

_CHANNELS_LAST = {4: (torch.channels_last, (0, 2, 3, 1)), 5: (torch.channels_last_3d, (0, 2, 3, 4, 1))}


def dim_order_of(memory_format: torch.memory_format, rank: int) -> tuple[int, ...]:
    """Returns the dim order of a dense tensor of `rank` dims.

    Raises:
        ValueError: the memory format has no dim order.
    """
    if memory_format == torch.contiguous_format:
        return tuple(range(rank))
    for dims, (channels_last, order) in _CHANNELS_LAST.items():
        if memory_format == channels_last and dims == rank:
            return order
    raise ValueError(f"memory format {memory_format} has no dim order for a tensor of {rank} dims")


def memory_format_of(dim_order: Sequence[int] | None) -> torch.memory_format:
    """Returns the memory format of a dim order; `preserve_format` for None.

    Raises:
        ValueError: the dim order has no memory format.
    """
    if dim_order is None:
        return torch.preserve_format
    order = tuple(dim_order)
    if order == tuple(range(len(order))):
        return torch.contiguous_format
    for channels_last, known in _CHANNELS_LAST.values():
        if order == known:
            return channels_last
    raise ValueError(f"dim order {list(order)} is neither contiguous nor channels last")


def has_memory_format(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor is row-major or channels last. No other strides have a memory format."""
    order = dim_order_from_strides(tensor.stride())
    return order == tuple(range(len(order))) or any(order == known for _, known in _CHANNELS_LAST.values())


def is_channel_last_dim_order(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor has rank 4 and is channels last."""
    return tensor.dim() == 4 and tuple(tensor.dim_order()) == _CHANNELS_LAST[4][1]


def is_contiguous_dim_order(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor is contiguous (row-major)."""
    return tuple(tensor.dim_order()) == tuple(range(tensor.dim()))


def _eager(target: OpOverload) -> Callable[..., object]:
    def run(*args: object, dim_order: Sequence[int] | None = None, **kwargs: object) -> object:
        return target(*args, memory_format=memory_format_of(dim_order), **kwargs)

    return run


def _register() -> torch.library.Library:
    library = torch.library.Library("dim_order_ops", "FRAGMENT")
    if not hasattr(torch.ops.dim_order_ops, "_clone_dim_order"):
        for schema in _SCHEMAS:
            library.define(schema)
        for name, target in (
            ("_to_dim_order_copy", torch.ops.aten._to_copy.default),
            ("_to_dim_order_copy.out", torch.ops.aten._to_copy.out),
            ("_empty_dim_order", torch.ops.aten.empty.memory_format),
            ("_empty_dim_order.out", torch.ops.aten.empty.out),
            ("_clone_dim_order", torch.ops.aten.clone.default),
            ("_clone_dim_order.out", torch.ops.aten.clone.out),
        ):
            library.impl(name, _eager(target), "CompositeImplicitAutograd")
    return library


_library = _register()

DIM_ORDER_OF_MEMORY_FORMAT: dict[OpOverload, OpOverload] = {
    torch.ops.aten._to_copy.default: torch.ops.dim_order_ops._to_dim_order_copy.default,
    torch.ops.aten.empty.memory_format: torch.ops.dim_order_ops._empty_dim_order.default,
    torch.ops.aten.clone.default: torch.ops.dim_order_ops._clone_dim_order.default,
}
"""The dim order operator that replaces each operator with a memory format argument."""
