"""Writes the source distribution into `dist`, with the same bytes for the same commit: sdist.py [--jobs N].

Without --only-write, the script also builds a wheel from it in another folder and tests it in a new
environment.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from common import DIST, ROOT, epoch, run, version
from smoke import try_wheel


def write() -> Path:
    """Writes the source distribution with the build backend, and returns its path."""
    code = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    run(
        *(sys.executable, "-c", code, DIST),
        cwd=ROOT,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch())},
    )
    return DIST / f"rushlight-{version()}.tar.gz"


def build(archive: Path, folder: Path, jobs: int) -> Path:
    """Builds a wheel from the archive with the packages of this environment."""
    options = ("--no-deps", "--no-build-isolation", "-w", folder)
    environment = {**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": str(jobs)}
    run(sys.executable, "-m", "pip", "wheel", "-q", *options, archive, env=environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def main() -> None:
    """Writes and tests the source distribution."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only-write", action="store_true")
    options = parser.parse_args()
    archive = write()
    if options.only_write:
        print(f"{archive.name}: {archive.stat().st_size:,} bytes")
        return
    with tempfile.TemporaryDirectory() as folder:
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        try_wheel(build(archive, Path(folder), options.jobs), python)
    print(f"{archive.name}: {archive.stat().st_size:,} bytes; a wheel builds from it")


if __name__ == "__main__":
    main()
