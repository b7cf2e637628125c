"""ExecuTorch's `extension.pybindings.aten_lib`: the functions of `portable_lib`, on torch's kernels."""

from __future__ import annotations

from typing import Any, cast

from rushlight.runtime import aten
from rushlight.runtime._native import MethodMeta, TensorInfo
from rushlight.runtime.errors import NotSupportedError
from rushlight.runtime.portable_lib import (
    _get_registered_backend_names,
    _is_available,
    _threadpool_get_thread_count,
    _unsafe_reset_threadpool,
)
from rushlight.runtime.program import DataSource, ProgramSource, Verification
from rushlight.runtime.pybindings import ExecuTorchMethod, ExecuTorchModule, ExecuTorchProgram, Loaders

__all__ = [
    "ExecuTorchMethod",
    "ExecuTorchModule",
    "ExecuTorchProgram",
    "MethodMeta",
    "TensorInfo",
    "Verification",
    "_get_operator_names",
    "_get_registered_backend_names",
    "_is_available",
    "_load_for_executorch",
    "_load_for_executorch_from_buffer",
    "_load_program",
    "_load_program_from_buffer",
    "_threadpool_get_thread_count",
    "_unsafe_reset_threadpool",
]


class _Program(ExecuTorchProgram):
    """A program whose methods run on torch's kernels."""

    def __init__(self, program: aten.Program) -> None:
        super().__init__(program.native)
        self._aten = program

    def load_method(self, method_name: str) -> ExecuTorchMethod:
        """Loads a method."""
        return ExecuTorchMethod(cast(Any, self._aten.new_method(method_name)))


def _open(source: ProgramSource, data: DataSource | None, trace: tuple[int, int] | None) -> _Program:
    if trace is not None:
        raise NotSupportedError(
            "ATen mode records no event traces; a hook of rushlight.runtime.aten sees all"
        )
    return _Program(aten.Runtime.get().load_program(source, data_path=data))


_LOADERS = Loaders(_open)
_load_for_executorch = _LOADERS.module_of_file
_load_for_executorch_from_buffer = _LOADERS.module_of_bytes
_load_program = _LOADERS.program_of_file
_load_program_from_buffer = _LOADERS.program_of_bytes


def _get_operator_names() -> list[str]:
    """Returns the names of all operators that torch has."""
    return sorted(aten.Runtime.get().operator_registry.operator_names)
