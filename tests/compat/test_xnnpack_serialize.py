"""The header of XNNPACK payloads, and payloads of graphs."""

from __future__ import annotations

import pytest

from rushlight.backends.xnnpack.graph import XNNGraph
from rushlight.backends.xnnpack.payload import read_payload
from rushlight.compat.xnnpack_serialize import XNNHeader, serialize_xnnpack_binary


def test_headers() -> None:
    header = XNNHeader(32, 48, 80, 24)
    data = header.to_bytes()
    assert data == bytes(4) + b"XH00" + bytes([30, 0, 32, 0, 0, 0, 48, 0, 0, 0, 80, 0, 0, 0, 24]) + bytes(7)
    assert XNNHeader.from_bytes(data) == header
    for wrong in (XNNHeader(32, 0, 80, 24), XNNHeader(32, 48, 79, 24)):
        assert not wrong.is_valid()
        with pytest.raises(ValueError, match="has no tables, or the constants overlap the tables"):
            wrong.to_bytes()


@pytest.mark.parametrize(
    "data,reason",
    [
        (bytes(31), "no more than 30 bytes, got 31"),
        (bytes(30), "invalid magic bytes"),
        (bytes(4) + b"XH00" + bytes([29, 0]) + bytes(20), "was 30 bytes, parsed length was 29"),
        (bytes(4) + b"XH00" + bytes([10, 0]), "was 10 bytes"),
    ],
)
def test_headers_that_are_none(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        XNNHeader.from_bytes(data)


def test_graphs() -> None:
    graph = XNNGraph("0", [], [], 0, [], [], [])
    payload = serialize_xnnpack_binary(graph, bytearray(b"constants"))
    header = XNNHeader.from_bytes(payload[: XNNHeader.EXPECTED_LENGTH])
    assert header.constant_data_size == 9 and header.constant_data_offset % 16 == 0
    read, constants = read_payload(payload)
    assert read == graph and bytes(constants) == b"constants"
