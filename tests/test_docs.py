"""The Python of README.md and of every page in docs/ runs from top to bottom, as a reader would copy it.

Each page is a script of its own in an empty folder; lines of the script have their numbers on the page.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python\n" in page.read_text()
]

# Pages that show what their code prints.
SHOWN = {"programs.md"}


def python_of(page: Path) -> str:
    """The Python of a page; each line keeps its number on the page, and all other lines are empty."""
    lines, inside = [], False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            lines.append("")
        else:
            lines.append(line if inside else "")
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_runs_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    script = tmp_path / f"{page.stem}_page.py"
    script.write_text(python_of(page))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{page.name}, whose line numbers the traceback has:\n{done.stderr}"
    if page.name in SHOWN:
        printed = done.stdout.strip()
        assert printed and printed in page.read_text()


def test_the_pages_are_found() -> None:
    assert len(PAGES) >= 7 and SHOWN <= {page.name for page in PAGES}
