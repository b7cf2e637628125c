"""Reproducible zip files, compressed by Zopfli."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from time import struct_time

import zopfli.zlib

STORED, DEFLATED = 0, 8  # compression methods


def write_zip(archive: Path, files: Mapping[str, bytes], moment: struct_time) -> None:
    """Writes a zip file.

    Args:
        archive: the path.
        files: the names and the contents, in their order in the zip file.
        moment: the time of all files, 1980 or later.
    """
    date = (moment.tm_year - 1980) << 9 | moment.tm_mon << 5 | moment.tm_mday
    time = moment.tm_hour << 11 | moment.tm_min << 5 | moment.tm_sec // 2
    entries, directory = bytearray(), bytearray()
    for name, data in files.items():
        method, packed = DEFLATED, _deflated(data)
        if len(packed) >= len(data):
            method, packed = STORED, data
        encoded = name.encode()
        mode = 0o100755 if name.endswith(".so") else 0o100644
        sizes = (zlib.crc32(data), len(packed), len(data), len(encoded), 0)
        common = struct.pack(
            "<5H3I2H", 20, 0x800, method, time, date, *sizes
        )  # version 2.0; the flag for names in UTF-8
        place = struct.pack("<3H2I", 0, 0, 0, mode << 16, len(entries))
        directory += b"PK\x01\x02" + struct.pack("<H", 3 << 8 | 20) + common + place + encoded  # 3 means Unix
        entries += b"PK\x03\x04" + common + encoded + packed
    end = struct.pack(
        "<4s4H2IH", b"PK\x05\x06", 0, 0, len(files), len(files), len(directory), len(entries), 0
    )
    archive.write_bytes(entries + directory + end)


def _deflated(data: bytes) -> bytes:
    """Returns the deflate stream of Zopfli, without the header and the checksum of the zlib format."""
    return bytes(zopfli.zlib.compress(data, blocksplittingmax=0)[2:-4])  # 0: as many blocks as are useful
