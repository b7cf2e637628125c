"""The function `to_backend`. It lowers a whole program, or partitions of one or several methods."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from torch.export import ExportedProgram

from rushlight.compiler.single_delegate import write_lowered
from rushlight.delegate.backend import CompileSpec
from rushlight.delegate.lowered import LoweredBackendModule
from rushlight.delegate.lowering import MethodProgramsPartitionerSpec, lower_methods, lower_program
from rushlight.delegate.partitioner import Partitioner


@singledispatch
def to_backend(args: object, *rest: object) -> Any:
    """Lowers programs to backends. The type of the first argument selects the variant.

    The given programs are not changed. The variants are:

    - `to_backend(backend_id, edge_program, compile_specs)` lowers the whole program and returns a
      `LoweredBackendModule`.
    - `to_backend(edge_program, partitioner)` lowers the tagged partitions and returns the new
      `ExportedProgram`.
    - `to_backend(MethodProgramsPartitionerSpec(...))` lowers the partitions of several methods together and
      returns the new programs by method name.

    Args:
        args: the name of a backend, an edge program, or a `MethodProgramsPartitionerSpec`.
        rest: the other arguments of the variant, by position.

    Returns:
        The result of the variant.

    Raises:
        NotImplementedError: no backend with this name has been imported.
        CompileError: a program cannot be partitioned by its tags.
        TypeError: the first argument has another type.
    """
    raise TypeError(
        "the first argument of to_backend must be a backend id, an ExportedProgram or a "
        f"MethodProgramsPartitionerSpec, not {type(args).__name__}"
    )


@to_backend.register
def _(
    backend_id: str, edge_program: ExportedProgram, compile_specs: list[CompileSpec]
) -> LoweredBackendModule:
    return lower_program(backend_id, edge_program, compile_specs, write_lowered)


@to_backend.register
def _(edge_program: ExportedProgram, partitioner_instance: Partitioner) -> ExportedProgram:
    spec = MethodProgramsPartitionerSpec({"forward": edge_program}, {"forward": partitioner_instance})
    return lower_methods(spec, write_lowered, by_tag=True)["forward"]


@to_backend.register
def _(method_edge_program_partitioners: MethodProgramsPartitionerSpec) -> dict[str, ExportedProgram]:
    return lower_methods(method_edge_program_partitioners, write_lowered)
