"""Data segments: ranges of bytes after the tables, at aligned offsets from the segment base."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from rushlight.files import replacing
from rushlight.format.buffers import byte_view
from rushlight.format.errors import EncodeError, MalformedError
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import DataSegment

Piece = bytes | bytearray | memoryview


def align_up(size: int, alignment: int) -> int:
    """Returns the smallest multiple of `alignment` that is at least `size`."""
    return -(-size // alignment) * alignment


def check_alignment(name: str, alignment: int) -> None:
    """Checks that an alignment is a power of two.

    Raises:
        EncodeError: the alignment is not a power of two.
    """
    if alignment <= 0 or alignment & (alignment - 1):
        raise EncodeError(f"{name} must be a power of two, got {alignment}")


def view_of(what: str, data: object) -> memoryview:
    """Returns the bytes of a buffer object.

    Raises:
        EncodeError: `data` is not a buffer object. The message contains `what`.
    """
    try:
        return byte_view(data)
    except TypeError as error:
        raise EncodeError(f"{what}: {error}") from error


@dataclass
class NamedDataEntry:
    """Data with a name.

    Attributes:
        data: a buffer object.
        alignment: the alignment of the data in a written file, in bytes; 1 for data that were read.
        tensor_layout: the layout if the data are a tensor in a `.ptd` file, or None.
    """

    data: Any
    alignment: int = 1
    tensor_layout: TensorLayout | None = None


class Deduplicator:
    """Finds equal buffers. Hashes are computed only of buffers with equal length, start and end."""

    def __init__(self) -> None:
        self._candidates: dict[tuple[int, bytes, bytes], list[tuple[memoryview, int]]] = {}
        self._digests: dict[int, bytes] = {}

    def find(self, data: memoryview, index: int) -> int:
        """Returns the index of the first buffer with equal bytes, or `index` if the bytes are new."""
        key = (data.nbytes, bytes(data[:64]), bytes(data[-64:]))
        candidates = self._candidates.setdefault(key, [])
        digest = hashlib.sha256(data).digest() if candidates and data.nbytes > 64 else b""
        for candidate, known in candidates:
            if data.nbytes <= 64 or digest == self._digest(candidate, known):
                return known
        candidates.append((data, index))
        return index

    def _digest(self, data: memoryview, index: int) -> bytes:
        if index not in self._digests:
            self._digests[index] = hashlib.sha256(data).digest()
        return self._digests[index]


class SegmentWriter:
    """Collects segments and assigns their offsets. It keeps views of the data, not copies."""

    def __init__(self, alignment: int) -> None:
        check_alignment("segment_alignment", alignment)
        self._alignment = alignment
        self._pieces: list[Piece] = []
        self.base_alignment = alignment
        self.segments: list[DataSegment] = []
        self.size = 0

    def add(self, parts: Sequence[memoryview], *, alignment: int = 1, part_alignment: int = 1) -> list[int]:
        """Appends a segment.

        Args:
            parts: the data of the segment.
            alignment: the alignment of the segment in bytes.
            part_alignment: the alignment to which each part is padded, in bytes.

        Returns:
            The offset of each part in the segment.
        """
        alignment = math.lcm(alignment, self._alignment)
        self.base_alignment = math.lcm(self.base_alignment, alignment)
        start = align_up(self.size, alignment)
        self._pad(start - self.size)
        offsets = []
        for part in parts:
            self._pad(align_up(self.size - start, part_alignment) - (self.size - start))
            offsets.append(self.size - start)
            self._pieces.append(part)
            self.size += part.nbytes
        self.segments.append(DataSegment(start, self.size - start))
        return offsets

    def _pad(self, size: int) -> None:
        if size:
            self._pieces.append(bytes(size))
            self.size += size

    def pieces(self) -> list[Piece]:
        """Returns the bytes from the segment base on: all segments with their padding."""
        return list(self._pieces)


def add_named(writer: SegmentWriter, entries: Mapping[str, NamedDataEntry]) -> dict[str, int]:
    """Adds each entry as a segment. Equal data are stored once.

    Returns:
        The index of the segment for each name.
    """
    views = {key: view_of(f"named data {key!r}", entry.data) for key, entry in entries.items()}
    known = Deduplicator()
    first: dict[str, int] = {}
    alignments: dict[int, int] = {}
    for i, (key, entry) in enumerate(entries.items()):
        if entry.alignment <= 0:
            raise EncodeError(
                f"the named data {key!r} have the alignment {entry.alignment}; it must be positive"
            )
        first[key] = known.find(views[key], i)
        alignments[first[key]] = math.lcm(alignments.get(first[key], 1), entry.alignment)
    places: dict[int, int] = {}
    for key, view in views.items():
        if first[key] not in places:
            places[first[key]] = len(writer.segments)
            writer.add([view], alignment=alignments[first[key]])
    return {key: places[first[key]] for key in views}


def read_segments(
    data: memoryview, base: int, size: int, segments: Sequence[DataSegment], table: str
) -> list[memoryview]:
    """Returns views of the segments.

    Raises:
        MalformedError: a segment is not inside [base, base + size).
    """
    views = []
    for i, segment in enumerate(segments):
        if segment.offset + segment.size > size:
            reason = (
                f"segment {i} (offset {segment.offset}, {segment.size} bytes) is not inside the "
                f"{size} bytes of the segments"
            )
            raise MalformedError(reason, table=table, field="segments")
        views.append(data[base + segment.offset : base + segment.offset + segment.size])
    return views


def write_pieces(pieces: Iterable[Piece], target: str | os.PathLike[str] | BinaryIO) -> int:
    """Writes pieces to a path, or to an open binary file at its position.

    A file at the path is replaced only after all bytes have been written.

    Returns:
        The number of written bytes.
    """
    if not isinstance(target, (str, os.PathLike)):
        return _write_all(pieces, target)
    with replacing(target) as file:
        return _write_all(pieces, file)


def _write_all(pieces: Iterable[Piece], file: BinaryIO) -> int:
    count = 0
    for piece in pieces:
        rest = memoryview(piece)
        while rest.nbytes:
            # An unbuffered file may write fewer bytes than requested.
            written = file.write(rest)
            rest = rest[written:]
            count += written
    return count
