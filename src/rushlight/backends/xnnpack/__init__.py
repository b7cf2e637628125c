"""The backend for XNNPACK, which runs float and int8 operators on CPUs. ExecuTorch can run its files too.

Names are imported lazily, because code that only reads payloads needs no torch, and only the quantizer needs
torchao.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rushlight.backends.xnnpack.backend import XnnpackBackend
    from rushlight.backends.xnnpack.nodes import ConfigPrecisionType
    from rushlight.backends.xnnpack.partitioner import (
        XnnpackDynamicallyQuantizedPartitioner,
        XnnpackFloatingPointPartitioner,
        XnnpackPartitioner,
        XnnpackQuantizedPartitioner,
    )
    from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

__all__ = [
    "ConfigPrecisionType",
    "XNNPACKQuantizer",
    "XnnpackBackend",
    "XnnpackDynamicallyQuantizedPartitioner",
    "XnnpackFloatingPointPartitioner",
    "XnnpackPartitioner",
    "XnnpackQuantizedPartitioner",
    "get_symmetric_quantization_config",
]

_MODULES = {
    "ConfigPrecisionType": "rushlight.backends.xnnpack.nodes",
    "XNNPACKQuantizer": "rushlight.backends.xnnpack.quantizer",
    "XnnpackBackend": "rushlight.backends.xnnpack.backend",
    "XnnpackDynamicallyQuantizedPartitioner": "rushlight.backends.xnnpack.partitioner",
    "XnnpackFloatingPointPartitioner": "rushlight.backends.xnnpack.partitioner",
    "XnnpackPartitioner": "rushlight.backends.xnnpack.partitioner",
    "XnnpackQuantizedPartitioner": "rushlight.backends.xnnpack.partitioner",
    "get_symmetric_quantization_config": "rushlight.backends.xnnpack.quantizer",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
