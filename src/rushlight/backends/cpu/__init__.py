"""The CPU backend: plans made ahead of time, run by tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushlight.backends.cpu.backend import CpuBackend
from rushlight.backends.cpu.partitioner import CpuPartitioner

if TYPE_CHECKING:
    from rushlight.backends.cpu.quantizer import CpuQuantizer

__all__ = [
    "CpuQuantizer",
    "CpuBackend",
    "CpuPartitioner",
]


def __getattr__(name: str) -> Any:
    """Imports the quantizer, which needs torchao, when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rushlight.backends.cpu import quantizer

    return getattr(quantizer, name)
