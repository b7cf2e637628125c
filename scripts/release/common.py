"""Functions for the release scripts: the version, the time of all files, and reproducible archives."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"


def version() -> str:
    """Returns the version of the package."""
    text = (ROOT / "runtime/CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"project\(Rushlight VERSION ([0-9.]+)", text)
    assert found
    return found[1]


def epoch() -> int:
    """Returns the time for all files in seconds since 1970: SOURCE_DATE_EPOCH or that of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return int(done.stdout)


def files_below(folder: Path) -> list[Path]:
    """Returns all files below a folder, sorted by path."""
    return sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())


def write_tar(folder: Path, prefix: str, archive: Path) -> None:
    """Writes a .tar.xz of a folder. Its bytes depend only on the contents and `epoch()`."""
    time = epoch()

    def cleaned(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime = time
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        return entry

    with tarfile.open(archive, "w:xz", format=tarfile.GNU_FORMAT) as files:
        for path in files_below(folder):
            files.add(path, f"{prefix}/{path.relative_to(folder)}", filter=cleaned)


def run(*words: object, **options: object) -> None:
    """Runs a command. If it fails, the script ends."""
    subprocess.run([str(word) for word in words], check=True, **options)  # type: ignore[call-overload]
