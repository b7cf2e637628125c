"""Program files (`.pte`) have the golden bytes, aligned data and no duplicates."""

from __future__ import annotations

import copy
import io
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rushlight.format.errors import FormatError, MalformedError
from rushlight.format.program import (
    BackendDelegate,
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    Buffer,
    DataLocation,
    Int,
    SubsegmentOffsets,
    Tensor,
)
from rushlight.format.pte import (
    NamedDataEntry,
    PTEFile,
    PTELayout,
    program_fingerprint,
    read_pte,
    write_pte,
    write_pte_to_file,
)


def as_bytes(items: list[Any]) -> list[bytes]:
    return [bytes(item) for item in items]


def test_bytes_are_those_of_the_golden_file(
    every_kind: PTEFile, golden: Callable[[str, bytes], bytes]
) -> None:
    data = write_pte(every_kind)
    assert data == golden("every_kind.pte", data)


def test_reading_gives_what_was_written(every_kind: PTEFile) -> None:
    read = read_pte(write_pte(every_kind))
    assert read.program == every_kind.program
    assert as_bytes(read.constants) == every_kind.constants
    assert as_bytes(read.mutable_data) == every_kind.mutable_data
    assert as_bytes(read.delegate_data) == every_kind.delegate_data
    assert {key: bytes(entry.data) for key, entry in read.named_data.items()} == {
        "a": b"first",
        "b": b"other",
        "c": b"first",
    }


def test_negative_zero_keeps_its_sign(every_kind: PTEFile) -> None:
    read = read_pte(write_pte(every_kind))
    assert repr(read.program.execution_plan[0].values[3].val) == "Double(double_val=-0.0)"


def test_writing_again_gives_the_same_bytes(every_kind: PTEFile) -> None:
    every_kind.named_data = {"b": NamedDataEntry(b"other")}
    data = write_pte(every_kind)
    assert write_pte(read_pte(data)) == data


def test_writing_does_not_change_the_file(every_kind: PTEFile) -> None:
    before = copy.deepcopy(every_kind)
    every_kind.constants.append(every_kind.constants[1])
    before.constants.append(before.constants[1])
    write_pte(every_kind)
    assert every_kind == before


def test_header_says_where_tables_and_segments_are(every_kind: PTEFile) -> None:
    data = write_pte(every_kind, PTELayout(segment_alignment=512))
    assert data[4:8] == b"ET12"
    magic, length, tables, base, size = struct.unpack_from("<4sIQQQ", data, 8)
    assert (magic, length) == (b"eh00", 32)
    assert base % 512 == 0 and tables <= base < tables + 512
    assert base + size == len(data)


@pytest.mark.parametrize("alignment", [16, 64, 4096])
def test_constants_are_aligned_in_the_file(every_kind: PTEFile, alignment: int) -> None:
    marker = b"\xa5" * 24
    every_kind.constants[1] = marker
    data = write_pte(every_kind, PTELayout(constant_tensor_alignment=alignment))
    assert data.index(marker) % alignment == 0
    assert as_bytes(read_pte(data).constants) == every_kind.constants


def test_named_data_are_aligned_in_the_file(every_kind: PTEFile) -> None:
    every_kind.named_data["big"] = NamedDataEntry(b"\xa5" * 99, 4096)
    assert write_pte(every_kind).index(b"\xa5" * 99) % 4096 == 0


@pytest.mark.parametrize("as_segments", [True, False])
def test_delegate_data_are_aligned_in_the_file(every_kind: PTEFile, as_segments: bool) -> None:
    every_kind.delegate_data[0] = b"\xa5" * 99
    data = write_pte(every_kind, PTELayout(delegate_alignment=1024, extract_delegate_segments=as_segments))
    assert data.index(b"\xa5" * 99) % 1024 == 0
    assert as_bytes(read_pte(data).delegate_data) == [b"\xa5" * 99, b""]


def test_a_program_without_data_has_no_header(make_program: Any, make_method: Any) -> None:
    data = write_pte(PTEFile(make_program(make_method("forward", [Int(1)], []))))
    assert b"eh00" not in data
    assert read_pte(data).program.execution_plan[0].values[0].val == Int(1)


def test_equal_constants_are_stored_once(make_program: Any, make_method: Any, make_tensor: Any) -> None:
    weight = np.arange(64, dtype=np.float32)
    values = [make_tensor([64], constant=1), make_tensor([64], constant=2), make_tensor([64], constant=3)]
    constants = [b"", weight, weight + 1, weight.copy()]
    data = write_pte(PTEFile(make_program(make_method("forward", values, [])), constants))
    assert data.count(weight.tobytes()) == 1
    read = read_pte(data)
    indices = [
        value.val.data_buffer_idx
        for value in read.program.execution_plan[0].values
        if isinstance(value.val, Tensor)
    ]
    assert indices == [1, 2, 1]
    assert as_bytes(read.constants) == [b"", weight.tobytes(), (weight + 1).tobytes()]


def test_equal_delegate_data_are_stored_once(every_kind: PTEFile) -> None:
    payload = bytes(range(256)) * 4
    plan = every_kind.program.execution_plan[0]
    plan.delegates = [
        BackendDelegate(f"B{i}", BackendDelegateDataReference(DataLocation.INLINE, i), []) for i in range(2)
    ]
    every_kind.delegate_data = [payload, bytes(payload)]
    data = write_pte(every_kind)
    assert data.count(payload) == 1
    assert as_bytes(read_pte(data).delegate_data) == [payload]


@pytest.mark.parametrize(
    "constant",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(6, dtype=">f4").reshape(2, 3),
        memoryview(bytearray(24)),
        np.zeros((2, 3), dtype=np.complex64)[:, :],
    ],
    ids=["array", "big endian", "memoryview", "complex"],
)
def test_constants_are_any_buffers(every_kind: PTEFile, constant: Any) -> None:
    every_kind.constants[1] = constant
    assert bytes(read_pte(write_pte(every_kind)).constants[1]) == memoryview(constant).tobytes()[:24]


def test_an_array_that_is_not_contiguous_is_refused(every_kind: PTEFile) -> None:
    every_kind.constants[1] = np.zeros((3, 2), dtype=np.float32).T
    with pytest.raises(FormatError, match="constant 1: expected a contiguous buffer"):
        write_pte(every_kind)


def test_an_empty_constant(make_program: Any, make_method: Any, make_tensor: Any) -> None:
    method = make_method("forward", [make_tensor([0, 4], constant=1), make_tensor([1], constant=2)], [])
    file = PTEFile(make_program(method), [b"", np.zeros((0, 4), np.float32), b"abcd"])
    assert as_bytes(read_pte(write_pte(file)).constants) == [b"", b"", b"abcd"]


def test_data_inside_of_the_program_stand_for_those_of_the_file(every_kind: PTEFile) -> None:
    inside = PTEFile(
        replace(
            every_kind.program,
            constant_buffer=[Buffer(data) for data in every_kind.constants],
            backend_delegate_data=[BackendDelegateInlineData(data) for data in every_kind.delegate_data],
        ),
        mutable_data=every_kind.mutable_data,
        named_data=every_kind.named_data,
    )
    assert write_pte(inside) == write_pte(every_kind)
    inside.constants = every_kind.constants
    with pytest.raises(FormatError, match="both in PTEFile and in the tables"):
        write_pte(inside)


def test_constants_among_the_tables_are_read(every_kind: PTEFile) -> None:
    from rushlight.format.codecs import program_binding
    from rushlight.format.encode import encode

    buffers = [Buffer(data) for data in every_kind.constants]
    plan = every_kind.program.execution_plan[1]
    tables = encode(
        program_binding(), replace(every_kind.program, execution_plan=[plan], constant_buffer=buffers)
    )
    read = read_pte(tables)
    assert as_bytes(read.constants) == every_kind.constants
    assert read.program.constant_buffer == []


def test_reading_copies_no_constants(every_kind: PTEFile) -> None:
    data = bytearray(write_pte(every_kind))
    constant = read_pte(data).constants[1]
    data[data.index(every_kind.constants[1])] = 0xA5
    assert constant[0] == 0xA5


def test_writing_to_a_path_and_to_a_file(every_kind: PTEFile, tmp_path: Path) -> None:
    data = write_pte(every_kind)
    stream = io.BytesIO()
    assert write_pte_to_file(every_kind, stream) == len(data)
    assert write_pte_to_file(every_kind, tmp_path / "a.pte") == len(data)
    assert stream.getvalue() == (tmp_path / "a.pte").read_bytes() == data


class Broken:
    """Not a buffer."""


def test_a_failed_write_leaves_the_old_file(every_kind: PTEFile, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "a.pte"
    path.write_bytes(b"old")

    def fail(pieces: Any, file: Any) -> int:
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr("rushlight.format.segments._write_all", fail)
    with pytest.raises(OSError, match="disk full"):
        write_pte_to_file(every_kind, path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.pte"]


def test_a_link_stays_a_link(every_kind: PTEFile, tmp_path: Path) -> None:
    (tmp_path / "real.pte").write_bytes(b"old")
    (tmp_path / "link.pte").symlink_to(tmp_path / "real.pte")
    write_pte_to_file(every_kind, tmp_path / "link.pte")
    assert (tmp_path / "link.pte").is_symlink()
    assert (tmp_path / "real.pte").read_bytes() == write_pte(every_kind)


def set_constant_0(file: PTEFile) -> None:
    file.constants[0] = b"x"


def shorten_constant(file: PTEFile) -> None:
    file.constants[1] = b"x" * 23


def drop_constant(file: PTEFile) -> None:
    del file.constants[2]


def drop_mutable_data(file: PTEFile) -> None:
    file.mutable_data = []


def drop_delegate_data(file: PTEFile) -> None:
    file.delegate_data = []


def break_constant(file: PTEFile) -> None:
    file.constants[1] = Broken()


def break_alignment(file: PTEFile) -> None:
    file.named_data["b"].alignment = 0


def leave_offsets(file: PTEFile) -> None:
    file.program.constant_segment = SubsegmentOffsets(0, [0])


def set_version(file: PTEFile) -> None:
    file.program.version = 7


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (set_constant_0, "constant 0 is reserved"),
        (shorten_constant, "method 'forward', value 4 needs 24 bytes of constant 1, which has 23"),
        (drop_constant, "value 15 uses constant 2, but there are 2"),
        (drop_mutable_data, "value 12 uses mutable data 1, but there are 0"),
        (drop_delegate_data, "delegate 'SomeBackend' refers to .* but there are 0 entries of delegate data"),
        (break_constant, "constant 1: expected a buffer of bytes, got Broken"),
        (break_alignment, "named data 'b' have the alignment 0"),
        (leave_offsets, "already refers to segments"),
        (set_version, "version 7"),
    ],
)
def test_what_cannot_be_written(every_kind: PTEFile, damage: Callable[[PTEFile], None], message: str) -> None:
    damage(every_kind)
    with pytest.raises(FormatError, match=message):
        write_pte(every_kind)


@pytest.mark.parametrize("name", ["constant_tensor_alignment", "segment_alignment", "delegate_alignment"])
def test_alignments_are_powers_of_two(every_kind: PTEFile, name: str) -> None:
    layout = replace(PTELayout(), **{name: 48})  # type: ignore[arg-type]
    with pytest.raises(FormatError, match=f"{name} must be a power of two, got 48"):
        write_pte(every_kind, layout)


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (4, b"ET99", "file identifier at byte 4|identifier is b'ET99'"),
        (12, struct.pack("<I", 8), "header length 8 is too small"),
        (16, struct.pack("<Q", 2**63), "tables of 9223372036854775808 bytes do not fit"),
        (16, struct.pack("<Q", 20), "tables of 20 bytes do not fit"),
        (24, struct.pack("<Q", 2**64 - 1), "segments at byte 18446744073709551615 are not between"),
        (24, struct.pack("<Q", 0), "the file has segments, but their base offset is 0"),
        (32, struct.pack("<Q", 2**64 - 1), "segments of 18446744073709551615 bytes do not fit"),
        (32, struct.pack("<Q", 1), "segment 0 .* is not inside the 1 bytes"),
    ],
)
def test_a_header_that_lies_is_refused(every_kind: PTEFile, offset: int, value: bytes, message: str) -> None:
    data = bytearray(write_pte(every_kind))
    data[offset : offset + len(value)] = value
    with pytest.raises(MalformedError, match=message):
        read_pte(data)


def test_a_header_without_the_size_of_segments_is_read(every_kind: PTEFile) -> None:
    data = bytearray(write_pte(every_kind))
    data[12:16] = struct.pack("<I", 24)
    assert read_pte(data).constants[1] == every_kind.constants[1]


def test_errors_name_table_field_and_offset(every_kind: PTEFile) -> None:
    data = bytearray(write_pte(every_kind))
    at = data.index("schön".encode()) + len("schön".encode())
    data[at] = 1
    with pytest.raises(
        MalformedError, match=r"String\.string_val at byte \d+: a text is not NUL-term"
    ) as caught:
        read_pte(data)
    assert (caught.value.table, caught.value.field) == ("String", "string_val")
    assert caught.value.offset is not None


def test_what_is_no_buffer_is_refused() -> None:
    with pytest.raises(FormatError, match="expected a buffer of bytes, got str"):
        read_pte("model.pte")


def test_the_fingerprint_is_that_of_the_tables(every_kind: PTEFile) -> None:
    data = write_pte(every_kind)
    size = int.from_bytes(data[16:24], "little")
    assert program_fingerprint(data) >> 32 == size < len(data)
    assert program_fingerprint(data) == program_fingerprint(data[:-1] + bytes([data[-1] ^ 1]))
    assert program_fingerprint(data) != program_fingerprint(data[:40] + bytes([data[40] ^ 1]) + data[41:])
