"""Program files in ExecuTorch's classes: headers, and programs with constants and payloads."""

from __future__ import annotations

import json

import pytest
import torch

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compat.extended_header import (
    ExtendedHeader,
    FlatTensorHeader,
    get_extended_header,
    program_to_json,
)
from rushlight.compat.program_files import PTEFile, deserialize_pte_binary, serialize_pte_binary
from rushlight.delegate.named_data import DataEntry, NamedDataStoreOutput
from rushlight.exir import to_edge_transform_and_lower
from rushlight.format.program import BackendDelegateInlineData, Buffer, DataLocation
from rushlight.format.ptd import write_ptd
from rushlight.format.pte import read_pte
from rushlight.format.segments import NamedDataEntry


def a_file() -> bytes:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Sigmoid())
    exported = torch.export.export(model.eval(), (torch.ones(2, 4),))
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    return bytes(lowered.to_executorch().buffer)


def test_a_program_holds_its_constants_and_payloads() -> None:
    data = a_file()
    plain, file = read_pte(data), deserialize_pte_binary(data)
    program = file.program
    assert [buffer.storage for buffer in program.constant_buffer] == [bytes(c) for c in plain.constants]
    assert [blob.data for blob in program.backend_delegate_data] == [bytes(d) for d in plain.delegate_data]
    (delegate,) = program.execution_plan[0].delegates
    assert delegate.processed.location == DataLocation.INLINE
    assert (program.segments, program.named_data, file.mutable_data) == ([], [], None)
    written = bytes(serialize_pte_binary(file, extract_delegate_segments=True))
    again = read_pte(written)
    assert again.delegate_data == plain.delegate_data and again.program == plain.program
    program.backend_delegate_data.append(BackendDelegateInlineData(b"x"))
    with pytest.raises(ValueError, match=r"the payloads \[1\] of the program do not belong to a delegate"):
        serialize_pte_binary(file, extract_delegate_segments=True)


def test_data_beside_the_program_are_kept() -> None:
    program = deserialize_pte_binary(a_file()).program
    store = NamedDataStoreOutput([b"abcd"], {"a": DataEntry(0, 8, None), "b": DataEntry(0, 8, None)}, {})
    written = bytes(serialize_pte_binary(PTEFile(program, [Buffer(b""), Buffer(b"12")], store)))
    file = deserialize_pte_binary(written)
    assert file.mutable_data == [Buffer(b""), Buffer(b"12")]
    assert file.named_data is not None and [*file.named_data.pte_data] == ["a", "b"]
    assert list(file.named_data.buffers) == [b"abcd"]
    assert json.loads(program_to_json(program))["execution_plan"][0]["name"] == "forward"


def test_headers_say_where_segments_begin() -> None:
    data = a_file()
    header = get_extended_header(data)
    assert header is not None and header.is_valid()
    assert header.segment_base_offset + header.segment_data_size == len(data)
    assert header.to_bytes() == data[8 : 8 + header.length]
    changed = bytearray(data)
    changed[8:12] = b"none"
    assert get_extended_header(bytes(changed)) is None
    assert not ExtendedHeader.from_bytes(bytes(changed[8:])).is_valid()
    assert ExtendedHeader(1, 2, 3, b"none", 99).to_bytes() == ExtendedHeader(1, 2, 3).to_bytes()
    short = ExtendedHeader(1, 2, 3).to_bytes()
    short = short[:4] + (24).to_bytes(4, "little") + short[8:]
    assert ExtendedHeader.from_bytes(short) == ExtendedHeader(1, 2, 0, b"eh00", 24)
    with pytest.raises(ValueError, match="not 31"):
        ExtendedHeader.from_bytes(short[:31])
    assert get_extended_header(b"") is None


def test_data_files_have_a_header_of_their_own() -> None:
    data = write_ptd({"a": NamedDataEntry(b"12345", 1)})
    header = FlatTensorHeader.from_bytes(data[8:])
    assert header.is_valid() and header.to_bytes() == data[8 : 8 + header.length]
    assert header.segment_base_offset + header.segment_data_size == len(data)
    assert not FlatTensorHeader(1, 2, 3, 4, b"none").is_valid()
    with pytest.raises(ValueError, match="not 39"):
        FlatTensorHeader.from_bytes(data[:39])
