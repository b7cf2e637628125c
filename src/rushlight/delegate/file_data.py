"""Large data of a backend that stay in a file and are not loaded into memory."""

from __future__ import annotations

import hashlib
import mmap
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

_CHUNK = 8 << 20  # bytes


class FileBackedData:
    """The bytes of a file, which must not change while this object is in use.

    Args:
        path: the file.
        cleanup: whether this object owns the file. `close` then removes the file. Without `close`, the file
            is removed when this object is deleted.
        sha256: the SHA-256 digest of the file, if it is known.
    """

    def __init__(self, path: str, cleanup: bool = False, sha256: bytes | None = None) -> None:
        self._path = path
        self._size = os.path.getsize(path)
        self._digest = sha256
        self._cleanup = weakref.finalize(self, _remove, path) if cleanup else None

    @classmethod
    def move_from(cls, path: str, sha256: bytes | None = None) -> FileBackedData:
        """Renames a file within its folder, and returns an object that owns the renamed file.

        Args:
            path: the file.
            sha256: the SHA-256 digest of the file, if it is known.

        Raises:
            OSError: the file does not exist or cannot be moved.
        """
        folder = os.path.dirname(path) or "."
        handle, owned = tempfile.mkstemp(prefix=".rushlight_", suffix=".data", dir=folder)
        os.close(handle)
        try:
            os.replace(path, owned)
        except OSError:
            _remove(owned)
            raise
        return cls(owned, True, sha256)

    def __len__(self) -> int:
        return self._size

    def prefix(self, size: int) -> bytes:
        """Returns the first `size` bytes."""
        with open(self._path, "rb") as file:
            return file.read(size)

    def sha256(self) -> bytes:
        """Returns the SHA-256 digest of the bytes."""
        if self._digest is None:
            digest = hashlib.sha256()
            with open(self._path, "rb") as file:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
            self._digest = digest.digest()
        return self._digest

    def to_bytes(self) -> bytes:
        """Returns all bytes."""
        return Path(self._path).read_bytes()

    def view(self) -> memoryview:
        """Returns a view of the mapped file, which stays valid after `close`."""
        if self._size == 0:
            return memoryview(b"")
        with open(self._path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def write_to_file(self, outfile: BinaryIO) -> None:
        """Writes all bytes."""
        with open(self._path, "rb") as file:
            shutil.copyfileobj(file, outfile, _CHUNK)

    def close(self) -> None:
        """Removes the file if this object owns it."""
        if self._cleanup is not None:
            self._cleanup()

    def __enter__(self) -> FileBackedData:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)
