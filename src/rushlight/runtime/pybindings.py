"""The classes and loaders of ExecuTorch's `extension.pybindings`, for `portable_lib` and `aten_lib`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from rushlight.runtime import _native
from rushlight.runtime._native import Method, MethodMeta
from rushlight.runtime.errors import InvalidArgumentError, InvalidStateError, NotSupportedError
from rushlight.runtime.program import (
    DataSource,
    ProgramSource,
    Verification,
    trace_sizes,
    write_etdump,
)


class ExecuTorchMethod:
    """A method with separate steps: set the inputs, execute, get the outputs."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._inputs: Sequence[Any] | None = None
        self._outputs: list[Any] | None = None

    def set_inputs(self, inputs: Sequence[object]) -> None:
        """Stores the inputs for `execute`.

        Args:
            inputs: one item for each input. Tensors for inputs in planned memory are copied now.
                `execute` reads the other tensors.

        Raises:
            InvalidArgumentError: the number of inputs or a shape is wrong.
            InvalidTypeError: the dtype or the device of an input is wrong.
        """
        self._method.check_inputs(inputs)
        self._inputs = [self._own(index, value) for index, value in enumerate(inputs)]

    def execute(self) -> None:
        """Runs the method on the stored inputs. If there are none, it runs without inputs."""
        self._run(True)

    def get_outputs(self, clone_outputs: bool = True) -> list[Any]:
        """Returns the outputs of the last `execute`.

        Args:
            clone_outputs: return outputs that own their memory; see `call`.

        Raises:
            InvalidStateError: the method has not been executed.
        """
        if self._outputs is None:
            raise InvalidStateError(f"method {self.method_meta().name()!r} has not been executed yet")
        outputs = list(self._outputs)
        return outputs if clone_outputs else [self._shared(i, value) for i, value in enumerate(outputs)]

    def call(self, inputs: Sequence[Any] = (), clone_outputs: bool = True) -> list[Any]:
        """Runs the method and returns its outputs.

        Args:
            inputs: the inputs. A single tensor means a sequence with one tensor.
            clone_outputs: return outputs that own their memory. If False, outputs in planned memory are
                views of this memory. The next run overwrites them, and a write to a returned parameter
                changes the parameter. Outputs without planned memory always own their memory.
        """
        self._inputs = inputs if isinstance(inputs, (list, tuple)) else (inputs,)
        return list(self._run(clone_outputs))

    def output_view(self, index: int) -> Any:
        """Returns a view of the planned memory of an output, such as a parameter that the method returns.

        Args:
            index: the index of the output.

        Raises:
            NotSupportedError: the output is not a tensor in planned memory.
        """
        return self._method.output_view(index)

    def _own(self, index: int, value: Any) -> Any:
        """Returns a copy of the tensor for an input in planned memory, and any other value itself."""
        metadata = self._method.metadata
        if metadata.input_tag(index) != "Tensor" or not metadata.input_tensor_meta(index).is_memory_planned():
            return value
        return value.detach().clone() if hasattr(value, "detach") else copy(value)

    def _run(self, clone_outputs: bool) -> list[Any]:
        inputs = () if self._inputs is None else self._inputs
        self._outputs = self._method.execute(inputs, clone_outputs)
        return self._outputs

    def _shared(self, index: int, value: Any) -> Any:
        try:
            return self._method.output_view(index)
        except NotSupportedError:
            return value

    __call__ = call

    def method_meta(self) -> MethodMeta:
        """Returns the metadata of the method: names, types and sizes of inputs, outputs and memory."""
        return self._method.metadata

    def get_attribute(self, name: str) -> Any:
        """Returns a copy of a buffer by its fully qualified name."""
        return self._method.get_attribute(name)


class ExecuTorchProgram:
    """A loaded program."""

    def __init__(self, program: _native.Program) -> None:
        self._program = program

    def num_methods(self) -> int:
        """Returns the number of methods."""
        return len(self._program.method_names())

    def get_method_name(self, method_index: int) -> str:
        """Returns the name of a method by its index.

        Raises:
            InvalidArgumentError: there is no such method.
        """
        names = self._program.method_names()
        if not 0 <= method_index < len(names):
            raise InvalidArgumentError(f"there is no method {method_index}: the program has {len(names)}")
        return names[method_index]

    def load_method(self, method_name: str) -> ExecuTorchMethod:
        """Loads a method."""
        return ExecuTorchMethod(Method(self._program, method_name))

    def method_meta(self, method_name: str) -> MethodMeta:
        """Returns the metadata of a method: names, types and sizes of inputs, outputs and planned memory."""
        return self._program.method_meta(method_name)

    def has_etdump(self) -> bool:
        """Returns whether an event trace is recorded."""
        return self._program.has_etdump()

    def write_etdump_result_to_file(self, path: str, debug_buffer_path: str | None = None) -> None:
        """Writes the event trace and the elements of recorded tensors."""
        write_etdump(self._program, path, debug_buffer_path)


class ExecuTorchModule:
    """A program. A method is loaded when it runs for the first time."""

    def __init__(self, program: ExecuTorchProgram) -> None:
        self._program = program
        self._methods: dict[str, ExecuTorchMethod] = {}

    def _method(self, name: str) -> ExecuTorchMethod:
        method = self._methods.get(name)
        if method is None:
            method = self._methods[name] = self._program.load_method(name)
        return method

    def run_method(
        self, method_name: str, inputs: Sequence[object] = (), clone_outputs: bool = True
    ) -> list[Any]:
        """Runs a method and returns its outputs.

        Args:
            method_name: the name of the method.
            inputs: the inputs. A single tensor means a sequence with one tensor.
            clone_outputs: return outputs that own their memory; see `ExecuTorchMethod.call`.
        """
        return self._method(method_name).call(inputs, clone_outputs)

    def forward(self, inputs: Sequence[object] = (), clone_outputs: bool = True) -> list[Any]:
        """Runs the method `forward`."""
        return self.run_method("forward", inputs, clone_outputs)

    __call__ = forward

    def plan_execute(self, method_name: str, clone_outputs: bool = True) -> list[Any]:
        """Runs a method on the inputs of its last run."""
        method = self._method(method_name)
        method.execute()
        return method.get_outputs(clone_outputs)

    def output_view(self, method_name: str, index: int) -> Any:
        """Returns a view of the planned memory of an output. Loads the method if it is not loaded.

        Args:
            method_name: the name of the method.
            index: the index of the output.

        Raises:
            NotSupportedError: the output is not a tensor in planned memory.
        """
        return self._method(method_name).output_view(index)

    def method_meta(self, method_name: str) -> MethodMeta:
        """Returns the metadata of a method: names, types and sizes of inputs, outputs and planned memory."""
        return self._program.method_meta(method_name)

    def method_names(self) -> list[str]:
        """Returns the names of the program's methods."""
        return [self._program.get_method_name(i) for i in range(self._program.num_methods())]

    def has_etdump(self) -> bool:
        """Returns whether an event trace is recorded."""
        return self._program.has_etdump()

    def write_etdump_result_to_file(self, path: str, debug_buffer_path: str | None = None) -> None:
        """Writes the event trace and the elements of recorded tensors."""
        self._program.write_etdump_result_to_file(path, debug_buffer_path)


def check_pool_size(size: int) -> None:
    """Checks the size in bytes of ExecuTorch's pool for the values of a bundled program.

    This runtime needs no pool, so that each size is large enough.

    Raises:
        ValueError: the size is negative.
    """
    if size < 0:
        raise ValueError(f"non_const_pool_size={size} is negative")


@dataclass(frozen=True)
class Loaders:
    """Functions that load a program or a module, from a file or from bytes.

    Attributes:
        open: a function that loads a program. Its arguments are the program, the external data, and the
            result of `trace_sizes`.
    """

    open: Callable[[ProgramSource, DataSource | None, tuple[int, int] | None], ExecuTorchProgram]

    def module_of_file(
        self,
        program_path: str,
        data_path: str | None = None,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        program_verification: Verification = Verification.InternalConsistency,
    ) -> ExecuTorchModule:
        """Loads a module from a file."""
        return ExecuTorchModule(
            self.open(program_path, data_path, trace_sizes(enable_etdump, debug_buffer_size))
        )

    def module_of_bytes(
        self,
        buffer: bytes,
        data_map_buffer: bytes | None = None,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        program_verification: Verification = Verification.InternalConsistency,
    ) -> ExecuTorchModule:
        """Loads a module from bytes. The external data are also bytes."""
        return ExecuTorchModule(
            self.open(buffer, data_map_buffer, trace_sizes(enable_etdump, debug_buffer_size))
        )

    def program_of_file(
        self,
        path: str,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        program_verification: Verification = Verification.Minimal,
        data_path: str | None = None,
    ) -> ExecuTorchProgram:
        """Loads a program from a file."""
        return self.open(path, data_path, trace_sizes(enable_etdump, debug_buffer_size))

    def program_of_bytes(
        self,
        buffer: bytes,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        program_verification: Verification = Verification.Minimal,
        data_path: str | None = None,
    ) -> ExecuTorchProgram:
        """Loads a program from bytes."""
        return self.open(buffer, data_path, trace_sizes(enable_etdump, debug_buffer_size))
