"""Functions with which the tests of the examples run commands and Python scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.fresh import run_python

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a command. If it fails, the test fails with its output."""
    done = subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done


def python(source: str | Path, *arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Runs a file or code in a separate process, because libraries stay loaded.

    `path` is on the module path.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *filter(None, sys.path)])}
    return run_python(source, *arguments, cwd=path, environment=environment)
