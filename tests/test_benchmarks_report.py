"""README.md, docs/benchmarks.md and the chart have the figures of benchmarks/figures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fresh import run_python

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
WRITTEN = ("README.md", "docs/benchmarks.md", "docs/benchmarks.svg")


def _report(folder: Path, readme: str) -> subprocess.CompletedProcess[str]:
    """Runs `benchmarks.report` with a README in a folder, where it also writes the page and the chart."""
    (folder / "docs").mkdir()
    (folder / "README.md").write_text(readme)
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return run_python(
        "from benchmarks.report import main; main()",
        *("--docs", str(folder / "docs"), "--readme", str(folder / "README.md")),
        cwd=ROOT,
        environment={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.parametrize(
    "readme",
    [README, README.replace("further networks](", "other networks](").replace("between 0.", "between 9.")],
    ids=["current", "old"],
)
def test_the_figures_of_all_files_are_current(tmp_path: Path, readme: str) -> None:
    done = _report(tmp_path, readme)
    assert done.returncode == 0, done.stderr
    stale = [name for name in WRITTEN if (tmp_path / name).read_text() != (ROOT / name).read_text()]
    assert not stale, f"run `python -m benchmarks.report`: {stale} have other figures than benchmarks/figures"


def test_a_file_without_the_comments_is_refused(tmp_path: Path) -> None:
    done = _report(tmp_path, "# Rushlight\n")
    assert done.returncode != 0 and "it must have one" in done.stderr
    assert (tmp_path / "README.md").read_text() == "# Rushlight\n"
