"""Compiles programs in C with strict warnings, and compares their results with the portable kernels."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.emit.interpreter import DTYPES, Interpreter

from rushlight.aot_c.program import CProgram, c_program
from rushlight.aot_c.values import Number, TensorValue
from rushlight.format.pte import read_pte
from rushlight.runtime import call_kernel, kernel_names

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-pedantic", "-Werror")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
IS_WIDE = bool(os.environ.get("RUSHLIGHT_TARGETS"))
needs_targets = pytest.mark.skipif(
    not IS_WIDE, reason="`make targets` runs this test; its builds take minutes"
)
_COUNTER = itertools.count()
_C_NUMBERS = {"int": ctypes.c_int64, "double": ctypes.c_double, "bool": ctypes.c_bool}


@cache
def compilers() -> dict[str, tuple[str, ...]]:
    """Returns the C compilers: GCC and Clang, or the Clang of ziglang."""
    found: dict[str, tuple[str, ...]] = {"gcc": ("gcc",)} if shutil.which("gcc") else {}
    if shutil.which("clang"):
        return {**found, "clang": ("clang",)}
    if importlib.util.find_spec("ziglang") is None:
        return found
    return {**found, "clang": (sys.executable, "-m", "ziglang", "cc")}


class PortableInterpreter(Interpreter):
    """Runs a program instruction by instruction, on the portable and quantized kernels only."""

    def _torch_kernel(self, name: str, overload: str, args: list[int]) -> None:
        full = f"{name}.{overload}" if overload else name
        library = "quantized" if full in _names("quantized") else "portable"
        if full not in _names(library) or full.startswith(("aten::_local_scalar_dense", "aten::sym_")):
            super()._torch_kernel(name, overload, args)
            return
        call_kernel(full, [self._get(index) for index in args[:-1]], library)


@cache
def _names(library: str) -> frozenset[str]:
    return frozenset(kernel_names(library))


def write(program: CProgram, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in program.files.items():
        (folder / name).write_text(text)
    return folder


def compile_library(
    program: CProgram, name: str, folder: Path, compiler: str, flags: Sequence[str] = ("-O2",)
) -> Path:
    """Compiles a program to a shared library.

    Each library needs another path: a loaded path is not read again.
    """
    write(program, folder)
    path = folder / f"{name}_{compiler}_{next(_COUNTER)}.so"
    command = [
        *compilers()[compiler],
        *STRICT,
        *flags,
        "-fPIC",
        "-shared",
        folder / f"{name}.c",
        "-o",
        path,
        "-lm",
    ]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:6000]
    return path


class Library:
    """A compiled program. ctypes calls it."""

    def __init__(self, path: Path, program: CProgram) -> None:
        self.library = ctypes.CDLL(str(path))
        self.program = program

    def __call__(self, method: str, *inputs: Any) -> list[Any]:
        """Runs a method.

        Arguments and results are flat lists of tensors and numbers, as in PortableInterpreter.
        """
        text = self.program.methods[method]
        arguments: list[Any] = []
        kept = []
        for end, given in zip(text.inputs, inputs, strict=True):
            if end.name is None:
                continue
            if isinstance(end.value, TensorValue):
                memory = _memory_of(given, end.value)
                kept.append(memory)
                arguments.append(ctypes.c_void_p(memory.ctypes.data))
            else:
                assert isinstance(end.value, Number)
                arguments.append(_C_NUMBERS[end.value.kind](given))
        outputs: list[Any] = []
        for end in text.outputs:
            if end.name is None:
                outputs.append(None)
            elif isinstance(end.value, TensorValue):
                memory = np.full(max(end.value.numel * end.value.item_size, 1), 0xAB, np.uint8)
                outputs.append((memory, end.value))
                arguments.append(ctypes.c_void_p(memory.ctypes.data))
            else:
                assert isinstance(end.value, Number)
                number: Any = _C_NUMBERS[end.value.kind](0)
                outputs.append(number)
                arguments.append(ctypes.byref(number))
        code = getattr(self.library, text.function)(*arguments)
        if code != 0:
            raise RuntimeError(f"{text.function} returned {code}")
        return [_result(output) for output in outputs]


def _memory_of(given: torch.Tensor, value: TensorValue) -> np.ndarray[Any, Any]:
    """Returns the bytes of a tensor in the dim order of the program."""
    laid = given.detach().permute(value.dim_order)
    flat = torch.empty(laid.shape, dtype=laid.dtype).copy_(laid).flatten()  # has no strides of `given`
    memory = flat.view(torch.uint8) if flat.numel() else torch.empty(1, dtype=torch.uint8)
    return memory.numpy()


def _result(output: Any) -> Any:
    if output is None:
        return None
    if not isinstance(output, tuple):
        return output.value
    memory, value = output
    dtype = DTYPES[value.dtype]
    if value.numel == 0:
        return torch.empty(value.sizes, dtype=dtype)
    flat = torch.from_numpy(memory[: value.numel * value.item_size]).view(dtype)
    return flat.as_strided(value.sizes, value.strides)


def bits(value: Any) -> Any:
    """Returns the bits of the elements for a comparison. All NaNs have the same bits."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().contiguous()
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    if value.is_floating_point():
        value = torch.where(value.isnan(), torch.full_like(value, torch.nan), value)
    return value.flatten().view(torch.uint8).tolist() if value.numel() else []


def assert_same_bits(got: Sequence[Any], wanted: Sequence[Any], what: object) -> None:
    assert len(got) == len(wanted), what
    for position, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if b is None:
            continue
        assert bits(a) == bits(b), f"{what}: output {position}\n{a}\n{b}"


def check(
    data: bytes,
    runs: Sequence[Sequence[Any]],
    folder: Path,
    method: str = "forward",
    names: Sequence[str] = (),
    flags: Sequence[str] = ("-O2",),
    name: str = "model",
) -> CProgram:
    """Requires that a program in C computes the same bits as the portable kernels in every run.

    `names` are names of compilers(), by default all.
    """
    program = c_program(data, name)
    expected = PortableInterpreter(read_pte(data), method)
    wanted = [expected(*run) for run in runs]
    for compiler in names or compilers():
        library = Library(compile_library(program, name, folder, compiler, flags), program)
        for i, run in enumerate(runs):
            assert_same_bits(library(method, *run), wanted[i], f"{compiler}, run {i}")
    return program
