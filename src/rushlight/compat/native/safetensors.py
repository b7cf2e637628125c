"""Writes and reads tensors in the safetensors format, one tensor at a time.

A file has eight bytes with the length of the header (little-endian), the header (JSON), and the bytes of the
tensors. The header has the dtype, shape and position of each tensor by name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any

import torch

from rushlight.format.errors import FormatError

METADATA_KEY = "__metadata__"
"""The key in the header that is not the name of a tensor."""

DTYPE_CODES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.complex64: "C64",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint64: "U64",
    torch.uint32: "U32",
    torch.uint16: "U16",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
"""The names of dtypes in the header."""

_DTYPES = {code: dtype for dtype, code in DTYPE_CODES.items()}
_ALIGNMENT = 8  # The alignment in bytes of the first tensor.
_MAX_HEADER_SIZE = 100_000_000  # The limit of the safetensors library, in bytes.


def encode_header(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Returns the bytes before those of the tensors.

    Args:
        tensors: the tensors by name, in the order in which they are written.
    """
    header: dict[str, object] = {}
    end = 0
    for name, tensor in tensors.items():
        start, end = end, end + tensor.nbytes
        code = DTYPE_CODES[tensor.dtype]
        header[name] = {"dtype": code, "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def byte_view_of(tensor: torch.Tensor) -> memoryview:
    """Returns the bytes of a row-major tensor in the memory of the CPU, without a copy."""
    return tensor.detach().flatten().view(torch.uint8).numpy().data


def read_tensors(stream: IO[bytes], size: int) -> dict[str, torch.Tensor]:
    """Reads all tensors. The bytes are not trusted.

    Args:
        stream: the bytes.
        size: the number of bytes in the stream, which must be true.

    Returns:
        The tensors by name.

    Raises:
        FormatError: the bytes are invalid. The message names the tensor.
    """
    length = int.from_bytes(stream.read(8), "little")
    data_size = size - 8 - length
    if size < 8 or data_size < 0 or length > _MAX_HEADER_SIZE:
        raise FormatError(f"the header of {length} bytes does not fit into {size} bytes")
    entries = _entries(stream.read(length))
    tensors: dict[str, torch.Tensor] = {}
    at = 0
    for name, (dtype, shape, start, end) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if start != at or end > data_size:
            raise FormatError(
                f"tensor {name!r} has the bytes {start} to {end} of {data_size}; it must start at byte {at}"
            )
        at = end
        data = bytearray(end - start)
        if stream.readinto(data) != len(data):  # type: ignore[attr-defined]
            raise FormatError(f"tensor {name!r} ends too early")
        flat = torch.frombuffer(data, dtype=torch.uint8).view(dtype) if data else torch.empty(0, dtype=dtype)
        tensors[name] = flat.reshape(shape)
    if at != data_size:
        raise FormatError(f"{data_size - at} bytes belong to no tensor")
    return {name: tensors[name] for name in entries}


def _entries(text: bytes) -> dict[str, tuple[torch.dtype, list[int], int, int]]:
    """Returns the dtype, shape, start and end of each tensor in a header."""
    try:
        header = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the header is not valid JSON: {error}") from error
    if not isinstance(header, dict):
        raise FormatError("the header is not a JSON object")
    return {name: _entry(name, entry) for name, entry in header.items() if name != METADATA_KEY}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise FormatError("a name occurs twice")
    return result


def _entry(name: str, entry: object) -> tuple[torch.dtype, list[int], int, int]:
    fields = entry if isinstance(entry, dict) else {}
    code = fields.get("dtype")
    shape: Any = fields.get("shape")
    offsets: Any = fields.get("data_offsets")
    if not isinstance(code, str) or code not in _DTYPES:
        raise FormatError(f"tensor {name!r} has the dtype {code!r}; the dtypes are {', '.join(_DTYPES)}")
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        raise FormatError(f"tensor {name!r} has the shape {shape!r} and the position {offsets!r}")
    dtype, (start, end) = _DTYPES[code], offsets
    needed = math.prod(shape) * dtype.itemsize
    if end - start != needed:
        raise FormatError(
            f"tensor {name!r} of {code} and shape {shape} needs {needed} bytes, but has {end - start}"
        )
    return dtype, shape, start, end


def _are_sizes(items: Any) -> bool:
    return isinstance(items, list) and all(type(item) is int and 0 <= item < 1 << 63 for item in items)
