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
    Loads a shared library, which stays loaded. Returns its name, its absolute path, its operators and its
    backends.
    """

def loaded_libraries() -> list[tuple[str, str, list[str], list[str]]]: ...

def machine_peaks(threads: int) -> tuple[float, float, float]:
    """
    Measures the speed of this machine.

    Returns:
        The float32 operations per second of the microkernels, the bytes per second that they read from
        memory (both 0 in a build without microkernels), and the seconds that a pool of `threads` threads
        needs to run one empty task on each thread.
    """

def search_offsets(buffers: Sequence[tuple[int, int, int, int]], bound: int, peak: int, steps: int, seconds: float) -> tuple[list[int], int, int, bool]:
    """
    Searches for the memory plan with the smallest peak. Sizes, alignments and peaks are in units.

    Args:
        buffers: For each buffer its size, the first section of its lifetime, the section after the last
            one, and its alignment.
        bound: A lower bound of the peak of all plans.
        peak: The peak of a known plan.
        steps: The maximum number of search steps.
        seconds: The maximum processor time.

    Returns:
        The offsets of the buffers, which are empty if no plan is better than the known plan; the best
        lower bound; the number of search steps; and whether the search ended because of `seconds`.
    """

class TensorInfo:
    """The description of a tensor in a program."""

    def sizes(self) -> tuple[int, ...]:
        """Returns the sizes, which are upper bounds if the shape is dynamic."""

    def dim_order(self) -> tuple[int, ...]:
        """Returns the dimensions from outermost to innermost in memory."""

    def dtype(self) -> int:
        """Returns the number of the dtype, which is that of c10::ScalarType."""

    def dtype_name(self) -> str:
        """Returns the name of the dtype, such as 'float32'."""

    def nbytes(self) -> int:
        """Returns the bytes of a tensor with the sizes of `sizes()`."""

    def description(self) -> str:
        """
        Returns the dtype and the sizes, such as 'float32[2..16, 8]', or 'float32[<=16, <=8]' if the program
        contains only upper bounds.
        """

    def is_dynamic(self) -> bool: ...

    def is_memory_planned(self) -> bool:
        """Returns False if the caller provides the memory."""

    def name(self) -> str:
        """Returns the name of a buffer or parameter, or ''."""

    def __repr__(self) -> str: ...

class MethodMeta:
    """The description of a method in a program."""

    def name(self) -> str: ...

    def num_inputs(self) -> int: ...

    def num_outputs(self) -> int: ...

    def num_attributes(self) -> int: ...

    def num_instructions(self) -> int: ...

    def input_tag(self, index: int) -> str:
        """
        Returns the type of an input: 'Tensor', 'Int', 'Double', 'Bool', 'String' or 'None'.
        """

    def output_tag(self, index: int) -> str: ...

    def input_tensor_meta(self, index: int) -> TensorInfo:
        """
        Returns the description of an input tensor.

        Raises:
            IndexError: The index is too large, or the input is not a tensor.
        """

    def output_tensor_meta(self, index: int) -> TensorInfo: ...

    def attribute_tensor_meta(self, index: int) -> TensorInfo: ...

    def planned_sizes(self) -> list[int]:
        """Returns the bytes of each planned memory."""

    def operators(self) -> list[str]:
        """Returns the operators that the method calls, such as 'aten::add.out'."""

    def backends(self) -> list[str]:
        """Returns the backend of each delegate."""

    def input_spec(self) -> str:
        """Returns the pytree of the inputs as JSON text, or ''."""

    def output_spec(self) -> str: ...

    def __repr__(self) -> str: ...

class Program:
    """A loaded program."""

    def method_names(self) -> list[str]: ...

    def method_meta(self, name: str) -> MethodMeta:
        """
        Returns the description of a method.

        Raises:
            NotFoundError: The program does not have the method.
        """

    def named_data(self) -> list[str]:
        """Returns the keys of the data that the program stores by name."""

    def missing_backends(self) -> list[tuple[str, str, str]]:
        """
        Returns the missing backends of all methods. An item contains the backend, the method that needs it,
        and a text that says how to get the backend.
        """

    def enable_etdump(self, buffer_size: int, debug_buffer_size: int, allocations: bool = False) -> None:
        """
        Records the events of methods that are loaded later.

        Args:
            buffer_size: The bytes of the buffer for events.
            debug_buffer_size: The bytes of the buffer for outputs of instructions; 0 records no outputs.
            allocations: Whether allocations of memory are recorded too.
        """

    def verify_digest(self) -> None:
        """
        Compares the bytes of the file with the SHA-256 digest in the file.

        Raises:
            InvalidProgramError: They differ, or the file contains no digest.
        """

    def set_limits(self, instructions: int | None, memory: int | None) -> None:
        """
        Sets the limits of methods that are loaded later. None means no limit.

        Args:
            instructions: The maximum number of instructions of one call.
            memory: The maximum number of bytes of memory.
        """

    def has_etdump(self) -> bool: ...

    def etdump(self) -> tuple[bytes, bytes, int]:
        """
        Returns the event trace: an ETDump, the debug buffer, and the number of events that did not fit.
        """

    def thread_count(self) -> int: ...

def load_file(path: str, data: list[str] | bytes | memoryview, threads: int | None) -> Program:
    """
    Maps the file of a program into memory.

    Args:
        path: The .pte file.
        data: The paths of .ptd files, or the bytes of one .ptd file.
        threads: The number of threads, or None for the default pool.
    """

def load_buffer(program: bytes | memoryview, data: list[str] | bytes | memoryview, threads: int | None) -> Program: ...

def backend_names() -> list[str]: ...

def is_backend_available(name: str) -> bool: ...

def set_backend_option(backend: str, key: str, value: bool | int | str) -> None: ...

def get_backend_option(backend: str, key: str) -> bool | int | str: ...

def get_thread_count() -> int:
    """
    Returns the number of threads of the default pool. A program uses this pool unless it is loaded with
    another number of threads.
    """

def set_thread_count(threads: int) -> None: ...

class Method:
    """A method that can be executed. Keeps its program alive."""

    def __init__(self, program: Program, name: str, backend_options: Mapping[str, Mapping[str, bool | int | str]] = {}, is_timed: bool = False) -> None: ...

    def execute(self, inputs: Sequence[Any], clone_outputs: bool = True) -> list[Any]:
        """
        Runs the method.

        Other Python threads can run during the call. Calls of one method run one after the other.

        Args:
            inputs: One item for each input. A tensor is a torch tensor, a numpy array or an object that supports
                DLPack. Its elements are copied only if memory is planned for the input, or if they are not dense in
                the method's dim order.
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
        Checks the inputs and raises the same errors as `execute`, without running the method.
        """

    def output_view(self, index: int) -> Any:
        """
        Returns an array over the planned memory of an output, such as a parameter that the method returns.
        Writing to the array changes the state of the method. The array is a torch tensor if torch is loaded.
        """

    def cancel(self) -> None:
        """
        Stops the call that runs on another thread, before its next instruction. The call then raises
        CancelledError. A later call is not affected.
        """

    def reset_state(self) -> None:
        """
        Sets mutable buffers back to their contents after loading. Buffers that several methods share change
        for all of these methods.
        """

    def get_attribute(self, name: str) -> Any:
        """Returns a copy of the buffer with this fully qualified name."""

    @property
    def metadata(self) -> MethodMeta: ...

    def memory(self) -> tuple[int, int, int]:
        """
        Returns the bytes of planned memory, of the method's structures, and of scratch memory until now.
        """

    def timings(self) -> list[tuple[str, int, int, bool, float]]:
        """
        Returns the times of the last run of a timed method, in order. An item contains the name, the chain,
        the instruction, whether it is a step inside the delegate of the instruction, and the seconds.
        """

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs in error messages."""

    @input_names.setter
    def input_names(self, arg: Sequence[str], /) -> None: ...

class BundledModule:
    """Runs the methods of a bundled program on their test cases."""

    def __init__(self, file: bytes) -> None: ...

    def program(self) -> bytes:
        """Returns the bytes of the program."""

    def method_names(self) -> list[str]:
        """Returns the names of the methods that have test cases."""

    def num_test_cases(self, method: str) -> int: ...

    def inputs(self, method: str, test_case: int) -> list[Any]: ...

    def expected_outputs(self, method: str, test_case: int) -> list[Any]: ...

    def execute(self, method: str, test_case: int) -> list[Any]:
        """Runs a method on the inputs of a test case and returns the outputs."""

    def verify(self, method: str, test_case: int, rtol: float, atol: float) -> list[Any]:
        """
        Does the same as `execute`, and compares the outputs with the expected outputs.

        Raises:
            InvalidStateError: An output differs from the expected output.
        """

def softmax_in_place(values: Any) -> None:
    """
    Replaces the float32 values of a one-dimensional array by their softmax.
    """

class Sgd:
    """
    Stochastic gradient descent over named parameters, which it updates in place.
    """

    def __init__(self, parameters: dict[str, Any], lr: float, momentum: float, dampening: float, weight_decay: float, nesterov: bool) -> None: ...

    def step(self, gradients: dict[str, Any]) -> None:
        """Updates each parameter that has a gradient."""

    @property
    def lr(self) -> float:
        """The learning rate."""

    @lr.setter
    def lr(self, arg: float, /) -> None: ...

class AdamW:
    """
    Adam with decoupled weight decay over named parameters, which it updates in place.
    """

    def __init__(self, parameters: dict[str, Any], lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, amsgrad: bool) -> None: ...

    def step(self, gradients: dict[str, Any]) -> None:
        """Updates each parameter that has a gradient."""

    @property
    def lr(self) -> float:
        """The learning rate."""

    @lr.setter
    def lr(self, arg: float, /) -> None: ...
