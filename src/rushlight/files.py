"""Writes files atomically: after an error, a full disk or Ctrl-C, a path has its old contents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a new file for writing, which replaces the file at `path` when the block ends.

    If the block raises anything, the new file is removed and the old one stays. A device or a pipe is written
    directly.

    Args:
        path: the path. Symbolic links are followed.

    Raises:
        OSError: the file cannot be made or written.
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
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_file(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Writes bytes, or text in UTF-8, to a path as a whole.

    Raises:
        OSError: the file cannot be made or written; the old one stays.
    """
    with replacing(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)
