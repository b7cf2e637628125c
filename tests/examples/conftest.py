"""Builds the examples outside the repository with the installed package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.examples.support import EXAMPLES, run

from rushlight.runtime.libraries import cmake_dir


@pytest.fixture(scope="session")
def build_example(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """build_example(name) builds the CMake project of examples/NAME once, and returns the build folder."""
    built: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in built:
            folder = tmp_path_factory.mktemp(name.replace("/", "_"))
            options = [
                f"-Drushlight_DIR={cmake_dir()}",
                f"-Dexecutorch_DIR={cmake_dir().parent / 'executorch'}",
                f"-DPYTHON_EXECUTABLE={sys.executable}",
            ]
            run(["cmake", "--no-warn-unused-cli", "-S", str(EXAMPLES / name), "-B", str(folder), *options])
            run(["cmake", "--build", str(folder)])
            built[name] = folder
        return built[name]

    return build
