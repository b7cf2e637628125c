"""Loads a program as a callable with the signature of the model."""

from __future__ import annotations

from typing import Any

from rushlight.runtime._native import Method, MethodMeta
from rushlight.runtime.errors import InvalidArgumentError, NotFoundError
from rushlight.runtime.program import (
    ETDUMP_BUFFER_SIZE,
    MAX_INSTRUCTIONS,
    BackendOptions,
    DataSource,
    PathLike,
    Program,
    ProgramSource,
    contents,
    load_native,
    set_limits,
    trace_sizes,
)
from rushlight.runtime.pytree import LEAF, Tree, parse_names, parse_tree


class ModuleMethod:
    """A method with the signature of the model.

    Arguments and results may be nested tuples, lists and dicts of tensors.

    Args:
        method: the loaded method, whose inputs and outputs are flat lists.
    """

    def __init__(self, method: Method) -> None:
        self._method = method
        meta = method.metadata
        self.__name__ = meta.name()
        inputs, outputs = parse_tree(meta.input_spec()), parse_tree(meta.output_spec())
        self._positional, self._keywords = _signature(inputs, meta)
        names = parse_names(meta.input_spec())
        self._names = names if len(names) == len(self._positional) else ()
        if outputs is not None and outputs.count() != meta.num_outputs():
            outputs = None
        if outputs is None and meta.num_outputs() == 1:
            outputs = LEAF
        self._outputs = outputs
        self._is_plain = not self._keywords and all(tree.is_leaf for tree in self._positional)
        self._has_single_output = outputs is not None and outputs.is_leaf
        paths = [path for i, tree in enumerate(self._positional) for path in tree.paths(self._label(i))]
        paths += [path for key, tree in self._keywords.items() for path in tree.paths(f"argument {key!r}")]
        method.input_names = paths

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Runs the method.

        Args:
            args: the positional arguments of the model. Tensors are numpy arrays, torch tensors or other
                objects that support DLPack.
            kwargs: arguments by name. An argument that was a keyword argument when the model was exported
                must be passed by name. Positional arguments can be passed by name if the program contains
                their names. Programs that ExecuTorch compiled do not contain these names.

        Returns:
            The outputs, in the structure that the model returns. Tensors are torch tensors if an input is a
            torch tensor, else numpy arrays. They own their memory.

        Raises:
            InvalidArgumentError: an argument is missing or unexpected, or has another structure, shape or
                dtype.
            InvalidTypeError: an argument is not a tensor.
        """
        if self._is_plain and len(args) == len(self._positional) and not kwargs:
            outputs = self._method.execute(args)
        else:
            outputs = self._method.execute(self._flatten(args, kwargs))
        if self._has_single_output:
            return outputs[0]
        return outputs if self._outputs is None else self._outputs.unflatten(iter(outputs))

    @property
    def metadata(self) -> MethodMeta:
        """The metadata of the method: names, types and sizes of inputs, outputs and planned memory."""
        return self._method.metadata

    def _flatten(self, args: tuple[object, ...], kwargs: dict[str, object]) -> list[object]:
        name = self.__name__
        args, kwargs = self._by_position(args, kwargs)
        unknown = [key for key in kwargs if key not in self._keywords]
        if len(args) != len(self._positional) and not unknown:
            raise InvalidArgumentError(
                f"{name} takes {len(self._positional)} positional "
                f"argument{'' if len(self._positional) == 1 else 's'}, but {len(args)} "
                + ("is given" if len(args) == 1 else "are given")
            )
        if kwargs.keys() != self._keywords.keys():
            missing = [key for key in self._keywords if key not in kwargs]
            raise InvalidArgumentError(
                f"{name} was exported with the keyword arguments {', '.join(self._keywords) or '(none)'}: "
                + "; ".join(
                    f"{key} is {what}"
                    for keys, what in ((missing, "missing"), (unknown, "unknown"))
                    for key in keys
                )
                + self._order(unknown)
            )
        leaves: list[object] = []
        for index, tree in enumerate(self._positional):
            tree.flatten(args[index], leaves, f"{self._label(index)} of {name}")
        for key, tree in self._keywords.items():
            tree.flatten(kwargs[key], leaves, f"argument {key!r} of {name}")
        return leaves

    def _by_position(
        self, args: tuple[Any, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the positional arguments (including those passed by name) and the other arguments."""
        names = self._names[len(args) :]
        if not any(key in self._names for key in kwargs):
            return args, kwargs
        for key in kwargs:
            if key in self._names[: len(args)]:
                raise InvalidArgumentError(f"{self.__name__} got the argument {key!r} twice")
        missing = [name for name in names if name not in kwargs]
        if missing:
            noun = "argument" if len(missing) == 1 else "arguments"
            raise InvalidArgumentError(f"{self.__name__} is missing the {noun} {', '.join(missing)}")
        remaining = {key: value for key, value in kwargs.items() if key not in names}
        return (*args, *(kwargs[name] for name in names)), remaining

    def _label(self, index: int) -> str:
        """Returns the name of a positional argument in messages."""
        return f"argument {self._names[index]!r}" if self._names else f"positional argument {index}"

    def _order(self, unknown: list[str]) -> str:
        """Returns the end of the message about unknown names: the names of the positional arguments."""
        if not unknown or not self._positional:
            return ""
        if self._names:
            return f"; the positional arguments are {', '.join(self._names)}"
        return (
            f"; the program does not contain the names of its {len(self._positional)} positional arguments: "
            "pass them by position"
        )

    def cancel(self) -> None:
        """Cancels the call that runs on another thread. It raises CancelledError before its next instruction.

        Calls that begin later are not cancelled.
        """
        self._method.cancel()

    def reset_state(self) -> None:
        """Restores the mutable buffers of the method to their contents at load.

        A buffer that several methods of the program share is restored for all of them.

        Raises:
            InvalidStateError: the method is running on another thread.
        """
        self._method.reset_state()

    def __repr__(self) -> str:
        return f"<method {self._method.metadata!r}>"


def _signature(inputs: Tree | None, meta: MethodMeta) -> tuple[tuple[Tree, ...], dict[str, Tree]]:
    """Returns the structures of the positional arguments, and of the keyword arguments by name."""
    if inputs is None or inputs.count() != meta.num_inputs():
        return (LEAF,) * meta.num_inputs(), {}
    match inputs.children:
        case (Tree(kind="sequence") as args, Tree(kind="mapping") as kwargs):
            return args.children, dict(zip(kwargs.keys, kwargs.children, strict=True))
    return inputs.children, {}


class Module:
    """A loaded program. A call of the module runs `forward`, or the only method of the program.

    Each method is also an attribute. A copied or unpickled module is loaded from its source again, so that
    its buffers have their initial values.

    Args:
        program: the program.
        origin: the arguments of `load`, for loading copies; None means that the module cannot be copied.
    """

    def __init__(self, program: Program, origin: tuple[Any, ...] | None = None) -> None:
        self._program = program
        self._origin = origin
        self._loaded: dict[str, ModuleMethod] = {}
        names = sorted(program.method_names)
        self._default = names[0] if len(names) == 1 else "forward"
        self._called: ModuleMethod | None = None

    @property
    def method_names(self) -> set[str]:
        """The names of the program's methods."""
        return self._program.method_names

    @property
    def program(self) -> Program:
        """The program. The inputs and outputs of its methods are flat lists."""
        return self._program

    def method(self, name: str) -> ModuleMethod:
        """Returns a method, and loads it at the first call.

        Args:
            name: the name of the method.

        Raises:
            NotFoundError: the program has no such method. The error is also a KeyError.
            OperatorMissingError: the method needs operators that this runtime does not have.
        """
        method = self._loaded.get(name)
        if method is None:
            method = self._loaded[name] = ModuleMethod(self._program.load_method(name))
        return method

    def run_method(self, name: str, *args: object, **kwargs: object) -> Any:
        """Runs a method: `module.run_method("encode", x)` is `module.encode(x)`.

        Args:
            name: the name of the method.
            args: the positional arguments of the method.
            kwargs: the keyword arguments of the method.
        """
        return self.method(name)(*args, **kwargs)

    def reset_state(self) -> None:
        """Restores the mutable buffers of all methods to their contents at load."""
        for method in self._loaded.values():
            method.reset_state()

    def write_etdump_result_to_file(
        self, etdump_path: PathLike, debug_buffer_path: PathLike | None = None
    ) -> None:
        """Writes the events that were recorded so far. See `Program.write_etdump_result_to_file`.

        Args:
            etdump_path: the path of the ETDump.
            debug_buffer_path: the path of the file with the elements of recorded tensors; None writes no such
                file.

        Raises:
            NotFoundError: the program was not loaded with `enable_etdump=True`.
            OutOfMemoryError: the buffer is too small for an empty dump.
            OSError: a file cannot be written.
        """
        self._program.write_etdump_result_to_file(etdump_path, debug_buffer_path)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Runs `forward`, or the program's only method."""
        method = self._called
        if method is None:
            method = self._called = self.method(self._default)
        return method(*args, **kwargs)

    def __getattr__(self, name: str) -> ModuleMethod:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            method = self.method(name)
        except NotFoundError as error:
            raise AttributeError(str(error)) from None
        self.__dict__[name] = method
        return method

    def __reduce__(self) -> tuple[Any, ...]:
        if self._origin is None:
            raise TypeError(f"{self!r} cannot be copied, because rushlight.load did not create it")
        return _load, self._origin

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.method_names})

    def __repr__(self) -> str:
        return f"Module({', '.join(sorted(self.method_names))})"


def load(
    source: ProgramSource,
    *,
    data_path: DataSource | None = None,
    threads: int | None = None,
    backend_options: BackendOptions | None = None,
    enable_etdump: bool = False,
    debug_buffer_size: int = 0,
    etdump_buffer_size: int = ETDUMP_BUFFER_SIZE,
    max_instructions: int | None = MAX_INSTRUCTIONS,
    max_memory: int | None = None,
    verify_digest: bool = False,
) -> Module:
    """Loads a .pte file as a module with the signature of the model.

    Args:
        source: a path, bytes, a file object, or a compiled program.
        data_path: the .ptd files with the external data of the program, or the bytes of one such file.
        threads: the number of threads that a call may use. The default is RUSHLIGHT_NUM_THREADS, or the
            number of CPUs that the process may use.
        backend_options: options of backends for all methods: a dict from backend name to a dict of options.
        enable_etdump: record the events of loads and runs. `write_etdump_result_to_file` writes them.
        debug_buffer_size: the size in bytes of the buffer for the outputs of instructions in the event trace;
            0 does not record outputs.
        etdump_buffer_size: the size in bytes of the buffer for events. Events that do not fit are dropped and
            counted.
        max_instructions: the largest number of instructions of a call; None means no limit. The call of a
            delegate is one instruction. A call that reaches the limit raises LimitError.
        max_memory: the largest number of bytes of planned memory, structures, workspaces, scratch memory and
            outputs of a method; None means no limit. A method that needs more raises LimitError.
        verify_digest: check the SHA-256 digest in the program, and reject a program whose digest is wrong or
            missing. `rushlight.compile(..., digest=True)` writes a digest.

    Returns:
        The module.

    Raises:
        FileMissingError: a file does not exist. The error is also a FileNotFoundError.
        InvalidProgramError: the program is truncated, damaged, or not a .pte file, or its digest is wrong.
        ValueError: a buffer size is given without `enable_etdump=True`.
    """
    found = contents(source)
    if found is not None:
        source = found
    if isinstance(source, (bytearray, memoryview)):
        source = bytes(source)
    if isinstance(data_path, (bytearray, memoryview)):
        data_path = bytes(data_path)
    trace = trace_sizes(enable_etdump, debug_buffer_size, etdump_buffer_size)
    return _load(
        source, data_path, threads, backend_options, trace, (max_instructions, max_memory), verify_digest
    )


def _load(
    source: ProgramSource,
    data_path: DataSource | None,
    threads: int | None,
    backend_options: BackendOptions | None,
    trace: tuple[int, int] | None,
    limits: tuple[int | None, int | None],
    verify_digest: bool,
) -> Module:
    native = load_native(source, data_path, threads)
    if verify_digest:
        native.verify_digest()
    set_limits(native, *limits)
    if trace is not None:
        native.enable_etdump(*trace)
    return Module(
        Program(native, backend_options),
        (source, data_path, threads, backend_options, trace, limits, verify_digest),
    )
