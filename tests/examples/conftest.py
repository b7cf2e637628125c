"""Examples, built outside of the tree against the package as it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rushlight.runtime.libraries import cmake_dir

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a command, and fails with what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done


def python(source: str | Path, *arguments: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Runs a file or code in a process of its own, since a loaded library stays. `path` is importable."""
    code = [str(source)] if isinstance(source, Path) else ["-c", source]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *filter(None, sys.path)])}
    return subprocess.run(
        [sys.executable, *code, *arguments], env=environment, capture_output=True, text=True, cwd=path
    )


@pytest.fixture(scope="session")
def build_example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Builds the CMake project at examples/NAME once, and gives the folder of what was built."""
    built: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in built:
            folder = tmp_path_factory.mktemp(name.replace("/", "_"))
            run(["cmake", "-S", str(EXAMPLES / name), "-B", str(folder), f"-Drushlight_DIR={cmake_dir()}"])
            run(["cmake", "--build", str(folder)])
            built[name] = folder
        return built[name]

    return build
