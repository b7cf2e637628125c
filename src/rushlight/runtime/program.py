"""Runtime, Program and the registries: loading a .pte file and its methods."""

from __future__ import annotations

import errno
import functools
import os
import warnings
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, BinaryIO, Protocol, Union

from rushlight.runtime import _native
from rushlight.runtime._native import Method, MethodMeta
from rushlight.runtime.errors import (
    BackendMissingWarning,
    FileMissingError,
    NotFoundError,
    NotSupportedError,
)

PathLike = Union[str, "os.PathLike[str]"]


class Compiled(Protocol):
    """A compiled program that is not in a file yet: `CompiledProgram`, `ExecutorchProgramManager`."""

    @property
    def buffer(self) -> bytes:
        """The bytes of the .pte file."""


ProgramSource = Union[bytes, bytearray, memoryview, BinaryIO, str, "os.PathLike[str]", Compiled]
BackendOptions = Mapping[str, Mapping[str, bool | int | str]]
"""Values by name of the option, by backend id."""
DataSource = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]], bytes, memoryview]


class Verification(Enum):
    """How much of a program is checked when it is loaded. Here all of it always is."""

    Minimal = 0
    InternalConsistency = 1


def load_native(source: ProgramSource, data: DataSource | None, threads: int | None) -> _native.Program:
    """Loads a program from a path, a buffer (used in place), a file object or a compiled program.

    Warns with BackendMissingWarning of each backend that is not here, and says what would provide it.

    Raises:
        FileMissingError: there is no such file; it is a FileNotFoundError.
        InvalidProgramError: the bytes are no valid program.
        TypeError: `source` is of another type.
    """
    program = _load_native(source, _data(data), threads)
    for backend, method, provision in program.missing_backends():
        message = f"method {method!r} needs {backend}, which is missing here: {provision}"
        warnings.warn(message, BackendMissingWarning, stacklevel=3)
    return program


def _load_native(source: ProgramSource, data: Any, threads: int | None) -> _native.Program:
    if isinstance(source, (str, os.PathLike)):
        return _native.load_file(_existing(source), data, threads)
    if isinstance(source, bytearray):
        source = bytes(source)  # its owner may change it
    if isinstance(source, (bytes, memoryview)):
        return _native.load_buffer(source, data, threads)
    held = contents(source)
    if held is not None:
        return _native.load_buffer(held, data, threads)
    raise TypeError(
        "a program is given as bytes, a path, an open file object or a compiled program, "
        f"not as {type(source).__name__}"
    )


def contents(source: Any) -> bytes | memoryview | None:
    """The bytes of a file object or of a compiled program; None for what is neither."""
    if hasattr(source, "read"):
        read: bytes = source.read()
        return read
    compiled = getattr(source, "buffer", None)
    return compiled if isinstance(compiled, bytes) else None


def _data(data: DataSource | None) -> list[str] | bytes | memoryview:
    if data is None:
        return []
    if isinstance(data, (str, os.PathLike)):
        return [_existing(data)]
    if isinstance(data, (bytes, memoryview)):
        return data
    return [_existing(path) for path in data]


def _existing(path: PathLike) -> str:
    name = os.fspath(path)
    if not os.path.exists(name):
        error = FileMissingError(f"{os.strerror(errno.ENOENT)}: {name!r}")
        error.errno, error.filename = errno.ENOENT, name
        raise error
    return name


class Program:
    """A program, and the methods that have been loaded from it.

    Methods keep the program and its bytes alive.
    """

    def __init__(self, program: _native.Program, backend_options: BackendOptions | None = None) -> None:
        self._program = program
        self._backend_options = {id: dict(values) for id, values in (backend_options or {}).items()}
        self._methods: dict[str, Method] = {}

    @property
    def method_names(self) -> set[str]:
        """Names of the program's methods."""
        return set(self._program.method_names())

    def load_method(self, name: str, *, backend_options: BackendOptions | None = None) -> Method:
        """The method of that name, loaded the first time.

        Args:
            backend_options: what the method's backends are told, beside what the program was loaded with:
                {"XnnpackBackend": {"own_kernels": True}}. A method loaded with options is loaded anew each
                time.

        Raises:
            NotFoundError: the program has no such method, or needs a backend that is not here; it is a
                KeyError.
            OperatorMissingError: it needs operators that this build does not have.
            NotSupportedError: a backend has no such option.
            InvalidProgramError: its instructions do not suit their kernels.
        """
        if backend_options:
            options = {id: dict(values) for id, values in self._backend_options.items()}
            for id, values in backend_options.items():
                options.setdefault(id, {}).update(values)
            return Method(self._program, name, options)
        method = self._methods.get(name)
        if method is None:
            method = self._methods[name] = Method(self._program, name, self._backend_options)
        return method

    def load_timed_method(self, name: str) -> Method:
        """A method of its own that tells, by `timings()`, how long each instruction of its last run took.

        Raises as `load_method` does.
        """
        return Method(self._program, name, is_timed=True)

    def metadata(self, method_name: str) -> MethodMeta:
        """What the program says about a method, which need not be loaded.

        Raises:
            NotFoundError: the program has no such method.
        """
        return self._program.method_meta(method_name)

    def named_data(self) -> list[str]:
        """Keys of the blobs that the program stores by name."""
        return self._program.named_data()

    def write_etdump_result_to_file(self, etdump_path: str, debug_buffer_path: str | None = None) -> None:
        """Writes the trace of the program's runs.

        Raises:
            NotFoundError: the program was not loaded with `enable_etdump=True`.
        """
        raise NotFoundError("there is no event trace: the program was loaded without enable_etdump")

    def __repr__(self) -> str:
        return f"Program({', '.join(self._program.method_names())})"


class BackendRegistry:
    """The backends that this build of the runtime has."""

    @property
    def registered_backend_names(self) -> list[str]:
        """Names of all backends."""
        return _native.backend_names()

    def is_available(self, backend_name: str) -> bool:
        """Whether the backend is here and can run on this machine."""
        return _native.is_backend_available(backend_name)

    def set_option(self, backend_name: str, key: str, value: bool | int | str) -> None:
        """Sets an option of a backend for methods that are loaded from then on.

        Raises:
            NotFoundError: there is no such backend.
            NotSupportedError: it has no such option.
        """
        _native.set_backend_option(backend_name, key, value)

    def get_option(self, backend_name: str, key: str) -> bool | int | str:
        """The value of a backend's option. Raises as `set_option`."""
        return _native.get_backend_option(backend_name, key)


class OperatorRegistry:
    """The operators that this build of the runtime has kernels for."""

    @property
    def operator_names(self) -> set[str]:
        """Names with overload, such as "aten::add.out"."""
        return set(_native.kernel_names())


class Runtime:
    """Loads programs. There is one, `Runtime.get()`.

    Attributes:
        backend_registry: which backends there are.
        operator_registry: which operators there are kernels for.
    """

    def __init__(self) -> None:
        self.backend_registry = BackendRegistry()
        self.operator_registry = OperatorRegistry()

    @staticmethod
    @functools.lru_cache(maxsize=1)
    def get() -> Runtime:
        """The runtime of this process."""
        return Runtime()

    def load_program(
        self,
        data: ProgramSource,
        *,
        verification: Verification = Verification.InternalConsistency,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        data_path: DataSource | None = None,
        threads: int | None = None,
        backend_options: BackendOptions | None = None,
    ) -> Program:
        """Loads a program.

        Args:
            data: a path, which is mapped; bytes, which are used in place; a file object; or a compiled
                program.
            verification: all of the program is checked whatever this says.
            enable_etdump: record an event trace.
            debug_buffer_size: bytes for intermediate values in the trace.
            data_path: .ptd files with the data that the program keeps outside, or the bytes of one.
            threads: how many threads a call may use. By default those of the process's pool:
                RUSHLIGHT_NUM_THREADS, or as many as the process has CPUs.
            backend_options: what backends are told when methods are loaded, as for `Program.load_method`.

        Raises:
            FileMissingError: there is no such file; it is a FileNotFoundError.
            InvalidProgramError: truncated, damaged, or no .pte file.
            InvalidExternalDataError: the same of a .ptd file.
        """
        if enable_etdump:
            raise NotSupportedError("this build of the runtime records no event traces")
        return Program(load_native(data, data_path, threads), backend_options)
