"""Loading shared libraries: files that are not libraries of kernels are refused, without a crash."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from rushlight.runtime import errors, load_library, loaded_libraries
from rushlight.runtime.libraries import _unpacked, cmake_dir, include_dir, library_dir, runtime_sources

SOURCE = """
#include "rushlight/core/library.h"
using namespace rushlight;
static void nothing(KernelRuntimeContext&, const Tensor&, Tensor&) {}
static const Kernel rows[] = {ROWS};
#ifdef ABI
static Library changed() {
  Library library = detail::describe_library("other", rows, {});
  library.abi ^= 1;
  return library;
}
extern "C" __attribute__((visibility("default"), used)) const Library rushlight_library = changed();
#elif defined(NO_TABLE)
extern "C" __attribute__((visibility("default"), used)) const char rushlight_library[] = "something else";
#else
RUSHLIGHT_KERNEL_LIBRARY("wrong", rows);
#endif
"""

GOOD = '{"wrong::op.out",boxed<&nothing>,{}}'
COMPILER = shutil.which(os.environ.get("CXX", "c++"))


def build(folder: Path, name: str, *flags: str, rows: str = GOOD) -> Path:
    source, library = folder / f"{name}.cpp", folder / f"lib{name}.so"
    source.write_text(SOURCE)
    command = [str(COMPILER), "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{include_dir()}"]
    command += ["-DRUSHLIGHT_SHARED_LIBRARY", f"-DROWS={rows}", *flags, str(source), "-o", str(library)]
    subprocess.run([*command, f"-L{library_dir()}", "-lrushlight_core"], check=True)
    return library


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("libraries"), "good")


def test_the_package_brings_what_is_needed() -> None:
    assert (cmake_dir() / "rushlight-config.cmake").is_file()
    assert (include_dir() / "rushlight" / "core" / "kernel.h").is_file()
    assert (library_dir() / "librushlight_core.a").is_file()


def test_sources_of_a_checkout(tmp_path: Path) -> None:
    assert (runtime_sources(tmp_path) / "exec" / "method.cpp").is_file()
    assert not list(tmp_path.iterdir())


def test_sources_of_an_installed_package(tmp_path: Path) -> None:
    """An archive is unpacked once, and again if it changes."""
    source, archive, target = tmp_path / "source.cpp", tmp_path / "sources.tar.xz", tmp_path / "runtime"
    headers = tmp_path / "include"
    headers.mkdir()
    (headers / "rushlight.h").write_text("int b;")

    def pack(text: str) -> None:
        source.write_text(text)
        with tarfile.open(archive, "w:xz") as files:
            files.add(source, "exec/method.cpp")

    pack("int a;")
    unpacked = _unpacked(archive, headers, target) / "exec" / "method.cpp"
    assert unpacked.read_text() == "int a;" and (target / "include" / "rushlight.h").is_file()
    unpacked.write_text("int changed;")
    _unpacked(archive, headers, target)
    assert unpacked.read_text() == "int changed;"
    pack("int b;")
    _unpacked(archive, headers, target)
    assert unpacked.read_text() == "int b;"


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(errors.AccessFailedError, match="absent.so.*No such file"):
        load_library(tmp_path / "absent.so")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(errors.AccessFailedError, match="not a regular file"):
        load_library(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"print('hello')\n" * 100])
def test_no_shared_library(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text.so"
    path.write_bytes(content)
    with pytest.raises(errors.AccessFailedError, match="text.so"):
        load_library(path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ELF")
@pytest.mark.parametrize("kept", [0.05, 0.3, 0.6])
def test_a_truncated_library(good: Path, tmp_path: Path, kept: float) -> None:
    data = good.read_bytes()
    path = tmp_path / "short.so"
    path.write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(errors.AccessFailedError, match="short.so"):
        load_library(path)


def test_a_library_of_something_else() -> None:
    name = ctypes.util.find_library("m")
    found = [path for path in Path("/usr/lib").glob(f"*/{name}")] + [Path("/usr/lib64") / str(name)]
    with pytest.raises(errors.NotSupportedError, match="not a library of kernels or backends"):
        load_library(next(path for path in found if path.exists()))


def test_a_symbol_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(errors.NotSupportedError, match="not a library of kernels or backends"):
        load_library(build(tmp_path, "symbol", "-DNO_TABLE"))


def test_another_version(tmp_path: Path) -> None:
    with pytest.raises(errors.NotSupportedError, match="another version of Rushlight.*build it again"):
        load_library(build(tmp_path, "version", "-DABI"))


@pytest.mark.parametrize(
    "rows, text",
    [
        ("{nullptr,boxed<&nothing>,{}}", "row 0 of .* has no name"),
        ('{"op.out",boxed<&nothing>,{}}', "row 0 of .* has no name"),
        ('{"wrong::op.out",{},{}}', r"row 0 \(wrong::op.out\) of .* has no kernel"),
        (f"{GOOD},{GOOD}", "defines wrong::op.out, which .* already defines"),
    ],
)
def test_wrong_rows(tmp_path: Path, rows: str, text: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=text):
        load_library(build(tmp_path, "rows", rows=rows))
    assert all(library.path.parent != tmp_path for library in loaded_libraries())


def test_a_library_is_loaded_once_and_its_names_are_its_own(good: Path, tmp_path: Path) -> None:
    code = f"""
from rushlight.runtime import load_library, loaded_libraries, kernel_names, errors
first = load_library({str(good)!r})
assert load_library({str(good)!r}) == first and loaded_libraries() == [first]
assert first.operators == ("wrong::op.out",) and "wrong::op.out" in kernel_names()
try:
    load_library({str(shutil.copy(good, tmp_path / "copy.so"))!r})
except errors.InvalidArgumentError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "copy.so' defines wrong::op.out, which" in done.stdout
