"""Loads .pte files and their methods: `Runtime`, `Program` and the registries of operators and backends."""

from __future__ import annotations

import contextlib
import errno
import functools
import operator
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, BinaryIO, Protocol, SupportsIndex, Union

from rushlight.files import write_file
from rushlight.runtime import _native
from rushlight.runtime._native import Method, MethodMeta
from rushlight.runtime.errors import (
    BackendMissingWarning,
    FileMissingError,
    InvalidArgumentError,
    InvalidProgramError,
    InvalidTypeError,
)

PathLike = Union[str, "os.PathLike[str]"]

ETDUMP_BUFFER_SIZE = 64 << 20
"""The default size of the event buffer in bytes. The operating system allocates only the used part."""


MAX_INSTRUCTIONS = 1 << 30
"""The default limit of the number of instructions of a call."""


class Compiled(Protocol):
    """A compiled program that is not in a file yet: `CompiledProgram` or `ExecutorchProgramManager`."""

    @property
    def buffer(self) -> bytes:
        """The bytes of the .pte file."""


ProgramSource = Union[bytes, bytearray, memoryview, BinaryIO, str, "os.PathLike[str]", Compiled]
BackendOptions = Mapping[str, Mapping[str, bool | int | str]]
"""For each backend id, the values of the options by name."""
DataSource = Union[
    str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]], bytes, bytearray, memoryview
]


class Verification(Enum):
    """Which checks of a program run at load. Rushlight always runs all checks."""

    Minimal = 0
    InternalConsistency = 1

    def __int__(self) -> int:
        return int(self.value)


def load_native(source: ProgramSource, data: DataSource | None, threads: int | None) -> _native.Program:
    """Loads a program.

    Warns with BackendMissingWarning about each backend that the program needs and this runtime does not have.

    Args:
        source: a path, bytes (used without a copy), a file object or a compiled program.
        data: the .ptd files, or the bytes of one such file.
        threads: the number of threads that a call may use; None means the default.

    Raises:
        FileMissingError: a file does not exist. The error is also a FileNotFoundError.
        InvalidProgramError: the bytes are not a valid program.
        TypeError: `source` has another type.
    """
    check_number("threads", threads, 1)
    program = _load_native(source, _data(data), threads)
    for backend, method, provision in program.missing_backends():
        message = f"method {method!r} needs {backend}, which this runtime does not have: {provision}"
        warnings.warn(message, BackendMissingWarning, stacklevel=3)
    return program


def _load_native(source: ProgramSource, data: Any, threads: int | None) -> _native.Program:
    if isinstance(source, (str, os.PathLike)):
        path = _existing(source)
        if os.path.isfile(path):
            with contextlib.suppress(OSError), open(path, "rb") as file:
                _refuse_bundled(file.read(8))
        return _native.load_file(path, data, threads)
    if isinstance(source, bytearray):
        source = bytes(source)  # a copy, because the caller may change the bytearray
    if isinstance(source, (bytes, memoryview)):
        _refuse_bundled(source[:8])
        return _native.load_buffer(source, data, threads)
    found = contents(source)
    if found is not None:
        _refuse_bundled(found[:8])
        return _native.load_buffer(found, data, threads)
    raise TypeError(
        "a program must be bytes, a path, an open file object or a compiled program, "
        f"not {type(source).__name__}"
    )


def _refuse_bundled(start: bytes | memoryview) -> None:
    """Raises InvalidProgramError if the first bytes of a program are those of a bundled program."""
    if start[4:8] == b"BP08":
        raise InvalidProgramError(
            "this is a bundled program, not a .pte program: rushlight.runtime.BundledModule runs its test "
            "cases"
        )


def check_number(name: str, value: object, least: int) -> None:
    """Checks an optional number of a caller.

    Args:
        name: the name of the number in messages.
        value: the number; None means the default.
        least: the smallest valid number.

    Raises:
        InvalidTypeError: the value is not an integer.
        InvalidArgumentError: the number is too small.
    """
    if value is None:
        return
    if not isinstance(value, SupportsIndex):
        raise InvalidTypeError(f"{name} must be an integer or None, not {type(value).__name__}")
    if operator.index(value) < least:
        raise InvalidArgumentError(f"{name} must be at least {least}, not {value}")


def set_limits(program: _native.Program, max_instructions: int | None, max_memory: int | None) -> None:
    """Sets the limits of the methods of a program. See `Runtime.load_program`.

    Args:
        program: the native program.
        max_instructions: the largest number of instructions of a call; None means no limit.
        max_memory: the largest number of bytes of a method; None means no limit.

    Raises:
        InvalidTypeError: a limit is not an integer.
        InvalidArgumentError: a limit is negative.
    """
    check_number("max_instructions", max_instructions, 0)
    check_number("max_memory", max_memory, 0)
    program.set_limits(max_instructions, max_memory)


def contents(source: object) -> bytes | memoryview | None:
    """Returns the bytes of a program; None if the object is neither a file object nor a compiled program.

    Args:
        source: a file object that is open for reading, a compiled program or another object.

    Raises:
        TypeError: the file object is open in text mode.
    """
    if hasattr(source, "read"):
        read: object = source.read()
        if not isinstance(read, (bytes, bytearray, memoryview)):
            raise TypeError(f"a file object must be open in binary mode: it reads {type(read).__name__}")
        return bytes(read) if isinstance(read, bytearray) else read
    compiled = getattr(source, "buffer", None)
    return compiled if isinstance(compiled, bytes) else None


def _data(data: DataSource | None) -> list[str] | bytes | memoryview:
    if data is None:
        return []
    if isinstance(data, (str, os.PathLike)):
        return [_existing(data)]
    if isinstance(data, bytearray):
        return bytes(data)  # a copy, because the caller may change the bytearray
    if isinstance(data, (bytes, memoryview)):
        return data
    if not isinstance(data, Iterable):
        raise TypeError(f"external data must be paths or the bytes of one file, not {type(data).__name__}")
    return [_existing(path) for path in data]


def _existing(path: PathLike) -> str:
    name = os.fspath(path)
    if not os.path.exists(name):
        error = FileMissingError(f"{os.strerror(errno.ENOENT)}: {name!r}")
        error.errno, error.filename = errno.ENOENT, name
        raise error
    return name


def read_etdump(program: _native.Program) -> tuple[bytes, bytes]:
    """Returns the event trace of a native program. See `Program.etdump`.

    Warns with RuntimeWarning if events did not fit in the buffer.

    Args:
        program: the native program.

    Returns:
        The bytes of the ETDump, and the elements of the recorded tensors.

    Raises:
        NotFoundError: the program was not loaded with `enable_etdump=True`.
        OutOfMemoryError: the buffer is too small for an empty dump.
    """
    dump, debug, dropped = program.etdump()
    if dropped:
        message = (
            f"{dropped} events did not fit in the event trace; increase etdump_buffer_size, or "
            "debug_buffer_size if tensors are recorded"
        )
        warnings.warn(message, RuntimeWarning, 3)
    return dump, debug


def trace_sizes(
    enable_etdump: bool, debug_buffer_size: int, etdump_buffer_size: int = ETDUMP_BUFFER_SIZE
) -> tuple[int, int] | None:
    """Returns the sizes of the buffers of an event trace.

    Args:
        enable_etdump: record an event trace.
        debug_buffer_size: the size in bytes of the buffer for recorded tensors.
        etdump_buffer_size: the size in bytes of the buffer for events.

    Returns:
        The sizes of the buffers for events and for recorded tensors in bytes; None without an event trace.

    Raises:
        ValueError: a size is negative, or it is given, but no event trace is recorded.
    """
    check_number("debug_buffer_size", debug_buffer_size, 0)
    check_number("etdump_buffer_size", etdump_buffer_size, 0)
    if enable_etdump:
        return etdump_buffer_size, debug_buffer_size
    for name, given, default in (
        ("debug_buffer_size", debug_buffer_size, 0),
        ("etdump_buffer_size", etdump_buffer_size, ETDUMP_BUFFER_SIZE),
    ):
        if given != default:
            raise ValueError(f"{name}={given} needs an event trace: add enable_etdump=True")
    return None


def write_etdump(program: _native.Program, etdump_path: PathLike, debug_buffer_path: PathLike | None) -> None:
    """Writes the event trace of a native program. See `Program.write_etdump_result_to_file`.

    Args:
        program: the native program.
        etdump_path: the path of the ETDump.
        debug_buffer_path: the path of the file with the elements of recorded tensors; None writes no such
            file.

    Raises:
        NotFoundError: the program was not loaded with `enable_etdump=True`.
        OutOfMemoryError: the buffer is too small for an empty dump.
        OSError: a file cannot be written.
    """
    dump, debug = read_etdump(program)
    write_file(etdump_path, dump)
    if debug_buffer_path is not None:
        write_file(debug_buffer_path, debug)


class Program:
    """A program and its loaded methods. A method keeps the program and its bytes alive.

    Args:
        program: the native program.
        backend_options: options of backends for all methods: a dict from backend name to a dict of options.
    """

    def __init__(self, program: _native.Program, backend_options: BackendOptions | None = None) -> None:
        self._program = program
        self._backend_options = {id: dict(values) for id, values in (backend_options or {}).items()}
        self._methods: dict[str, Method] = {}

    @property
    def method_names(self) -> set[str]:
        """The names of the program's methods."""
        return set(self._program.method_names())

    def load_method(self, name: str, *, backend_options: BackendOptions | None = None) -> Method:
        """Returns a method, and loads it at the first call.

        Args:
            name: the name of the method.
            backend_options: options of the method's backends, in addition to those of the program, such as
                {"XnnpackBackend": {"own_kernels": True}}. With options, each call loads the method again.

        Raises:
            NotFoundError: the program has no such method, or needs a backend that does not exist. The error
                is also a KeyError.
            OperatorMissingError: the method needs operators that this runtime does not have.
            NotSupportedError: a backend has no such option.
            InvalidArgumentError: `backend_options` names a backend that does not exist.
            InvalidProgramError: the arguments of an instruction do not fit its kernel.
        """
        if backend_options:
            return Method(self._program, name, self._options(backend_options))
        method = self._methods.get(name)
        if method is None:
            method = self._methods[name] = Method(self._program, name, self._options({}))
        return method

    def _options(self, others: BackendOptions) -> dict[str, dict[str, bool | int | str]]:
        """Returns the options of the program and other options, by backend."""
        options: dict[str, dict[str, bool | int | str]] = {}
        for name, values in [*self._backend_options.items(), *others.items()]:
            if name not in (names := _native.backend_names()):
                raise InvalidArgumentError(
                    f"backend_options: there is no backend {name!r}; the backends are {', '.join(names)}"
                )
            options.setdefault(name, {}).update(values)
        return options

    def load_timed_method(self, name: str) -> Method:
        """Loads a method whose `timings()` returns the time of each instruction of its last run.

        Args:
            name: the name of the method.

        Raises:
            RushlightError: see `load_method`.
        """
        return Method(self._program, name, self._options({}), is_timed=True)

    def metadata(self, method_name: str) -> MethodMeta:
        """Returns the metadata of a method, without loading the method.

        Args:
            method_name: the name of the method.

        Returns:
            The names, types and sizes of the inputs, the outputs and the planned memory.

        Raises:
            NotFoundError: the program has no such method.
        """
        return self._program.method_meta(method_name)

    def named_data(self) -> list[str]:
        """Returns the names of the program's named data."""
        return self._program.named_data()

    def etdump(self) -> tuple[bytes, bytes]:
        """Returns the events that were recorded so far: an ETDump, and the elements of recorded tensors.

        Warns with RuntimeWarning if events did not fit in the buffer.

        Raises:
            NotFoundError: the program was not loaded with `enable_etdump=True`.
            OutOfMemoryError: the buffer is too small for an empty dump.
        """
        return read_etdump(self._program)

    def write_etdump_result_to_file(
        self, etdump_path: PathLike, debug_buffer_path: PathLike | None = None
    ) -> None:
        """Writes the events that were recorded so far.

        Warns with RuntimeWarning if events did not fit in the buffer.

        Args:
            etdump_path: the path of the ETDump.
            debug_buffer_path: the path of the file with the elements of recorded tensors. Tensors are
                recorded if the program was loaded with a `debug_buffer_size`.

        Raises:
            NotFoundError: the program was not loaded with `enable_etdump=True`.
            OutOfMemoryError: the buffer is too small for an empty dump.
            OSError: a file cannot be written.
        """
        write_etdump(self._program, etdump_path, debug_buffer_path)

    def __repr__(self) -> str:
        return f"Program({', '.join(self._program.method_names())})"


class BackendRegistry:
    """The backends of this runtime."""

    @property
    def registered_backend_names(self) -> list[str]:
        """The names of all backends."""
        return _native.backend_names()

    def is_available(self, backend_name: str) -> bool:
        """Returns whether a backend exists and can run on this machine.

        Args:
            backend_name: the name of the backend.

        Returns:
            False if the runtime has no such backend, or if the backend needs a library or a processor that is
            missing.
        """
        return _native.is_backend_available(backend_name)

    def set_option(self, backend_name: str, key: str, value: bool | int | str) -> None:
        """Sets an option of a backend for all methods that are loaded later.

        Args:
            backend_name: the name of the backend.
            key: the name of the option.
            value: the value of the option.

        Raises:
            NotFoundError: there is no such backend.
            NotSupportedError: the backend has no such option.
        """
        _native.set_backend_option(backend_name, key, value)

    def get_option(self, backend_name: str, key: str) -> bool | int | str:
        """Returns the value of a backend's option.

        Args:
            backend_name: the name of the backend.
            key: the name of the option.

        Returns:
            The value for methods that are loaded later.

        Raises:
            NotFoundError: there is no such backend.
            NotSupportedError: the backend has no such option.
        """
        return _native.get_backend_option(backend_name, key)


class OperatorRegistry:
    """The operators for which this runtime has kernels."""

    @property
    def operator_names(self) -> set[str]:
        """The names of the operators with their overloads, such as "aten::add.out"."""
        return set(_native.kernel_names())


class Runtime:
    """Loads programs. `Runtime.get()` returns the only runtime of the process.

    Attributes:
        backend_registry: the backends.
        operator_registry: the operators that have kernels.
    """

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
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        data_path: DataSource | None = None,
        threads: int | None = None,
        backend_options: BackendOptions | None = None,
        etdump_buffer_size: int = ETDUMP_BUFFER_SIZE,
        max_instructions: int | None = MAX_INSTRUCTIONS,
        max_memory: int | None = None,
    ) -> Program:
        """Loads a program.

        Args:
            data: a path (the file is mapped), bytes (used without a copy), a file object, or a compiled
                program.
            verification: the least that is checked. The whole program is checked at each level.
            enable_etdump: record the events of loads and runs. `write_etdump_result_to_file` writes them.
            debug_buffer_size: the size in bytes of the buffer for the outputs of instructions in the event
                trace; 0 does not record outputs.
            data_path: the .ptd files with the external data of the program, or the bytes of one such file.
            threads: the number of threads that a call may use. The default is RUSHLIGHT_NUM_THREADS, or the
                number of CPUs that the process may use.
            backend_options: options of backends for all methods: a dict from backend name to a dict of
                options.
            etdump_buffer_size: the size in bytes of the buffer for events. Events that do not fit are dropped
                and counted.
            max_instructions: the largest number of instructions of a call; None means no limit. The call of
                a delegate is one instruction. A call that reaches the limit raises LimitError.
            max_memory: the largest number of bytes of planned memory, structures, workspaces, scratch memory
                and outputs of a method; None means no limit. A method that needs more raises LimitError.

        Returns:
            The program.

        Raises:
            FileMissingError: a file does not exist. The error is also a FileNotFoundError.
            InvalidProgramError: the program is truncated, damaged, or not a .pte file.
            InvalidExternalDataError: a .ptd file is truncated, damaged, or not a .ptd file.
            ValueError: a buffer size is given without `enable_etdump=True`.
        """
        trace = trace_sizes(enable_etdump, debug_buffer_size, etdump_buffer_size)
        program = load_native(data, data_path, threads)
        set_limits(program, max_instructions, max_memory)
        if trace is not None:
            program.enable_etdump(*trace)
        return Program(program, backend_options)
