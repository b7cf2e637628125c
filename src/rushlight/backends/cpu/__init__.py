"""The CPU backend: plans are made ahead of time and executed by microkernels.

Names are imported lazily: reading plans needs no torch, and only the quantizer needs torchao.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rushlight.backends.cpu.backend import CpuBackend
    from rushlight.backends.cpu.partitioner import CpuPartitioner
    from rushlight.backends.cpu.quantizer import CpuQuantizer

__all__ = [
    "CpuBackend",
    "CpuPartitioner",
    "CpuQuantizer",
]

_HOMES = {
    "CpuBackend": "rushlight.backends.cpu.backend",
    "CpuPartitioner": "rushlight.backends.cpu.partitioner",
    "CpuQuantizer": "rushlight.backends.cpu.quantizer",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
