"""The payload of OpenvinoBackend: a model in OpenVINO's intermediate representation.

u8[4] "RLOV", u32 version 1, u32 CRC-32 of all that follows, u32 0, u64 bytes of the XML, u64 bytes of the
weights; the XML, zeros up to a multiple of 64, the weights. Numbers are little-endian. ExecuTorch's payload,
a compiled model as OpenVINO exports it, has no such header; the runtime takes both.
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
        weights: its weights.
    """
    parts = [_REST.pack(0, len(xml), len(weights)), xml]
    parts += [bytes(-(_HEAD.size + _REST.size + len(xml)) % _ALIGNMENT), weights]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([_HEAD.pack(b"RLOV", 1, checksum), *parts])
