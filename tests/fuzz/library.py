"""Builds the mutator of tables as a shared library, without the sanitized build of `make fuzz`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# As the target rushlight_mutator of fuzz/CMakeLists.txt.
SOURCES = (
    "fuzz/mutate_file.cpp",
    "fuzz/mutate_tables.cpp",
    "fuzz/mutator.cpp",
    "runtime/core/flatbuffer.cpp",
    "runtime/program/extended_header.cpp",
)


def build_mutator(folder: Path) -> Path:
    """Compiles the library with the compiler in the variable CXX, or c++.

    Args:
        folder: the folder of the library, which is created.

    Returns:
        The path of the library.

    Raises:
        CalledProcessError: the compiler fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "librushlight_mutator.so"
    compiler = os.environ.get("CXX", "c++").split()
    prefix = ["ccache"] if shutil.which("ccache") else []
    objects = []
    for source in SOURCES:
        target = folder / f"{Path(source).stem}.o"
        options = ["-std=c++17", "-O1", "-fPIC", "-Iruntime", "-Iruntime/include", "-c"]
        subprocess.run(
            [*prefix, *compiler, *options, source, "-o", str(target)], check=True, cwd=ROOT, text=True
        )
        objects.append(str(target))
    subprocess.run([*compiler, "-shared", *objects, "-o", str(library)], check=True, cwd=ROOT)
    return library
