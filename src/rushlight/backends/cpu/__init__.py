"""The CPU backend: it makes plans ahead of time, and the runtime executes them with microkernels.

Names are imported lazily, because code that only reads plans needs no torch, and only the quantizer needs
torchao.
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

_MODULES = {
    "CpuBackend": "rushlight.backends.cpu.backend",
    "CpuPartitioner": "rushlight.backends.cpu.partitioner",
    "CpuQuantizer": "rushlight.backends.cpu.quantizer",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
