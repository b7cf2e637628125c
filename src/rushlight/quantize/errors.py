"""The exception of quantization."""

from __future__ import annotations


class QuantizationError(ValueError):
    """A model cannot be quantized as asked; the message names what, where and what would help."""
