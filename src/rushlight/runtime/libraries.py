"""Shared libraries of kernels and backends, and what is needed to build one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rushlight.runtime import _native
from rushlight.runtime.errors import NotFoundError

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Library:
    """A loaded library: its name, its file, and what it has rows for."""

    name: str
    path: Path
    operators: tuple[str, ...]
    backends: tuple[str, ...]


def load_library(path: PathLike) -> Library:
    """Loads a shared library of kernels or backends, for the rest of the process.

    Methods that are loaded from then on find its kernels, before those that the runtime has of the same name,
    and its backends; programs that are compiled from then on may call its operators. A file that is loaded
    already is not loaded again.

    Raises:
        AccessFailedError: there is no such file, or the system cannot load it; it is an OSError.
        NotSupportedError: it has no table of rows, or was built for another version.
        InvalidArgumentError: a row is wrong, or another library has a row of the same name.
    """
    return _library(_native.load_library(os.fspath(path)))


def loaded_libraries() -> list[Library]:
    """The libraries loaded so far, in the order of their loading."""
    return [_library(row) for row in _native.loaded_libraries()]


def _library(row: tuple[str, str, list[str], list[str]]) -> Library:
    name, path, operators, backends = row
    return Library(name, Path(path), tuple(operators), tuple(backends))


def cmake_dir() -> Path:
    """The folder of the CMake package, for `find_package(rushlight)`: `-Drushlight_DIR=...`.

    Raises:
        NotFoundError: the package was installed without its headers and libraries.
    """
    return _existing("lib", "cmake", "rushlight")


def include_dir() -> Path:
    """The folder of the headers `rushlight/...`. Raises as `cmake_dir`."""
    return _existing("include")


def library_dir() -> Path:
    """The folder of the static libraries. Raises as `cmake_dir`."""
    return _existing("lib")


def _existing(*parts: str) -> Path:
    # Beside the extension module: in an editable installation, the Python sources are elsewhere.
    path = Path(_native.__file__).parents[1].joinpath(*parts)
    if not path.is_dir():
        raise NotFoundError(
            f"{path} does not exist: rushlight was installed without its headers and libraries"
        )
    return path
