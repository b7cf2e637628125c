"""Data files (`.ptd`) have the golden bytes; damaged files are refused."""

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rushlight.format.errors import FormatError, MalformedError
from rushlight.format.flat_tensor import TensorLayout
from rushlight.format.program import ScalarType
from rushlight.format.ptd import read_ptd, write_ptd, write_ptd_to_file
from rushlight.format.segments import NamedDataEntry


def layout(
    *sizes: int, scalar_type: ScalarType = ScalarType.FLOAT, order: list[int] | None = None
) -> TensorLayout:
    return TensorLayout(scalar_type, list(sizes), list(range(len(sizes))) if order is None else order)


def test_bytes_are_those_of_the_golden_file(
    entries: dict[str, NamedDataEntry], golden: Callable[[str, bytes], bytes]
) -> None:
    data = write_ptd(entries)
    assert data == golden("entries.ptd", data)


def test_reading_gives_what_was_written(entries: dict[str, NamedDataEntry]) -> None:
    read = read_ptd(write_ptd(entries))
    assert list(read) == list(entries)
    assert {key: bytes(entry.data) for key, entry in read.items()} == {
        key: entry.data for key, entry in entries.items()
    }
    assert read["weight"].tensor_layout == entries["weight"].tensor_layout
    assert read["blob"].tensor_layout is None


def test_no_entries() -> None:
    assert read_ptd(write_ptd({})) == {}


def test_header(entries: dict[str, NamedDataEntry]) -> None:
    data = write_ptd(entries, segment_alignment=256)
    assert data[4:8] == b"FT01"
    magic, length, start, size, base, segment_size = struct.unpack_from("<4sIQQQQ", data, 8)
    assert (magic, length, start) == (b"FH01", 40, 48)
    assert start + size <= base and base % 256 == 0
    assert base + segment_size == len(data)


def test_data_are_aligned_and_stored_once() -> None:
    weight = np.arange(32, dtype=np.float32)
    data = write_ptd(
        {
            "a": NamedDataEntry(b"x"),
            "b": NamedDataEntry(weight, 4096, layout(32)),
            "c": NamedDataEntry(weight),
        }
    )
    assert data.count(weight.tobytes()) == 1
    assert data.index(weight.tobytes()) % 4096 == 0


def test_writing_to_a_path_and_to_a_file(entries: dict[str, NamedDataEntry], tmp_path: Path) -> None:
    data = write_ptd(entries)
    stream = io.BytesIO()
    assert write_ptd_to_file(entries, stream) == write_ptd_to_file(entries, tmp_path / "a.ptd") == len(data)
    assert stream.getvalue() == (tmp_path / "a.ptd").read_bytes() == data


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (NamedDataEntry(b"1234", 1, layout(2)), "tensor 'x' needs 8 bytes of data, but has 4"),
        (NamedDataEntry(b"1234", 1, layout(-1)), r"tensor 'x' has a negative size: \[-1\]"),
        (
            NamedDataEntry(b"1234", 1, layout(1, order=[1])),
            r"tensor 'x' of 1 dimensions has the invalid dim order \[1\]",
        ),
        (NamedDataEntry(b"1234", 1, layout(*[1] * 17)), "tensor 'x' has 17 dimensions; at most 16"),
        (NamedDataEntry(b"1234", -1), "named data 'x' have the alignment -1"),
        (NamedDataEntry("text"), "named data 'x': expected a buffer of bytes, got str"),
    ],
)
def test_what_cannot_be_written(entry: NamedDataEntry, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        write_ptd({"x": entry})


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (4, b"ET12", "identifier is b'ET12', not 'FT01'"),
        (8, b"FH02", "header does not begin with b'FH01'"),
        (12, struct.pack("<I", 32), "header length 32 is too small"),
        (16, struct.pack("<Q", 2**64 - 1), "do not fit"),
        (24, struct.pack("<Q", 2**64 - 1), "do not fit"),
        (32, struct.pack("<Q", 2**63), "not between the tables and the end"),
        (40, struct.pack("<Q", 2**63), "segments of 9223372036854775808 bytes do not fit"),
    ],
)
def test_a_header_that_lies_is_refused(
    entries: dict[str, NamedDataEntry], offset: int, value: bytes, message: str
) -> None:
    data = bytearray(write_ptd(entries))
    data[offset : offset + len(value)] = value
    with pytest.raises(MalformedError, match=message):
        read_ptd(data)


def test_a_layout_that_does_not_fit_its_segment_is_refused(entries: dict[str, NamedDataEntry]) -> None:
    data = bytearray(write_ptd(entries))
    sizes = struct.pack("<3I", 2, 2, 3)
    at = data.index(sizes)
    data[at : at + 12] = struct.pack("<3I", 2, 2, 2**30)
    with pytest.raises(MalformedError, match="tensor 'weight' needs 4294967296 bytes of data, but has 12"):
        read_ptd(data)


def test_layouts_are_not_checked_if_the_caller_says_so() -> None:
    entries = {"x": NamedDataEntry(b"1234", 1, layout(2, order=[1]))}
    data = write_ptd(entries, check_layouts=False)
    assert read_ptd(data, check_layouts=False)["x"].tensor_layout == layout(2, order=[1])
    with pytest.raises(MalformedError, match=r"tensor 'x' of 1 dimensions has the invalid dim order \[1\]"):
        read_ptd(data)


def test_what_is_no_buffer_is_refused() -> None:
    value: Any = 3
    with pytest.raises(FormatError, match="expected a buffer of bytes, got int"):
        read_ptd(value)
