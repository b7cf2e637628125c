"""Converts tensors and plain values of an ETRecord to bytes and back."""

from __future__ import annotations

import io
from typing import Any

import torch
from torch._export.serde import serialize
from torch._subclasses.fake_tensor import FakeTensorMode

from rushlight.devtools.errors import DevtoolsError


def save_values(value: object) -> bytes:
    """Returns the bytes that `torch.save` writes for a value."""
    return serialize.serialize_torch_artifact(value)


def load_values(data: bytes, name: str) -> Any:
    """Reads bytes that `save_values` wrote. Empty bytes give an empty dict.

    For tensors without values, the bytes contain only shape and dtype. They are read as fake tensors.

    Args:
        data: the bytes.
        name: the name of the data for messages.

    Raises:
        DevtoolsError: the bytes are damaged, or contain objects other than tensors and plain values.
    """
    if not data:
        return {}
    reader = serialize.GraphModuleDeserializer()
    reader.fake_tensor_mode = FakeTensorMode()
    try:
        return load_artifact(data, reader)
    except Exception as error:
        raise DevtoolsError(
            f"{name} of the ETRecord cannot be read: {first_line(error)}; for safety, only tensors and plain "
            "values are loaded"
        ) from error


def load_artifact(data: bytes, reader: serialize.GraphModuleDeserializer | None) -> Any:
    """Reads tensors and plain values from bytes of `torch.save`. It never executes code of the file.

    Args:
        data: the bytes.
        reader: the deserializer that creates tensors without values; None means torch's current deserializer.

    Raises:
        UnpicklingError: the bytes contain other objects.
    """
    before, current = torch.serialization.get_safe_globals(), serialize._CURRENT_DESERIALIZER
    name = f"{serialize.__name__}.{serialize._reconstruct_fake_tensor.__name__}"
    others = [known for known in before if known is not serialize._reconstruct_fake_tensor]
    torch.serialization.clear_safe_globals()
    torch.serialization.add_safe_globals([*others, (_rebuild, name)])
    serialize._CURRENT_DESERIALIZER = current if reader is None else reader
    try:
        return torch.load(io.BytesIO(data), weights_only=True)
    finally:
        serialize._CURRENT_DESERIALIZER = current
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals(before)


def _rebuild(described: bytes, is_parameter: bool) -> torch.Tensor:
    """Creates a tensor without values.

    Args:
        described: its shape and dtype as JSON.
        is_parameter: whether it is a parameter. Only floating point and complex parameters have gradients.
    """
    tensor = serialize._reconstruct_fake_tensor(described, False)
    if not is_parameter:
        return tensor
    return torch.nn.Parameter(tensor, requires_grad=tensor.is_floating_point() or tensor.is_complex())


def first_line(error: Exception) -> str:
    """Returns the type of an error and the first line of its message."""
    lines = (str(error) or type(error).__name__).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}"
