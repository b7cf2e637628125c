"""The headers of program and data files as dataclasses, and programs as JSON."""

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
"""The alignment of the tables behind a header, in bytes."""

_WITH_SIZE = struct.Struct("<4sIQQQ")
_FLAT_TENSOR = struct.Struct("<4sIQQQQ")


@dataclass
class ExtendedHeader:
    """The header behind the file identifier; sizes and offsets are in bytes.

    Attributes:
        program_size: the size of the tables, with the header.
        segment_base_offset: where the segments begin; 0 if there is none.
        segment_data_size: the size of all segments; 0 if it is not known.
        magic: what the header begins with.
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
        """Reads a header, which may be one that `is_valid` refuses.

        Raises:
            ValueError: there are fewer than `EXPECTED_LENGTH` bytes.
        """
        if len(data) < _WITH_SIZE.size:
            raise ValueError(f"a header has {_WITH_SIZE.size} bytes, and {len(data)} are given")
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
    """The header of a data file behind its identifier; sizes and offsets are in bytes.

    Attributes:
        flatbuffer_offset: where the tables begin.
        flatbuffer_size: the size of the tables.
        segment_base_offset: where the segments begin; 0 if there is none.
        segment_data_size: the size of all segments.
        magic: what the header begins with.
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
        """Reads a header, which may be one that `is_valid` refuses.

        Raises:
            ValueError: there are fewer than `EXPECTED_LENGTH` bytes.
        """
        if len(data) < _FLAT_TENSOR.size:
            raise ValueError(f"a header has {_FLAT_TENSOR.size} bytes, and {len(data)} are given")
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
    """Returns the header of a program file, or None if it has no valid one."""
    try:
        header = ExtendedHeader.from_bytes(program_data[START:])
    except ValueError:
        return None
    return header if header.is_valid() else None


def program_to_json(program: Program) -> str:
    """Returns a program as JSON."""
    return json.dumps(program, cls=DataclassEncoder)
