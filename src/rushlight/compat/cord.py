"""A sequence of bytes that is stored in several pieces."""

from __future__ import annotations

from typing import BinaryIO, TypeAlias

from rushlight.delegate.file_data import FileBackedData

CordBuffer: TypeAlias = bytes | FileBackedData


class Cord:
    """A sequence of bytes in several pieces. The pieces are not copied.

    Args:
        data: the first piece.
    """

    def __init__(self, data: CordBuffer | Cord | None = None) -> None:
        self._buffers: list[CordBuffer] = []
        if data is not None:
            self.append(data)

    def append(self, data: CordBuffer | bytearray | memoryview | Cord) -> None:
        """Adds a piece at the end.

        Raises:
            TypeError: the piece is not bytes, a cord or data of a file.
        """
        if isinstance(data, Cord):
            self._buffers.extend(data._buffers)
        elif isinstance(data, (bytes, FileBackedData)):
            self._buffers.append(data)
        else:
            self._buffers.append(bytes(_checked(data)))

    def __len__(self) -> int:
        return sum(map(len, self._buffers))

    def __bytes__(self) -> bytes:
        return b"".join(piece if isinstance(piece, bytes) else piece.to_bytes() for piece in self._buffers)

    def write_to_file(self, outfile: BinaryIO) -> None:
        """Writes all pieces to a file."""
        for piece in self._buffers:
            if isinstance(piece, bytes):
                outfile.write(piece)
            else:
                piece.write_to_file(outfile)


def _checked(data: object) -> bytearray | memoryview:
    if not isinstance(data, (bytearray, memoryview)):
        raise TypeError(f"a cord contains bytes, not a {type(data).__name__}")
    return data
