"""The headers of program files and data files as dataclasses, and programs as JSON."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import ClassVar

from rushlight.compat.dataclass_json import DataclassEncoder
from rushlight.format.header import (
    FLAT_TENSOR_MAGIC,
    PROGRAM_HEADER_SIZE,
    PROGRAM_MAGIC,
    START,
    FileLayout,
    program_header,
)
from rushlight.format.program import Program

FLATBUFFER_ALIGNMENT = 16
"""The alignment in bytes of the FlatBuffers tables behind a header."""

_WITH_SIZE = struct.Struct("<4sIQQQ")
_FLAT_TENSOR = struct.Struct("<4sIQQQQ")


@dataclass
class ExtendedHeader:
    """The header of a program file, which follows the file identifier. Sizes and offsets are in bytes.

    Attributes:
        program_size: the size of the FlatBuffers tables and the header.
        segment_base_offset: the offset of the segments; 0 if there are no segments.
        segment_data_size: the size of all segments; 0 if it is not known.
        magic: the first bytes of the header.
        length: the size of the header.
    """

    EXPECTED_MAGIC: ClassVar[bytes] = PROGRAM_MAGIC
    MINIMUM_LENGTH: ClassVar[int] = 24
    EXPECTED_LENGTH: ClassVar[int] = PROGRAM_HEADER_SIZE
    NUM_HEAD_BYTES: ClassVar[int] = 64

    program_size: int
    segment_base_offset: int
    segment_data_size: int
    magic: bytes = PROGRAM_MAGIC
    length: int = PROGRAM_HEADER_SIZE

    @staticmethod
    def from_bytes(data: bytes) -> ExtendedHeader:
        """Reads a header. The result may be invalid; `is_valid` checks it.

        Raises:
            ValueError: there are fewer than `EXPECTED_LENGTH` bytes.
        """
        if len(data) < _WITH_SIZE.size:
            raise ValueError(f"a program header needs {_WITH_SIZE.size} bytes, not {len(data)}")
        magic, length, program, base, segments = _WITH_SIZE.unpack(data[: _WITH_SIZE.size])
        if length <= ExtendedHeader.MINIMUM_LENGTH:
            segments = 0
        return ExtendedHeader(program, base, segments, magic, length)

    def is_valid(self) -> bool:
        """Whether the magic bytes and the length are valid for a header."""
        return self.magic == self.EXPECTED_MAGIC and self.length >= self.MINIMUM_LENGTH

    def to_bytes(self) -> bytes:
        """Returns the bytes of a valid header with the sizes of this one."""
        return program_header(FileLayout(self.program_size, self.segment_base_offset, self.segment_data_size))


@dataclass
class FlatTensorHeader:
    """The header of a data file, which follows the file identifier. Sizes and offsets are in bytes.

    Attributes:
        flatbuffer_offset: the offset of the FlatBuffers tables.
        flatbuffer_size: the size of the FlatBuffers tables.
        segment_base_offset: the offset of the segments; 0 if there are no segments.
        segment_data_size: the size of all segments.
        magic: the first bytes of the header.
        length: the size of the header.
    """

    EXPECTED_MAGIC: ClassVar[bytes] = FLAT_TENSOR_MAGIC
    EXPECTED_LENGTH: ClassVar[int] = _FLAT_TENSOR.size

    flatbuffer_offset: int
    flatbuffer_size: int
    segment_base_offset: int
    segment_data_size: int
    magic: bytes = FLAT_TENSOR_MAGIC
    length: int = _FLAT_TENSOR.size

    @staticmethod
    def from_bytes(data: bytes) -> FlatTensorHeader:
        """Reads a header. The result may be invalid; `is_valid` checks it.

        Raises:
            ValueError: there are fewer than `EXPECTED_LENGTH` bytes.
        """
        if len(data) < _FLAT_TENSOR.size:
            raise ValueError(f"a data file header needs {_FLAT_TENSOR.size} bytes, not {len(data)}")
        magic, length, offset, size, base, segments = _FLAT_TENSOR.unpack(data[: _FLAT_TENSOR.size])
        return FlatTensorHeader(offset, size, base, segments, magic, length)

    def is_valid(self) -> bool:
        """Whether the magic bytes and the length are valid for a header."""
        return self.magic == self.EXPECTED_MAGIC and self.length >= self.EXPECTED_LENGTH

    def to_bytes(self) -> bytes:
        """Returns the bytes of a valid header with the sizes of this one."""
        sizes = (
            self.flatbuffer_offset,
            self.flatbuffer_size,
            self.segment_base_offset,
            self.segment_data_size,
        )
        return _FLAT_TENSOR.pack(FLAT_TENSOR_MAGIC, _FLAT_TENSOR.size, *sizes)


def get_extended_header(program_data: bytes) -> ExtendedHeader | None:
    """Returns the header of a program file, or None if the file has no valid header."""
    try:
        header = ExtendedHeader.from_bytes(program_data[START:])
    except ValueError:
        return None
    return header if header.is_valid() else None


def program_to_json(program: Program) -> str:
    """Returns a program as JSON."""
    return json.dumps(program, cls=DataclassEncoder)
