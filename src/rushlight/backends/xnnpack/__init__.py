"""XNNPACK: floating point and int8 operators on CPUs, in files that ExecuTorch runs too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushlight.backends.xnnpack.backend import XnnpackBackend
from rushlight.backends.xnnpack.nodes import ConfigPrecisionType
from rushlight.backends.xnnpack.partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackFloatingPointPartitioner,
    XnnpackPartitioner,
    XnnpackQuantizedPartitioner,
)

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    """Imports the quantizer, which needs torchao, when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rushlight.backends.xnnpack import quantizer

    return getattr(quantizer, name)
