"""Converts edge programs to a program file. Contains the manager of the program file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from torch.export import ExportedProgram

from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.locate import ExecutionError, LocatedOperator, locate
from rushlight.compiler.pipelines import edge_to_planned, planned_to_program
from rushlight.compiler.plan_memory import shares_state
from rushlight.emit.program import EmitterOutput
from rushlight.format.program import Program
from rushlight.format.ptd import write_ptd, write_ptd_to_file
from rushlight.format.pte import PTELayout, write_pte, write_pte_to_file
from rushlight.ir.errors import InternalError
from rushlight.ir.fingerprint import Fingerprint, fingerprint, first_difference
from rushlight.ir.json_types import JsonObject
from rushlight.ir.meta import DebugHandle
from rushlight.ir.program_text import pretty_print, print_program
from rushlight.ir.shared_state import shared_state

if TYPE_CHECKING:
    from rushlight.devtools.etrecord.record import ETRecord

DEFAULT_CONSTANT_ALIGNMENT = 16


def lower_programs(
    programs: Mapping[str, ExportedProgram],
    config: ExecutorchBackendConfig,
    *,
    config_methods: Mapping[str, object] | None = None,
    dim_order: bool = True,
) -> ExecutorchProgramManager:
    """Lowers, plans and emits edge programs. The edge programs are not changed.

    Args:
        programs: the edge programs by method name.
        config: the options.
        config_methods: the values of constant methods by name.
        dim_order: whether the programs use the operators of the dim order dialect.

    Raises:
        ValueError: an option of `config` is not supported or would have no effect.
    """
    config.check()
    fingerprints = {name: fingerprint(program) for name, program in programs.items()}
    by_name = bool(getattr(config.memory_planning_pass, "share_mutable_buffers", False))
    shared = shared_state(programs, by_name) if _can_share(config) or by_name else {}
    planned: dict[str, ExportedProgram] = {
        name: edge_to_planned(program, config, name, dim_order, shared.get(name, {}))
        for name, program in programs.items()
    }
    planners = config.memory_planning_pass
    for planner in planners.values() if isinstance(planners, dict) else (planners,):
        if hasattr(planner, "run_multimethod"):
            planner.run_multimethod()
    emitted = planned_to_program(planned, config, config_methods)
    check_unchanged(programs, fingerprints)
    if config.external_constants and emitted.pte.delegate_data and not emitted.external_constants:
        warnings.warn(
            "external_constants stores no constant in another file, because kernels read no constants; "
            "delegate_external_constants_pass_unlifted selects the files of constants of delegates",
            stacklevel=3,
        )
    return ExecutorchProgramManager(planned, emitted, config_methods, config)


def check_unchanged(programs: Mapping[str, ExportedProgram], before: Mapping[str, Fingerprint]) -> None:
    """Checks that the compiler did not change its input programs.

    Args:
        programs: the programs by method name, after the compilation.
        before: the fingerprints of the same programs before the compilation.

    Raises:
        InternalError: a program differs from its fingerprint. The message names the first difference.
    """
    for name, program in programs.items():
        difference = first_difference(before[name], fingerprint(program))
        if difference is not None:
            raise InternalError(f"the compiler changed its input program {name!r}: {difference}")


def _can_share(config: ExecutorchBackendConfig) -> bool:
    return shares_state(config.memory_planning_pass) and not config.external_mutable_weights


class ExecutorchProgramManager:
    """A program file: the planned graphs of its methods, the tables and the bytes."""

    def __init__(
        self,
        execution_programs: dict[str, ExportedProgram],
        emitter_output: EmitterOutput,
        config_methods: Mapping[str, object] | None = None,
        backend_config: ExecutorchBackendConfig | None = None,
    ) -> None:
        """Creates the manager of an emitted program.

        Args:
            execution_programs: the planned programs by method name.
            emitter_output: the emitted program of these methods.
            config_methods: the values of constant methods by name.
            backend_config: the options of the file, such as alignments.
        """
        config = backend_config or ExecutorchBackendConfig()
        self._execution_programs = execution_programs
        self._config_methods = config_methods
        self._emitter_output = emitter_output
        self._layout = PTELayout(
            constant_tensor_alignment=config.constant_tensor_alignment or DEFAULT_CONSTANT_ALIGNMENT,
            segment_alignment=config.segment_alignment,
            delegate_alignment=config.delegate_alignment,
            extract_delegate_segments=config.extract_delegate_segments,
        )
        self._pte = replace(emitter_output.pte, digest=config.digest)
        self._etrecord: ETRecord | None = None
        self._buffer: bytes | None = None
        self._data_files: dict[str, bytes] | None = None

    @property
    def methods(self) -> set[str]:
        """The names of the methods."""
        return set(self._execution_programs)

    @property
    def config_methods(self) -> set[str]:
        """The names of the constant methods."""
        return set(self._config_methods or ())

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """Returns the planned program of a method.

        Args:
            method_name: the name of the method.

        Returns:
            The program with out variants and offsets in planned memory. It is not a copy.

        Raises:
            KeyError: there is no such method. The message lists the existing names.
        """
        try:
            return self._execution_programs[method_name]
        except KeyError:
            raise KeyError(
                f"no method {method_name!r}; there are {sorted(self._execution_programs)}"
            ) from None

    @property
    def executorch_program(self) -> Program:
        """The program as dataclasses, before serialization."""
        return self._emitter_output.program

    @property
    def debug_handle_map(self) -> dict[str, dict[int, DebugHandle | Sequence[DebugHandle]]]:
        """The debug handles of instructions, by method name and instruction index."""
        return self._emitter_output.debug_handle_map

    @property
    def delegate_map(self) -> dict[str, dict[int, JsonObject]]:
        """The backend name and the debug map of each delegate call, by method name and instruction index."""
        return self._emitter_output.method_to_delegate_debug_id_map

    @property
    def instruction_id_to_num_outs_map(self) -> dict[str, dict[int, int]]:
        """The number of results of each delegate call, by method name and instruction index."""
        return self._emitter_output.instruction_id_to_num_outs_map

    def locate(self, error: ExecutionError) -> list[LocatedOperator]:
        """Returns the operators of the model, with their source lines, in which an execution failed.

        Args:
            error: the exception of the runtime.

        Returns:
            The operators. For a delegate: the operators that the backend named, or all operators of the
            delegate.
        """
        modules = {name: program.graph_module for name, program in self._execution_programs.items()}
        return locate(error, modules, self.debug_handle_map, self.delegate_map, self._emitter_output.nodes)

    @property
    def buffer(self) -> bytes:
        """The bytes of the .pte file. The program is serialized at the first access."""
        if self._buffer is None:
            self._buffer = write_pte(self._pte, self._layout)
        return self._buffer

    @property
    def data_files(self) -> dict[str, bytes]:
        """The bytes of each .ptd file, by file tag."""
        files = self._emitter_output.external_constants
        alignment = self._layout.segment_alignment
        return {tag: write_ptd(entries, segment_alignment=alignment) for tag, entries in files.items()}

    @property
    def _tensor_data(self) -> dict[str, bytes]:
        # Code for ExecuTorch uses this name.
        if self._data_files is None:
            self._data_files = self.data_files
        return self._data_files

    def write_to_file(self, open_file: BinaryIO) -> None:
        """Writes the .pte file without a copy in memory.

        Args:
            open_file: a binary file that is open for writing.
        """
        write_pte_to_file(self._pte, open_file, self._layout)

    def write_tensor_data_to_file(self, outdir: str | os.PathLike[str]) -> None:
        """Writes the .ptd files.

        Args:
            outdir: the folder. Each file has the name of its tag, with the suffix .ptd.
        """
        alignment = self._layout.segment_alignment
        for tag, entries in self._emitter_output.external_constants.items():
            name = tag if tag.endswith(".ptd") else f"{tag}.ptd"
            write_ptd_to_file(entries, Path(outdir) / name, segment_alignment=alignment)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the .pte file. If this fails, no incomplete file remains.

        Args:
            path: the path of the file. It must end with .pte.

        Raises:
            ValueError: the path does not end with .pte.
            OSError: the file cannot be written.
        """
        if not str(path).endswith(".pte"):
            raise ValueError(f"Path {path} does not end with .pte")
        write_pte_to_file(self._pte, path, self._layout)

    def dump_executorch_program(self, verbose: bool = False, out: TextIO | None = None) -> None:
        """Prints the program.

        Args:
            verbose: print every field instead of one line for each instruction.
            out: the output; None means standard output.
        """
        (pretty_print if verbose else print_program)(self.executorch_program, out=out)

    def get_etrecord(self) -> ETRecord:
        """Returns the ETRecord of this program: graphs, debug handles and delegate maps.

        Raises:
            RuntimeError: `to_edge` or `to_edge_transform_and_lower` was not called with
                `generate_etrecord=True`.
        """
        if self._etrecord is None:
            raise RuntimeError(
                "ETRecord was not generated; pass generate_etrecord=True to rushlight.compile, to_edge or "
                "to_edge_transform_and_lower"
            )
        return self._etrecord
