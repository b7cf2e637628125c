"""Packs sources as a reproducible .tar.xz: pack_sources.py FOLDER LIST ARCHIVE.

LIST is a file with a path below FOLDER in each line. The bytes of the archive depend only on the contents.
C++ sources are packed without their comments, which would be a sixth of the archive. CMake files are packed
without the lines that have only a comment. The CMake files in a folder `toolchains` keep their comments,
because developers of applications read them.
"""

from __future__ import annotations

import io
import lzma
import re
import sys
import tarfile
from pathlib import Path

# A comment, or a literal that may contain what looks like a comment: a raw string, a string, a number with
# separators or a character.
_COMMENT = re.compile(
    r'R"([^\s()\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|\b\d[\w.]*(?:'\w+)+|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/",
    re.DOTALL,
)


_MARK = "\0"  # stands for a comment


def without_comments(code: str) -> str:
    """Removes the comments from C++ code, and the lines that have only a comment."""

    def marked(found: re.Match[str]) -> str:
        text = found[0]
        return "\n".join(_MARK for _ in text.split("\n")) if text.startswith(("//", "/*")) else text

    code = re.sub(rf"^[ \t]*{_MARK}[ \t]*\n", "", _COMMENT.sub(marked, code), flags=re.MULTILINE)
    return re.sub(r"[ \t]+$", "", code.replace(_MARK, " "), flags=re.MULTILINE)


def _packed(name: str, data: bytes) -> bytes:
    """Returns the bytes of a file in the archive."""
    if "toolchains" in Path(name).parts:
        return data
    if name.endswith((".cpp", ".h", ".inc")):
        return without_comments(data.decode()).encode()
    if name.endswith(("CMakeLists.txt", ".cmake")):
        # The space distinguishes a comment from a preprocessor directive in the text of a test program.
        return re.sub(rb"^[ \t]*# [^\n]*\n", b"", data, flags=re.MULTILINE)
    return data


def _similarity(name: str) -> tuple[str, str, str]:
    """Returns a sort key that puts similar files together, because LZMA then compresses them better."""
    path = Path(name)
    return str(path.parent), path.suffix, path.name


def pack(folder: Path, names: list[str], archive: Path) -> None:
    """Writes the archive."""
    # The settings of LZMA for text: more bits of the byte before count (lc), and no positions (lp, pb).
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]
    with lzma.open(archive, "wb", filters=filters) as stream:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as files:
            for name in sorted(names, key=_similarity):
                data = _packed(name, (folder / name).read_bytes())
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), 0o644
                files.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    pack(Path(sys.argv[1]), Path(sys.argv[2]).read_text().split(), Path(sys.argv[3]))
