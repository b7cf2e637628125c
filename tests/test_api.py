"""The public API and the version. Both may only change intentionally."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

from tests.fresh import run_python

import rushlight

ROOT = Path(__file__).parents[1]


def test_the_public_api_is_the_recorded_one() -> None:
    done = run_python(ROOT / "scripts" / "api.py", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    recorded = (ROOT / "tests" / "golden" / "api.txt").read_text()
    assert done.stdout == recorded, "if the change is intended, run `make api` and add a line to CHANGELOG.md"


def test_there_is_one_version() -> None:
    cmake = (ROOT / "runtime" / "CMakeLists.txt").read_text()
    found = re.search(r"project\(Rushlight VERSION ([0-9.]+)", cmake)
    assert found is not None
    version = found[1]
    assert rushlight.__version__ == importlib.metadata.version("rushlight") == version
    newest = re.search(r"^## ([0-9.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None and newest[1] == version
