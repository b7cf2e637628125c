"""The classes `Runtime` and `Program` of ATen mode."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch

from rushlight.format.ptd import read_ptd
from rushlight.format.pte import PTEFile, read_pte
from rushlight.runtime import _native
from rushlight.runtime._native import MethodMeta
from rushlight.runtime.aten.events import Hook
from rushlight.runtime.aten.method import Method
from rushlight.runtime.errors import NotFoundError
from rushlight.runtime.module import Module
from rushlight.runtime.program import (
    BackendRegistry,
    DataSource,
    ProgramSource,
    Verification,
    contents,
    load_native,
)


class OperatorRegistry:
    """The operators of torch."""

    @property
    def operator_names(self) -> set[str]:
        """The names of the operators with their overloads, such as "aten::add.out"."""
        return set(torch._C._dispatch_get_all_op_names())


class Program:
    """A program whose methods run on torch's kernels."""

    def __init__(
        self, native: _native.Program, file: PTEFile, external: Mapping[str, Any], data: Any
    ) -> None:
        self.native = native
        self._file = file
        self._external = external
        self._data = data
        self._methods: dict[str, Method] = {}

    @property
    def method_names(self) -> set[str]:
        """The names of the program's methods."""
        return set(self.native.method_names())

    def load_method(
        self,
        name: str,
        hook: Hook | None = None,
        lowered: Sequence[Callable[..., object]] | None = None,
    ) -> Method:
        """Returns a method, and loads it at the first call.

        Args:
            name: the name of the method.
            hook: the hook of the method; None does not change the hook.
            lowered: a callable for each delegate, in the order of the plan: its lowered module
                (`rushlight.delegate.lowered.get_lowered_backend_modules`), or a function with one result. By
                default, the native backends run the delegates. With `lowered`, each call loads the method
                again.

        Raises:
            NotFoundError: the program has no such method, or it needs a backend that does not exist.
            OperatorMissingError: torch has no such operator.
            InvalidArgumentError: `lowered` has a wrong number of callables.
        """
        method = self._methods.get(name)
        if method is None or lowered is not None:
            method = self._methods[name] = self.new_method(name, lowered)
        if hook is not None:
            method.hook = hook
        return method

    def new_method(self, name: str, lowered: Sequence[Callable[..., object]] | None = None) -> Method:
        """Loads a method with separate state. Arguments and errors are the same as for `load_method`."""
        metadata = self.metadata(name)
        (plan,) = (plan for plan in self._file.program.execution_plan if plan.name == name)
        return Method(self._file, plan, metadata, self._external, self._data, lowered=lowered)

    def metadata(self, method_name: str) -> MethodMeta:
        """Returns the metadata of a method: names, types and sizes of inputs, outputs and planned memory.

        Raises:
            NotFoundError: the program has no such method.
        """
        return self.native.method_meta(method_name)

    def named_data(self) -> list[str]:
        """Returns the names of the program's named data."""
        return self.native.named_data()

    def write_etdump_result_to_file(self, etdump_path: str, debug_buffer_path: str | None = None) -> None:
        """Raises NotFoundError, because ATen mode does not record event traces. Use a hook instead."""
        raise NotFoundError("there is no event trace, because ATen mode does not record events; use a hook")

    def __repr__(self) -> str:
        return f"Program({', '.join(self.native.method_names())})"


class Runtime:
    """Loads programs that run on torch's kernels. `Runtime.get()` returns the only object of this class."""

    def __init__(self) -> None:
        self.backend_registry = BackendRegistry()
        self.operator_registry = OperatorRegistry()

    @staticmethod
    @functools.lru_cache(maxsize=1)
    def get() -> Runtime:
        """Returns the runtime of this process."""
        return Runtime()

    def load_program(
        self,
        data: ProgramSource,
        *,
        verification: Verification = Verification.InternalConsistency,
        data_path: DataSource | None = None,
        threads: int | None = None,
    ) -> Program:
        """Loads a program, with the checks of the native runtime.

        Args:
            data: a path, bytes, a file object, or a compiled program.
            verification: the least that is checked. The whole program is checked at each level.
            data_path: the .ptd files with the external data of the program, or the bytes of one such file.
            threads: the number of threads of delegates. torch has its own setting.

        Returns:
            The program.

        Raises:
            RushlightError: see `rushlight.runtime.Runtime.load_program`.
        """
        contents = _contents(data)
        native = load_native(contents, data_path, threads)
        external: dict[str, object] = {}
        for source in _sources(data_path):
            for key, entry in read_ptd(source).items():
                external.setdefault(key, entry)
        return Program(native, read_pte(contents), external, _native_data(data_path))


def load(source: ProgramSource, *, data_path: DataSource | None = None) -> Module:
    """Loads a .pte file in ATen mode as a module with the signature of the model, like `rushlight.load`.

    Args:
        source: a path, bytes, a file object, or a compiled program.
        data_path: the .ptd files with the external data of the program, or the bytes of one such file.
    """
    # Module calls only functions that the programs and methods of both modes have.
    return Module(cast(Any, Runtime.get().load_program(source, data_path=data_path)))


def _contents(data: ProgramSource) -> bytes | memoryview:
    if isinstance(data, (str, os.PathLike)):
        load_native(data, None, None)  # raises the native runtime's error if the file is missing
        with open(data, "rb") as file:
            return file.read()
    if isinstance(data, (bytes, memoryview)):
        return data
    found = bytes(data) if isinstance(data, bytearray) else contents(data)
    if found is None:
        raise TypeError(f"a program must be bytes, a path or a file object, not {type(data).__name__}")
    return found


def _sources(data: DataSource | None) -> list[bytes | memoryview]:
    if data is None:
        return []
    if isinstance(data, (bytes, bytearray, memoryview)):
        return [bytes(data) if isinstance(data, bytearray) else data]
    found: list[bytes | memoryview] = []
    for path in [data] if isinstance(data, (str, os.PathLike)) else data:
        with open(path, "rb") as file:
            found.append(file.read())
    return found


def _native_data(data: DataSource | None) -> Any:
    if data is None:
        return []
    if isinstance(data, (str, os.PathLike)):
        return [os.fspath(data)]
    return data if isinstance(data, (bytes, bytearray, memoryview)) else [os.fspath(path) for path in data]
