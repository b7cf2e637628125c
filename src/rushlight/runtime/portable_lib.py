"""The functions of ExecuTorch's `extension.pybindings.portable_lib`."""

from __future__ import annotations

from rushlight.runtime import _native
from rushlight.runtime._native import MethodMeta, TensorInfo
from rushlight.runtime.bundled import BundledModule
from rushlight.runtime.program import DataSource, ProgramSource, Verification, load_native, trace_sizes
from rushlight.runtime.pybindings import (
    ExecuTorchMethod,
    ExecuTorchModule,
    ExecuTorchProgram,
    Loaders,
    check_pool_size,
)

__all__ = [
    "BundledModule",
    "ExecuTorchMethod",
    "ExecuTorchModule",
    "ExecuTorchProgram",
    "MethodMeta",
    "TensorInfo",
    "Verification",
    "_create_profile_block",
    "_dump_profile_results",
    "_get_operator_names",
    "_get_registered_backend_names",
    "_is_available",
    "_load_bundled_program_from_buffer",
    "_load_for_executorch",
    "_load_for_executorch_from_buffer",
    "_load_for_executorch_from_bundled_program",
    "_load_program",
    "_load_program_from_buffer",
    "_reset_profile_results",
    "_threadpool_get_thread_count",
    "_unsafe_reset_threadpool",
]


def _open(source: ProgramSource, data: DataSource | None, trace: tuple[int, int] | None) -> ExecuTorchProgram:
    program = load_native(source, data, None)
    if trace is not None:
        program.enable_etdump(*trace)
    return ExecuTorchProgram(program)


_LOADERS = Loaders(_open)
_load_for_executorch = _LOADERS.module_of_file
_load_for_executorch_from_buffer = _LOADERS.module_of_bytes
_load_program = _LOADERS.program_of_file
_load_program_from_buffer = _LOADERS.program_of_bytes


def _load_bundled_program_from_buffer(buffer: bytes, non_const_pool_size: int = 16384) -> BundledModule:
    """Loads a bundled program.

    Args:
        buffer: the bytes of the .bpte file.
        non_const_pool_size: see `check_pool_size`.

    Raises:
        ValueError: the size is negative.
    """
    check_pool_size(non_const_pool_size)
    return BundledModule(buffer)


def _load_for_executorch_from_bundled_program(
    module: BundledModule,
    data_map_buffer: DataSource | None = None,
    enable_etdump: bool = False,
    debug_buffer_size: int = 0,
) -> ExecuTorchModule:
    """Loads the program of a bundled program as a module.

    Args:
        module: the bundled program.
        data_map_buffer: the path or the bytes of a .ptd file with the program's external data.
        enable_etdump: record an event trace.
        debug_buffer_size: the size in bytes of the buffer for recorded tensors.
    """
    return ExecuTorchModule(
        _open(module.program, data_map_buffer, trace_sizes(enable_etdump, debug_buffer_size))
    )


def _is_available(backend_name: str) -> bool:
    """Returns whether a backend exists and can run on this machine."""
    return _native.is_backend_available(backend_name)


def _get_operator_names() -> list[str]:
    """Returns the names of the operators that have kernels."""
    return _native.kernel_names()


def _get_registered_backend_names() -> list[str]:
    """Returns the names of all backends."""
    return _native.backend_names()


def _unsafe_reset_threadpool(num_threads: int) -> None:
    """Sets the number of threads of the process's thread pool, also for programs that are already loaded."""
    _native.set_thread_count(num_threads)


def _threadpool_get_thread_count() -> int:
    """Returns the number of threads of the process's thread pool."""
    return _native.get_thread_count()


# As in ExecuTorch's wheel, the runtime is built without ExecuTorch's former profiler, which then has no
# results. Programs that are loaded with `enable_etdump=True` record events.


def _create_profile_block(name: str) -> None:
    """Begins a block of results of the former profiler, which the runtime does not contain."""


def _dump_profile_results() -> bytes:
    """Returns the results of the former profiler: none."""
    return b""


def _reset_profile_results() -> None:
    """Deletes the results of the former profiler, which are empty."""
