"""README.md, docs/benchmarks.md and the chart have the figures of benchmarks/figures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks import report
from benchmarks.results import Results

ROOT = Path(__file__).parents[1]
WRITTEN = ("README.md", "docs/benchmarks.md", "docs/benchmarks.svg")


def test_the_figures_of_all_files_are_current(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    text = (ROOT / "README.md").read_text()
    (tmp_path / "README.md").write_text(text)
    options = ["--docs", str(tmp_path / "docs"), "--readme", str(tmp_path / "README.md")]
    monkeypatch.setattr(sys, "argv", ["report", *options])
    report.main()
    stale = [name for name in WRITTEN if (tmp_path / name).read_text() != (ROOT / name).read_text()]
    assert not stale, f"run `python -m benchmarks.report`: {stale} have other figures than benchmarks/figures"


def test_old_figures_are_replaced() -> None:
    text = (ROOT / "README.md").read_text()
    results, field = (Results.read(report.FIGURES / f"{name}.json") for name in ("avx512", "field"))
    old = text.replace("further networks", "other networks").replace(
        "runtime: between 0", "runtime: between 9"
    )
    assert old != text
    new = report.readme(old, results, field)
    assert new.count("further networks](") == 1 and "between 9" not in new


def test_a_file_without_the_comments_is_refused() -> None:
    results, field = (Results.read(report.FIGURES / f"{name}.json") for name in ("avx512", "field"))
    with pytest.raises(ValueError, match="must have one"):
        report.readme("# Rushlight\n", results, field)
