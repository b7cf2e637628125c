"""The headers after the file identifier. They contain the positions of the tables and the data segments.

A `.pte` header is "eh00", u32 length, u64 size of the tables, u64 segment base, u64 size of the segments. The
size of the segments is absent if the length is 24. A `.ptd` header is "FH01", u32 length, u64 start of the
tables, u64 size of the tables, u64 segment base, u64 size of the segments. All numbers are little-endian.
Positions are in bytes from the start of the file.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rushlight.format.errors import MalformedError

START = 8
PROGRAM_MAGIC = b"eh00"
PROGRAM_HEADER_SIZE = 32
FLAT_TENSOR_MAGIC = b"FH01"
# The header has 40 bytes. The padding to 48 aligns the tables to 16 bytes.
FLAT_TENSOR_HEADER_SIZE = 48

_PROGRAM = struct.Struct("<4sIQQQ")
_PROGRAM_WITHOUT_SIZE = struct.Struct("<4sIQQ")
_FLAT_TENSOR = struct.Struct("<4sIQQQQ")
_TABLE = "file header"


@dataclass(frozen=True)
class FileLayout:
    """The positions of the tables and the segments in a file.

    The tables are the bytes [0, tables_size). The segments are the bytes
    [segment_base, segment_base + segment_size).
    """

    tables_size: int
    segment_base: int
    segment_size: int


def program_header(layout: FileLayout) -> bytes:
    """Returns the PROGRAM_HEADER_SIZE bytes of the header at offset START."""
    sizes = (layout.tables_size, layout.segment_base, layout.segment_size)
    return _PROGRAM.pack(PROGRAM_MAGIC, _PROGRAM.size, *sizes)


def flat_tensor_header(layout: FileLayout) -> bytes:
    """Returns the FLAT_TENSOR_HEADER_SIZE bytes of the header at offset START."""
    start = FLAT_TENSOR_HEADER_SIZE
    sizes = (start, layout.tables_size - start, layout.segment_base, layout.segment_size)
    return _FLAT_TENSOR.pack(FLAT_TENSOR_MAGIC, _FLAT_TENSOR.size, *sizes).ljust(start, b"\0")


def read_program_layout(data: memoryview) -> FileLayout:
    """Reads the header of a `.pte` file. A file without a header consists of tables only.

    Raises:
        MalformedError: the header is invalid.
    """
    head = data[START : START + _PROGRAM.size]
    if head[:4] != PROGRAM_MAGIC:
        return FileLayout(len(data), 0, 0)
    length = int.from_bytes(head[4:8], "little")
    if length < _PROGRAM_WITHOUT_SIZE.size:
        raise MalformedError(f"the header length {length} is too small", table=_TABLE, offset=START + 4)
    form = _PROGRAM if length >= _PROGRAM.size else _PROGRAM_WITHOUT_SIZE
    if len(head) < form.size:
        raise MalformedError("the file ends inside its header", table=_TABLE, offset=START)
    _, _, tables_size, base, *size = form.unpack(head[: form.size])
    return _checked(FileLayout(tables_size, base, size[0] if size else 0), length, len(data))


def read_flat_tensor_layout(data: memoryview) -> FileLayout:
    """Reads the header of a `.ptd` file.

    Raises:
        MalformedError: the header is invalid.
    """
    head = data[START : START + _FLAT_TENSOR.size]
    if head[:4] != FLAT_TENSOR_MAGIC:
        raise MalformedError(
            f"the header does not begin with {FLAT_TENSOR_MAGIC!r}", table=_TABLE, offset=START
        )
    if len(head) < _FLAT_TENSOR.size:
        raise MalformedError("the file ends inside its header", table=_TABLE, offset=START)
    _, length, start, size, base, segment_size = _FLAT_TENSOR.unpack(head)
    if length < _FLAT_TENSOR.size:
        raise MalformedError(f"the header length {length} is too small", table=_TABLE, offset=START + 4)
    return _checked(FileLayout(start + size, base, segment_size), length, len(data))


def _checked(layout: FileLayout, header_length: int, file_size: int) -> FileLayout:
    if not START + header_length <= layout.tables_size <= file_size:
        reason = f"tables of {layout.tables_size} bytes do not fit in the file of {file_size} bytes"
        raise MalformedError(reason, table=_TABLE, offset=START + 8)
    if layout.segment_base == 0:
        if layout.segment_size:
            raise MalformedError(
                "the file has segments, but their base offset is 0", table=_TABLE, offset=START + 16
            )
        return layout
    if not layout.tables_size <= layout.segment_base <= file_size:
        reason = f"segments at byte {layout.segment_base} are not between the tables and the end of the file"
        raise MalformedError(reason, table=_TABLE, offset=START + 16)
    rest = file_size - layout.segment_base
    if layout.segment_size > rest:
        reason = (
            f"segments of {layout.segment_size} bytes do not fit in the remaining {rest} bytes of the file"
        )
        raise MalformedError(reason, table=_TABLE, offset=START + 24)
    return FileLayout(layout.tables_size, layout.segment_base, layout.segment_size or rest)
