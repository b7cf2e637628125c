"""Functions of a planned graph that stand for memory: allocation, view that shares storage, release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from rushlight.ir.spec import TensorSpec
from rushlight.ir.sym import IntLike, hint

TensorAllocSpec = tuple[tuple[IntLike, ...], torch.dtype]
AllocSpec = TensorAllocSpec | list[TensorAllocSpec]

# The text of a graph names the functions by this module, as users of ExecuTorch expect.
_GRAPH_MODULE = "executorch.exir.memory"


def alloc(spec: AllocSpec) -> Any:
    """An uninitialised tensor of (shape, dtype), or a list of them."""
    if isinstance(spec, list):
        return [alloc(item) for item in spec]
    shape, dtype = spec
    return torch.empty([_concrete(dim) for dim in shape], dtype=dtype)


def free(spec: TensorSpec) -> None:
    """Marks the end of a tensor's lifetime; it does nothing in eager mode."""


def view(base: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    """Returns `base` with another shape; both share one storage."""
    return base.view(size)


def _concrete(dim: IntLike) -> int:
    value = hint(dim)
    if value is None:
        raise ValueError(f"the dim {dim} depends on data and cannot be allocated in eager mode")
    return value


for _function in (alloc, free, view):
    _function.__module__ = _GRAPH_MODULE
