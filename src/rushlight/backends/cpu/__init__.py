"""The CPU backend: plans are made ahead of time and run by microkernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushlight.backends.cpu.backend import CpuBackend
from rushlight.backends.cpu.partitioner import CpuPartitioner

if TYPE_CHECKING:
    from rushlight.backends.cpu.quantizer import CpuQuantizer

__all__ = [
    "CpuBackend",
    "CpuPartitioner",
    "CpuQuantizer",
]


def __getattr__(name: str) -> Any:
    """Imports the quantizer, which needs torchao, when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rushlight.backends.cpu import quantizer

    return getattr(quantizer, name)
