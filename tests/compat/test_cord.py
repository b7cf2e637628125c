"""Bytes in several pieces."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from rushlight.compat.cord import Cord
from rushlight.delegate.file_data import FileBackedData


def test_pieces_are_not_copied(tmp_path: Path) -> None:
    (tmp_path / "tail").write_bytes(b"tail")
    tail = FileBackedData(str(tmp_path / "tail"))
    piece = b"middle"
    cord = Cord(b"head ")
    cord.append(Cord(piece))
    cord.append(bytearray(b" "))
    cord.append(tail)
    assert cord._buffers[1] is piece and cord._buffers[3] is tail
    out = io.BytesIO()
    cord.write_to_file(out)
    assert bytes(cord) == out.getvalue() == b"head middle tail" and len(cord) == 16


def test_other_things_are_refused() -> None:
    text: Any = "text"
    with pytest.raises(TypeError, match="a cord contains bytes, not a str"):
        Cord(text)
