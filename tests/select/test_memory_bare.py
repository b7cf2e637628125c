"""`runtime/device/memory_bare.cpp`: the functions of the C library for builds without a C library."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest
from models.selective import ROOT

NAMES = ("memcpy", "memmove", "memset", "memcmp", "memchr", "strchr", "strlen", "strcmp")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Returns the functions, with `bare_` before their names."""
    path = tmp_path_factory.mktemp("bare") / "bare.so"
    source = ROOT / "runtime" / "device" / "memory_bare.cpp"
    names = [f"-D{name}=bare_{name}" for name in NAMES]
    subprocess.run(["g++", "-std=c++17", "-Os", "-shared", "-fPIC", *names, source, "-o", path], check=True)
    return ctypes.CDLL(str(Path(path)))


@pytest.mark.parametrize("to", range(5))
def test_copies_and_fills(library: ctypes.CDLL, to: int) -> None:
    """All sizes up to several blocks, at aligned and at other addresses, change these bytes alone."""
    numbers = bytes(i * 7 % 251 for i in range(128))
    for size in range(70):
        for start in range(5):
            for name in ("memcpy", "memmove"):
                target = ctypes.create_string_buffer(b"\xee" * 128, 128)
                source = ctypes.create_string_buffer(numbers, 128)
                function = getattr(library, f"bare_{name}")
                function(ctypes.byref(target, to), ctypes.byref(source, start), ctypes.c_size_t(size))
                copied = numbers[start : start + size]
                assert target.raw == b"\xee" * to + copied + b"\xee" * (128 - to - size)
            moved = ctypes.create_string_buffer(numbers, 128)
            library.bare_memmove(ctypes.byref(moved, to), ctypes.byref(moved, start), ctypes.c_size_t(size))
            assert moved.raw == numbers[:to] + numbers[start : start + size] + numbers[to + size :]
        filled = ctypes.create_string_buffer(numbers, 128)
        library.bare_memset(ctypes.byref(filled, to), 0x1AB, ctypes.c_size_t(size))
        assert filled.raw == numbers[:to] + b"\xab" * size + numbers[to + size :]
