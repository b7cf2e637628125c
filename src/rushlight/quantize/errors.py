"""The exception and the warning of quantization."""

from __future__ import annotations


class QuantizationError(ValueError):
    """A model cannot be quantized as requested. The message says what, where and what would help."""


class QuantizationWarning(UserWarning):
    """A model is quantized, but not as one may expect. The message says where, why and what would help."""
