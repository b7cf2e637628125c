"""What the release scripts share: the version, the time of all files, and reproducible archives."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"


def version() -> str:
    """The version, which stands in one place."""
    text = (ROOT / "runtime/CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"project\(Rushlight VERSION ([0-9.]+)", text)
    assert found
    return found[1]


def epoch() -> int:
    """The time of all files in seconds since 1970: SOURCE_DATE_EPOCH, or that of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return int(done.stdout)


def files_below(folder: Path) -> list[Path]:
    """All files, sorted by their paths."""
    return sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink())


def write_tar(folder: Path, prefix: str, archive: Path) -> None:
    """Writes a .tar.xz of the folder whose bytes depend on its contents and `epoch()` alone."""
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
    """Runs a command; an error ends the script."""
    subprocess.run([str(word) for word in words], check=True, **options)  # type: ignore[call-overload]
