"""Packs sources as a reproducible .tar.xz: pack_sources.py FOLDER LIST ARCHIVE.

LIST is a file with a path below FOLDER in each line. The bytes of the archive depend only on the contents.
"""

from __future__ import annotations

import io
import lzma
import sys
import tarfile
from pathlib import Path


def pack(folder: Path, names: list[str], archive: Path) -> None:
    """Writes the archive."""
    with lzma.open(archive, "wb", preset=9 | lzma.PRESET_EXTREME) as stream:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as files:
            for name in names:
                data = (folder / name).read_bytes()
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), 0o644
                files.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]).read_text().split(), Path(sys.argv[3]))
