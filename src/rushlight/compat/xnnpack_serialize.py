"""The header of XNNPACK payloads as a dataclass, and the serialization of XNNPACK graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from rushlight.backends.xnnpack.graph import XNNGraph
from rushlight.backends.xnnpack.payload import ALIGNMENT as CONSTANT_TENSOR_ALIGNMENT
from rushlight.backends.xnnpack.payload import HEADER, MAGIC, write_payload

__all__ = ["BYTE_ORDER", "CONSTANT_TENSOR_ALIGNMENT", "XNNHeader", "serialize_xnnpack_binary"]

BYTE_ORDER: Literal["little"] = "little"
"""The byte order of the numbers in the header."""


@dataclass
class XNNHeader:
    """The header of a payload. Offsets and sizes are in bytes.

    Attributes:
        flatbuffer_offset: the offset of the FlatBuffers tables.
        flatbuffer_size: the size of the tables.
        constant_data_offset: the offset of the constants.
        constant_data_size: the size of the constants.
    """

    MAGIC_OFFSET: ClassVar[slice] = slice(4, 8)
    HEADER_SIZE_OFFSET: ClassVar[slice] = slice(8, 10)
    FLATBUFFER_OFFSET_OFFSET: ClassVar[slice] = slice(10, 14)
    FLATBUFFER_SIZE_OFFSET: ClassVar[slice] = slice(14, 18)
    CONSTANT_DATA_OFFSET_OFFSET: ClassVar[slice] = slice(18, 22)
    CONSTANT_DATA_SIZE_OFFSET: ClassVar[slice] = slice(22, 30)
    EXPECTED_MAGIC: ClassVar[bytes] = MAGIC
    EXPECTED_LENGTH: ClassVar[int] = HEADER.size

    flatbuffer_offset: int
    flatbuffer_size: int
    constant_data_offset: int
    constant_data_size: int

    @staticmethod
    def from_bytes(data: bytes) -> XNNHeader:
        """Reads a header.

        Raises:
            ValueError: the number of bytes or the magic bytes are wrong.
        """
        if len(data) > HEADER.size:
            raise ValueError(f"Invalid XNNHeader: expected no more than {HEADER.size} bytes, got {len(data)}")
        magic, length = data[XNNHeader.MAGIC_OFFSET], data[XNNHeader.HEADER_SIZE_OFFSET]
        if magic != MAGIC:
            raise ValueError(f"Invalid XNNHeader: invalid magic bytes {magic!r}, expected {MAGIC!r}")
        claimed = int.from_bytes(length, BYTE_ORDER)
        if claimed != len(data) or len(data) < HEADER.size:
            raise ValueError(
                f"Invalid XNNHeader: Invalid parsed length: data given was {len(data)} bytes, "
                f"parsed length was {claimed} bytes"
            )
        return XNNHeader(*HEADER.unpack(data)[2:])

    def is_valid(self) -> bool:
        """Returns whether the payload has tables, and the constants do not overlap the tables."""
        behind = self.flatbuffer_offset + self.flatbuffer_size
        return (
            self.flatbuffer_size > 0 and self.constant_data_offset >= behind and self.constant_data_size >= 0
        )

    def to_bytes(self) -> bytes:
        """Returns the header as bytes.

        Raises:
            ValueError: `is_valid` returns False.
        """
        if not self.is_valid():
            raise ValueError(f"{self} is invalid: it has no tables, or the constants overlap the tables")
        places = (
            self.flatbuffer_offset,
            self.flatbuffer_size,
            self.constant_data_offset,
            self.constant_data_size,
        )
        return HEADER.pack(MAGIC, HEADER.size, *places)


def serialize_xnnpack_binary(xnnpack_graph: XNNGraph, constant_data_bytes: bytes | bytearray) -> bytes:
    """Returns the payload with a graph and its constants."""
    return write_payload(xnnpack_graph, bytes(constant_data_bytes))
