"""Memory functions in a planned graph: allocation, view that shares storage, release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from rushlight.ir.spec import TensorSpec
from rushlight.ir.sym import IntLike, hint

TensorAllocSpec = tuple[tuple[IntLike, ...], torch.dtype]
AllocSpec = TensorAllocSpec | list[TensorAllocSpec]

# The text of a graph shows this module name for the functions, for compatibility with ExecuTorch.
_GRAPH_MODULE = "executorch.exir.memory"


def alloc(spec: AllocSpec) -> Any:
    """Returns an uninitialized tensor of (shape, dtype), or a list of such tensors."""
    if isinstance(spec, list):
        return [alloc(item) for item in spec]
    shape, dtype = spec
    return torch.empty([_concrete(dim) for dim in shape], dtype=dtype)


def free(spec: TensorSpec) -> None:
    """Marks the end of the lifetime of a tensor. It has no effect in eager mode."""


def view(base: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    """Returns `base` with another shape. Both share one storage."""
    return base.view(size)


def _concrete(dim: IntLike) -> int:
    value = hint(dim)
    if value is None:
        raise ValueError(
            f"the size {dim} depends on data, so that the tensor cannot be allocated in eager mode"
        )
    return value


for _function in (alloc, free, view):
    _function.__module__ = _GRAPH_MODULE
