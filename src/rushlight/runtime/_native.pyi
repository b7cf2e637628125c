"""The native runtime."""

from collections.abc import Mapping, Sequence
from typing import Any


def executor_runner(arguments: Sequence[str]) -> int:
    """Runs executor_runner with a command line, and returns its exit status."""

def call_kernel(name: str, args: Sequence[Any], library: str | None = None, threads: int = 1) -> list[Any]: ...

def kernel_names(library: str | None = None) -> list[str]: ...

def kernel_table(library: str | None = None) -> list[tuple[str, list[tuple[list[int], list[str]]]]]: ...

def load_library(path: str) -> tuple[str, str, list[str], list[str]]:
    """
    Name, absolute path, operators and backends of a shared library, which stays loaded.
    """

def loaded_libraries() -> list[tuple[str, str, list[str], list[str]]]: ...

def machine_peaks(threads: int) -> tuple[float, float, float]:
    """
    Measures the float32 operations per second that the microkernels reach, the bytes per second that
    they read from memory (both 0 in a build without microkernels), and the seconds from giving a task
    to each of `threads` threads until all tasks have returned.
    """

def search_offsets(buffers: Sequence[tuple[int, int, int, int]], bound: int, peak: int, steps: int, seconds: float) -> tuple[list[int], int, int, bool]:
    """
    Looks for the memory plan with the smallest peak. A buffer is its size, the first section of its
    lifetime, the section after the last one, and its alignment; sizes are in units. `peak` is that of a
    known plan, `bound` a lower bound. The search ends after so many steps of work, or seconds of processor
    time.

    Returns the offsets, empty if no plan is better than the known one; the best lower bound; the steps; and
    whether the seconds have ended the search.
    """

class TensorInfo:
    """What a program says about one of its tensors."""

    def sizes(self) -> tuple[int, ...]:
        """The shape; upper bounds if it is dynamic."""

    def dim_order(self) -> tuple[int, ...]:
        """The dimensions from outermost to innermost in memory."""

    def dtype(self) -> int:
        """The number of the scalar type."""

    def dtype_name(self) -> str:
        """Such as 'float32'."""

    def nbytes(self) -> int:
        """Bytes; of the upper bounds if it is dynamic."""

    def description(self) -> str:
        """
        Such as 'float32[2..16, 8]'; 'float32[<=16, <=8]' where the program gives upper bounds alone.
        """

    def is_dynamic(self) -> bool: ...

    def is_memory_planned(self) -> bool:
        """False if the caller gives the memory."""

    def name(self) -> str:
        """Of a buffer or parameter, else empty."""

    def __repr__(self) -> str: ...

class MethodMeta:
    """A method as its program describes it."""

    def name(self) -> str: ...

    def num_inputs(self) -> int: ...

    def num_outputs(self) -> int: ...

    def num_attributes(self) -> int: ...

    def num_instructions(self) -> int: ...

    def input_tag(self, index: int) -> str:
        """
        The kind of an input: 'Tensor', 'Int', 'Double', 'Bool', 'String' or 'None'.
        """

    def output_tag(self, index: int) -> str: ...

    def input_tensor_meta(self, index: int) -> TensorInfo:
        """
        IndexError unless there is such an input, InvalidArgumentError if it is no tensor.
        """

    def output_tensor_meta(self, index: int) -> TensorInfo: ...

    def attribute_tensor_meta(self, index: int) -> TensorInfo: ...

    def planned_sizes(self) -> list[int]:
        """Bytes of each planned memory."""

    def operators(self) -> list[str]:
        """Operators that the method calls, such as 'aten::add.out'."""

    def backends(self) -> list[str]:
        """The backend of each delegate."""

    def input_spec(self) -> str:
        """The pytree of the inputs as JSON, or empty."""

    def output_spec(self) -> str: ...

    def __repr__(self) -> str: ...

class Program:
    """A loaded program."""

    def method_names(self) -> list[str]: ...

    def method_meta(self, name: str) -> MethodMeta:
        """NotFoundError unless the program has the method."""

    def named_data(self) -> list[str]:
        """Keys of the blobs that the program stores by name."""

    def missing_backends(self) -> list[tuple[str, str, str]]:
        """
        Backends that are not here, the method that needs each, and what would provide it.
        """

    def enable_etdump(self, buffer_size: int, debug_buffer_size: int, allocations: bool = False) -> None:
        """
        Records the events of methods that are loaded later, in a buffer of so many bytes. With a debug buffer, the
        outputs of instructions are recorded too, and allocations on request.
        """

    def verify_digest(self) -> None:
        """
        Compares the bytes of the file with the SHA-256 digest that it carries, or raises InvalidProgramError.
        """

    def set_limits(self, instructions: int | None, memory: int | None) -> None:
        """
        Limits methods that are loaded later; None: no limit. `instructions`: of one call. `memory`: in bytes.
        """

    def has_etdump(self) -> bool: ...

    def etdump(self) -> tuple[bytes, bytes, int]:
        """
        The event trace so far: an ETDump, the debug buffer, and the number of events that did not fit.
        """

    def thread_count(self) -> int: ...

def load_file(path: str, data: list[str] | bytes | memoryview, threads: int | None) -> Program:
    """Maps a file. `data`: paths of .ptd files, or the bytes of one."""

def load_buffer(program: bytes | memoryview, data: list[str] | bytes | memoryview, threads: int | None) -> Program: ...

def backend_names() -> list[str]: ...

def is_backend_available(name: str) -> bool: ...

def set_backend_option(backend: str, key: str, value: bool | int | str) -> None: ...

def get_backend_option(backend: str, key: str) -> bool | int | str: ...

def get_thread_count() -> int:
    """
    Threads of the pool that programs use unless they are loaded with a number of their own.
    """

def set_thread_count(threads: int) -> None: ...

class Method:
    """A method that can be executed. Keeps its program alive."""

    def __init__(self, program: Program, name: str, backend_options: Mapping[str, Mapping[str, bool | int | str]] = {}, is_timed: bool = False) -> None: ...

    def execute(self, inputs: Sequence[Any], clone_outputs: bool = True) -> list[Any]:
        """
        Runs the method.

        Other threads can run Python meanwhile. Two calls of one method run one after the other.

        Args:
            inputs: One item for each input. A tensor is a torch tensor, a numpy array or an object with DLPack. It is
                copied only if the plan has memory of its own for the input, or if it is not dense in the method's dim order.
            clone_outputs: Whether the outputs own their memory. If False, an output in planned memory is an array over
                this memory, which the next call overwrites.

        Returns:
            One item for each output. The tensors are torch tensors if one of the inputs is, or if no input is a tensor and
            torch is loaded; otherwise they are numpy arrays.

        Raises:
            InvalidArgumentError: The number of inputs or a shape is wrong.
            InvalidTypeError: The dtype of an input is wrong.
        """

    def __call__(self, inputs: Sequence[Any], clone_outputs: bool = True) -> list[Any]: ...

    def check_inputs(self, inputs: Sequence[Any]) -> None:
        """
        Raises the errors of `execute` about its inputs, without running the method.
        """

    def output_view(self, index: int) -> Any:
        """
        Returns an array over the planned memory of an output, such as a parameter that the method returns. Writes
        to the array change the method. The array is a torch tensor if torch is loaded.
        """

    def cancel(self) -> None:
        """
        Ends the call that runs on another thread with CancelledError, before its next instruction. A later call is
        not affected.
        """

    def reset_state(self) -> None:
        """
        Gives mutable buffers the contents that they had when the method was loaded. Buffers that methods share
        change for all of them.
        """

    def get_attribute(self, name: str) -> Any:
        """Returns a copy of the buffer with this fully qualified name."""

    @property
    def metadata(self) -> MethodMeta: ...

    def memory(self) -> tuple[int, int, int]:
        """
        Bytes of planned memory, of the method's structures, of scratch memory so far.
        """

    def timings(self) -> list[tuple[str, int, int, bool, float]]:
        """
        Of the last run of a method that is timed, in order: name, chain, instruction, whether it is a step inside
        of the instruction's delegate, seconds.
        """

    @property
    def input_names(self) -> list[str]:
        """What error messages call the inputs."""

    @input_names.setter
    def input_names(self, arg: Sequence[str], /) -> None: ...

class BundledModule:
    """A bundled program whose methods run on their test cases."""

    def __init__(self, file: bytes) -> None: ...

    def program(self) -> bytes:
        """The bytes of the program inside."""

    def method_names(self) -> list[str]:
        """The methods that have test cases."""

    def num_test_cases(self, method: str) -> int: ...

    def inputs(self, method: str, test_case: int) -> list[Any]: ...

    def expected_outputs(self, method: str, test_case: int) -> list[Any]: ...

    def execute(self, method: str, test_case: int) -> list[Any]:
        """Runs a method on the inputs of a test case."""

    def verify(self, method: str, test_case: int, rtol: float, atol: float) -> list[Any]:
        """
        Runs a method on the inputs of a test case, and raises InvalidStateError if an output is not as expected.
        """

def softmax_in_place(values: Any) -> None:
    """
    Replaces the float32 values of an array of one dimension by their softmax.
    """

class Sgd:
    """
    Stochastic gradient descent over named parameters, which it updates in place.
    """

    def __init__(self, parameters: dict[str, Any], lr: float, momentum: float, dampening: float, weight_decay: float, nesterov: bool) -> None: ...

    def step(self, gradients: dict[str, Any]) -> None:
        """Moves each parameter that has a gradient."""

    @property
    def lr(self) -> float:
        """The learning rate."""

    @lr.setter
    def lr(self, arg: float, /) -> None: ...
