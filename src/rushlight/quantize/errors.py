"""The exception and the warning of quantization."""

from __future__ import annotations


class QuantizationError(ValueError):
    """A model cannot be quantized as requested.

    The message names the layer and the cause, and suggests a solution.
    """


class QuantizationWarning(UserWarning):
    """A model is quantized, but the result may be unexpected.

    The message names the layer and the cause, and suggests a solution.
    """
