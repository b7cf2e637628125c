"""The exception of quantization."""

from __future__ import annotations


class QuantizationError(ValueError):
    """A model cannot be quantized as requested. The message says what, where and what would help."""
