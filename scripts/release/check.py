"""Checks that a release is consistent: versions, changelog, API snapshot, golden programs and Git."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from common import ROOT, version


def wrong() -> list[str]:
    """Returns a sentence for each inconsistency."""
    number = version()
    found = []
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = re.search(r"^## (\S+)", changes, re.MULTILINE)
    if first is None or first[1] != number:
        found.append(
            f"CHANGELOG.md starts with the version {first and first[1]}, but the version is {number}"
        )
    package = json.loads((ROOT / "js/package.json").read_text(encoding="utf-8"))
    if package["version"] != number:
        found.append(f"js/package.json has the version {package['version']}, not {number}")
    snapshot = (ROOT / "tests/golden/api.txt").read_text(encoding="utf-8")
    made = subprocess.run(
        [sys.executable, ROOT / "scripts/api.py"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    if made.stdout != snapshot:
        found.append(
            "the public API differs from tests/golden/api.txt; if the change is intended, run `make api`"
        )
    if not (ROOT / "tests/golden/programs" / number).is_dir():
        found.append(
            f"tests/golden/programs/{number} does not exist: run `python scripts/golden_programs.py "
            f"tests/golden/programs/{number}`"
        )
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    if changed.stdout:
        found.append(f"the working tree has uncommitted changes:\n{changed.stdout}")
    return found


if __name__ == "__main__":
    errors = wrong()
    for error in errors:
        print(error)
    print(f"Rushlight {version()}: {'not ' if errors else ''}consistent")
    sys.exit(bool(errors))
