"""The names of dtypes in ExecuTorch's tables of the edge dialect."""

from __future__ import annotations

import torch

regular_tensor_dtypes_to_str: dict[torch.dtype, str] = {
    torch.bool: "Bool",
    torch.uint8: "Byte",
    torch.int8: "Char",
    torch.int16: "Short",
    torch.int32: "Int",
    torch.int64: "Long",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.float32: "Float",
    torch.float64: "Double",
    torch.uint16: "UInt16",
    torch.complex64: "ComplexFloat",
    torch.complex128: "ComplexDouble",
}
"""The names of the dtypes that are not quantized."""

regular_tensor_str_to_dtypes: dict[str, torch.dtype] = {
    name: dtype for dtype, name in regular_tensor_dtypes_to_str.items()
}
"""The dtypes by name."""
