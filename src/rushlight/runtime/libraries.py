"""Loads shared libraries of kernels and backends, and finds the folders for building them."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from rushlight.runtime import _native
from rushlight.runtime.errors import NotFoundError

PathLike = str | os.PathLike[str]

_ARCHIVE = "runtime_sources.tar.xz"


@dataclass(frozen=True)
class Library:
    """A loaded library.

    Attributes:
        name: the name of the library.
        path: the file of the library.
        operators: the names of the operators for which the library has kernels.
        backends: the names of the backends of the library.
    """

    name: str
    path: Path
    operators: tuple[str, ...]
    backends: tuple[str, ...]


def load_library(path: PathLike) -> Library:
    """Loads a shared library of kernels or backends for the rest of the process.

    Methods that are loaded later use the kernels and backends of the library. If the runtime has a kernel
    with the same name, the kernel of the library is used. Programs that are compiled later may use the
    operators of the library. A library that is already loaded is not loaded again.

    Args:
        path: the path of the library.

    Returns:
        The name and contents of the library.

    Raises:
        AccessFailedError: the file does not exist, or the system cannot load it. The error is also an
            OSError.
        NotSupportedError: the file has no table of kernels or backends, or was built for another version.
        InvalidArgumentError: a row of the table is invalid, or another library has a row with the same name.
    """
    return _library(_native.load_library(os.fspath(path)))


def loaded_libraries() -> list[Library]:
    """Returns the loaded libraries in the order in which they were loaded."""
    return [_library(row) for row in _native.loaded_libraries()]


def _library(row: tuple[str, str, list[str], list[str]]) -> Library:
    name, path, operators, backends = row
    return Library(name, Path(path), tuple(operators), tuple(backends))


def cmake_dir() -> Path:
    """Returns the folder of the CMake package, for `find_package(rushlight)` with `-Drushlight_DIR=...`.

    Raises:
        NotFoundError: the package was installed without headers and libraries.
    """
    return _existing("lib", "cmake", "rushlight")


def include_dir() -> Path:
    """Returns the folder that contains the headers `rushlight/...`.

    Raises:
        NotFoundError: the package was installed without headers and libraries.
    """
    return _existing("include")


def library_dir() -> Path:
    """Returns the folder of the static libraries.

    Raises:
        NotFoundError: the package contains the sources instead of static libraries, as wheels do.
            `find_package(rushlight)` compiles the sources.
    """
    folder = _existing("lib")
    if not (folder / "librushlight_core.a").is_file():
        raise NotFoundError(
            f"{folder} has no static libraries: wheels contain the sources of the runtime instead, and "
            "find_package(rushlight) compiles them (rushlight config --cmake-dir prints the folder of the "
            "CMake package)"
        )
    return folder


def runtime_sources(folder: Path) -> Path:
    """Returns the folder of the runtime's C++ sources, which selective builds compile.

    An installed package contains the sources as an archive. The archive is unpacked once.

    Args:
        folder: the archive is unpacked to the folder `runtime` in this folder.

    Raises:
        NotFoundError: the package was installed without its sources.
    """
    package = Path(__file__).resolve().parents[1]
    checkout = package.parents[1] / "runtime"
    if (checkout / "CMakeLists.txt").is_file():
        return checkout
    archive = package / _ARCHIVE
    if not archive.is_file():
        raise NotFoundError(
            f"{archive} does not exist: rushlight was installed without the sources of its runtime"
        )
    return _unpacked(archive, package / "include", folder / "runtime")


def _unpacked(archive: Path, headers: Path, target: Path) -> Path:
    """Unpacks an archive and copies the headers, unless `target` already contains them.

    A file in `target` contains the digest of the unpacked archive.
    """
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    mark = target / ".archive"
    if mark.is_file() and mark.read_text(encoding="utf-8") == digest:
        return target
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as files:
        if hasattr(tarfile, "data_filter"):  # older patch releases of Python do not have this filter
            files.extraction_filter = tarfile.data_filter
        files.extractall(target)
    shutil.copytree(headers, target / "include", dirs_exist_ok=True)
    mark.write_text(digest, encoding="utf-8")
    return target


def _existing(*parts: str) -> Path:
    # The folders are next to the extension module. An editable installation has the sources in another place.
    path = Path(_native.__file__).parents[1].joinpath(*parts)
    if not path.is_dir():
        raise NotFoundError(
            f"{path} does not exist: rushlight was installed without its headers and libraries"
        )
    return path
