"""Writes and reads tensors and plain values of an ETRecord as bytes."""

from __future__ import annotations

import io
from typing import Any

import torch
from torch._export.serde import serialize

from rushlight.devtools.errors import DevtoolsError


def save_values(value: object) -> bytes:
    """Returns a value as written by `torch.save`."""
    return serialize.serialize_torch_artifact(value)


def load_values(data: bytes, name: str) -> Any:
    """Reads bytes that `save_values` wrote; returns an empty dictionary for empty bytes.

    Raises:
        DevtoolsError: the bytes are damaged, or contain objects other than tensors and plain values.
    """
    if not data:
        return {}
    try:
        return torch.load(io.BytesIO(data), weights_only=True)
    except Exception as error:
        raise DevtoolsError(
            f"{name} of the ETRecord cannot be read: {first_line(error)}; only tensors and plain values are "
            "loaded, never code"
        ) from error


def first_line(error: Exception) -> str:
    """Returns the type of an error and the first line of its message."""
    lines = (str(error) or type(error).__name__).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}"
