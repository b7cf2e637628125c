"""The functions of ExecuTorch's `extension.pybindings.aten_lib`.

They are the functions of `portable_lib`, but the programs run on torch's kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch

from rushlight.runtime import aten, bundled
from rushlight.runtime._native import MethodMeta, TensorInfo
from rushlight.runtime.errors import (
    InvalidStateError,
    InvalidTypeError,
    NotFoundError,
    NotSupportedError,
)
from rushlight.runtime.portable_lib import (
    _get_registered_backend_names,
    _is_available,
    _threadpool_get_thread_count,
    _unsafe_reset_threadpool,
)
from rushlight.runtime.program import DataSource, ProgramSource, Verification, trace_sizes
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
    "_get_operator_names",
    "_get_registered_backend_names",
    "_is_available",
    "_load_bundled_program_from_buffer",
    "_load_for_executorch",
    "_load_for_executorch_from_buffer",
    "_load_for_executorch_from_bundled_program",
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
            "ATen mode does not record event traces; use a hook of rushlight.runtime.aten, which receives "
            "all values"
        )
    return _Program(aten.Runtime.get().load_program(source, data_path=data))


_LOADERS = Loaders(_open)
_load_for_executorch = _LOADERS.module_of_file
_load_for_executorch_from_buffer = _LOADERS.module_of_bytes
_load_program = _LOADERS.program_of_file
_load_program_from_buffer = _LOADERS.program_of_bytes


class BundledModule(bundled.BundledModule):
    """A bundled program. Its test cases run on torch's kernels."""

    def __init__(self, source: bundled.BundleSource) -> None:
        super().__init__(source)
        self._loaded = aten.Runtime.get().load_program(self.program)

    def execute(self, method_name: str, testset_idx: int) -> list[Any]:
        """Runs a method on the inputs of a test case. See the method of the base class."""
        inputs = [_as_torch(value) for value in self.inputs(method_name, testset_idx)]
        return list(self._loaded.load_method(method_name).execute(inputs))

    def verify_result_with_bundled_expected_output(
        self, method_name: str, testset_idx: int, rtol: float = 1e-5, atol: float = 1e-8
    ) -> Sequence[Any]:
        """Runs a method on a test case and compares the outputs. See the method of the base class."""
        expected = self.expected_outputs(method_name, testset_idx)
        where = f"test case {testset_idx} of method {method_name!r}"
        if not expected:
            raise NotFoundError(f"{where} has no expected outputs")
        outputs = self.execute(method_name, testset_idx)
        if len(outputs) != len(expected):
            raise InvalidTypeError(
                f"{where} has {len(expected)} expected outputs, but the method returned {len(outputs)}"
            )
        for index, (output, value) in enumerate(zip(outputs, expected, strict=True)):
            _check_output(f"output {index} of {where}", output, _as_torch(value), rtol, atol)
        return outputs


def _as_torch(value: Any) -> Any:
    """Converts an array to a tensor. Other values are returned unchanged."""
    return torch.from_numpy(value) if hasattr(value, "__array_interface__") else value


def _check_output(where: str, output: Any, expected: Any, rtol: float, atol: float) -> None:
    """Compares an output with the expected output.

    Raises:
        InvalidStateError: a number differs by more than `atol + rtol * abs(expected)`.
        InvalidTypeError: the type, dtype or shape differs.
    """
    kinds = [
        f"{value.dtype} {list(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__
        for value in (output, expected)
    ]
    if kinds[0] != kinds[1]:
        raise InvalidTypeError(f"{where}: {kinds[1]} is expected, not {kinds[0]}")
    pair = [
        torch.as_tensor(value) for value in (output, expected) if not isinstance(value, (str, type(None)))
    ]
    if pair:
        is_close = torch.isclose(pair[0], pair[1], rtol=rtol, atol=atol, equal_nan=True).flatten()
        if not bool(is_close.all()):
            index = int(torch.argmin(is_close.to(torch.uint8)))
            values = [value.flatten()[index].item() for value in pair]
            raise InvalidStateError(f"{where}: element {index} is {values[0]}, and {values[1]} is expected")
    elif output != expected:
        raise InvalidStateError(f"{where} is {output!r}, and {expected!r} is expected")


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
        enable_etdump: must be False, because ATen mode does not record event traces. A hook of
            `rushlight.runtime.aten` receives all values.
        debug_buffer_size: must be 0, because there is no event trace.
    """
    return ExecuTorchModule(
        _open(module.program, data_map_buffer, trace_sizes(enable_etdump, debug_buffer_size))
    )


def _get_operator_names() -> list[str]:
    """Returns the names of all operators that torch has."""
    return sorted(aten.Runtime.get().operator_registry.operator_names)
