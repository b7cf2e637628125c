"""The payload of OpenvinoBackend: a model in OpenVINO's intermediate representation.

The format is: u8[4] "RLOV", u32 version 1, u32 CRC-32 of all following bytes, u32 0, u64 size of the XML in
bytes, u64 size of the weights in bytes; the XML, zeros up to a multiple of 64 bytes, the weights. Numbers are
little-endian. The payload of ExecuTorch is a compiled model that OpenVINO exports, without such a header. The
runtime accepts both formats.
"""

from __future__ import annotations

import struct
import zlib

_HEAD = struct.Struct("<4sII")
_REST = struct.Struct("<IQQ")
_ALIGNMENT = 64


def write_payload(xml: bytes, weights: bytes) -> bytes:
    """Returns the payload.

    Args:
        xml: the model in OpenVINO's intermediate representation.
        weights: the weights of the model.
    """
    parts = [_REST.pack(0, len(xml), len(weights)), xml]
    parts += [bytes(-(_HEAD.size + _REST.size + len(xml)) % _ALIGNMENT), weights]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([_HEAD.pack(b"RLOV", 1, checksum), *parts])
