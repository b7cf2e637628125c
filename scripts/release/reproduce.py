"""Builds a commit twice in folders of different names and compares the bytes: reproduce.py [--jobs N].

The second build does not use the compiler cache. Each build makes a wheel for each target, the Python sources
and the C++ package.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
from pathlib import Path

from common import ROOT, epoch, run
from wheels import TARGETS

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def build(clone: Path, options: argparse.Namespace, environment: dict[str, str]) -> dict[str, str]:
    """Clones the commit, builds in the clone, and returns the digests of the files by name."""
    run("git", "clone", "-q", "--no-tags", ROOT, clone)
    run("git", "-C", clone, "checkout", "-q", options.commit)
    scripts = clone / "scripts/release"
    jobs = ("--jobs", options.jobs)
    wheels = ("--target", *options.target, "--python", PYTHON)
    for script, arguments in (
        ("wheels.py", (*jobs, *wheels)),
        ("sdist.py", ("--only-write",)),
        ("cpp.py", jobs),
    ):
        run(sys.executable, scripts / script, *arguments, cwd=clone, env=environment)
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((clone / "dist").iterdir())
    }


def main() -> None:
    """Builds twice, prints the digests, and fails if they differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", nargs="+", choices=list(TARGETS), default=["manylinux-x86_64"])
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch())}
    with tempfile.TemporaryDirectory() as folder:
        first = build(Path(folder) / "first", options, environment)
        second = build(Path(folder) / "a-second-place", options, {**environment, "CCACHE_DISABLE": "1"})
    for name in sorted(first.keys() | second.keys()):
        same = first.get(name) == second.get(name)
        print(f"{'same' if same else 'DIFFERENT'}  {first.get(name, 'no file')}  {name}")
    if first != second:
        raise SystemExit("two builds of the same commit differ")


if __name__ == "__main__":
    main()
