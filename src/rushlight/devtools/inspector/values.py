"""Reads the values of an ETDump from its debug buffer."""

from __future__ import annotations

from typing import Any

import numpy as np

from rushlight.devtools.errors import DevtoolsError
from rushlight.devtools.etdump.schema_flatcc import Tensor, Value, ValueType
from rushlight.format.program import ScalarType

_NUMPY = {
    ScalarType.BYTE: np.uint8,
    ScalarType.CHAR: np.int8,
    ScalarType.SHORT: np.int16,
    ScalarType.INT: np.int32,
    ScalarType.LONG: np.int64,
    ScalarType.HALF: np.float16,
    ScalarType.FLOAT: np.float32,
    ScalarType.DOUBLE: np.float64,
    ScalarType.BOOL: np.bool_,
}


def inflate(value: Value, buffer: bytes | None) -> Any:
    """Reads a value.

    Args:
        value: the entry of the value in the ETDump.
        buffer: the debug buffer. If it is None, tensors are None.

    Returns:
        A number, a tensor (a numpy array if torch is not installed), a list of tensors, or None.

    Raises:
        DevtoolsError: the tensor exceeds the buffer, or its dtype is not supported.
    """
    kind = ValueType(value.val)
    if kind is ValueType.TENSOR and value.tensor is not None:
        return _tensor(value.tensor, buffer)
    if kind is ValueType.TENSOR_LIST and value.tensor_list is not None:
        return [_tensor(tensor, buffer) for tensor in value.tensor_list.tensors]
    for scalar in (value.int_value, value.float_value, value.double_value, value.bool_value):
        if scalar is not None:
            return next(iter(vars(scalar).values()))
    return None


def _tensor(tensor: Tensor, buffer: bytes | None) -> Any:
    if buffer is None:
        return None
    kind = ScalarType(tensor.scalar_type)
    is_bfloat16 = kind is ScalarType.BFLOAT16
    dtype = np.dtype(np.int16) if is_bfloat16 else _numpy(kind)
    last = sum((size - 1) * stride for size, stride in zip(tensor.sizes, tensor.strides, strict=True))
    count = 0 if 0 in tensor.sizes else last + 1
    offset = tensor.offset if count and tensor.offset else 0
    if min((*tensor.sizes, *tensor.strides, offset), default=0) < 0 or (
        offset + count * dtype.itemsize > len(buffer)
    ):
        raise DevtoolsError(
            f"the ETDump has a tensor of shape {list(tensor.sizes)} at byte {offset}, but its debug buffer "
            f"has {len(buffer)} bytes; the two files do not belong together"
        )
    flat = np.frombuffer(buffer, dtype, count, offset)
    strides = [stride * dtype.itemsize for stride in tensor.strides]
    array = np.lib.stride_tricks.as_strided(flat, tensor.sizes, strides).copy()
    try:
        import torch
    except ImportError:
        if is_bfloat16:
            raise DevtoolsError("values in bfloat16 need torch: pip install 'rushlight[compile]'") from None
        return array
    result = torch.from_numpy(array)
    return result.view(torch.bfloat16) if is_bfloat16 else result


def _numpy(kind: ScalarType) -> np.dtype:
    if kind not in _NUMPY:
        raise DevtoolsError(f"values of dtype {kind.name} cannot be read from an ETDump")
    return np.dtype(_NUMPY[kind])
