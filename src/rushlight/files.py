"""Writes files atomically: after an error, a full disk or Ctrl-C, the file still has its old contents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a temporary file for writing. It replaces the file at `path` when the `with` block ends.

    If the block raises an exception, the temporary file is removed and the old file stays. A device or a pipe
    is written directly.

    Args:
        path: the path of the file to replace. Symbolic links are followed.

    Raises:
        OSError: the file cannot be created or written.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
    target = target.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with temporary.open("xb") as file:
            yield file
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(path)
        raise


def write_file(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Writes bytes, or text in UTF-8, to a file atomically.

    Args:
        path: the path of the file.
        data: the whole contents of the file.

    Raises:
        OSError: the file cannot be created or written; the old file stays.
    """
    with replacing(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)
