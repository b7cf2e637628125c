"""Converts edge programs to a program file, and manages it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from rushlight.compile.alone import program_around
from rushlight.compile.config import ExecutorchBackendConfig, for_method
from rushlight.compile.locate import ExecutionError, LocatedOperator, locate
from rushlight.delegate.lowered import LoweredBackendModule, set_program_writer
from rushlight.delegate.program_copy import copy_program
from rushlight.emit.program import EmitterOutput, emit_program
from rushlight.emit.state import EmitOptions
from rushlight.format.program import Program
from rushlight.format.ptd import write_ptd, write_ptd_to_file
from rushlight.format.pte import write_pte, write_pte_to_file
from rushlight.format.text import format_pte
from rushlight.ir.shared_state import mark_shared_state, shared_state
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.passes import pipelines
from rushlight.passes.base import run_passes
from rushlight.passes.external_constants import external_constants_pass, external_mutable_weights_pass
from rushlight.passes.give_specs import mark_constants
from rushlight.passes.program_pass import run_program_passes
from rushlight.passes.sym_shapes import ConstraintBasedSymShapeEvalPass

DEFAULT_CONSTANT_ALIGNMENT = 16


def lower_programs(
    programs: Mapping[str, ExportedProgram],
    config: ExecutorchBackendConfig,
    *,
    config_methods: dict[str, Any] | None = None,
    dim_order: bool = True,
    record: Any = None,
) -> ExecutorchProgramManager:
    """Lowers, plans and emits edge programs by method name, which are not changed.

    dim_order: whether they carry the operators of the dim order dialect. record: the record of the compile
    for developer tools, a copy of which goes with the result. Raises ValueError for an option of `config`
    that would have no effect.
    """
    config.check()
    planned = {}
    sharing = _can_share(config.memory_planning_pass) and not config.external_mutable_weights
    shared = shared_state(programs) if sharing else {}
    for name, program in programs.items():
        planned[name] = copy_program(program)
        lower_program(planned[name], config, name, dim_order, shared.get(name, {}))
    planners = config.memory_planning_pass
    for planner in planners.values() if isinstance(planners, dict) else (planners,):
        if hasattr(planner, "run_multimethod"):
            planner.run_multimethod()
    result = ExecutorchProgramManager(planned, config_methods, config)
    if record is not None:
        result._etrecord = record.copy()
        result._etrecord.add_executorch_program(result)
    return result


def lower_program(
    program: ExportedProgram,
    config: ExecutorchBackendConfig,
    method: str,
    dim_order: bool,
    shared: Mapping[str, str],
) -> None:
    """Lowers one program in place, to a planned graph of out variants.

    shared: the names of the state that buffers, by target, share with other methods.
    """
    verifiers, program._verifiers = program._verifiers, []
    mark_shared_state(program, program.graph_module, shared)
    if (config.optimize or config.do_quant_fusion_and_const_prop) and _may_optimize(program, config):
        run_passes(program.graph_module, pipelines.edge_graph_optimizations())
        run_program_passes(program, pipelines.edge_program_optimizations(_kernels_of(config)))
    run_program_passes(program, pipelines.edge_program_lowering())
    module = run_passes(program.graph_module, config.passes)
    module = run_passes(module, pipelines.edge_to_specs(dim_order))
    mark_constants(program, module)
    shapes = for_method(config.sym_shape_eval_pass, method, ConstraintBasedSymShapeEvalPass)
    module = run_passes(
        module, pipelines.specs_to_out_variants(config.remove_view_copy, shapes, config.to_out_var_pass)
    )
    if config.external_constants:
        choose = config.external_constants if callable(config.external_constants) else None
        external_constants_pass(module, choose)
    if config.external_mutable_weights:
        external_mutable_weights_pass(module, program)
    planner = for_method(config.memory_planning_pass, method, MemoryPlanningPass)
    mark_shared_state(program, module, shared)
    module = _plan(planner, module, program.graph_signature, config)
    program._graph_module = module
    program._verifiers = verifiers


def _kernels_of(config: ExecutorchBackendConfig) -> Callable[[str, str], bool]:
    """Whether the target has a kernel for an operator and a dtype; nothing is known of another runtime."""

    def available(operator: str, dtype: str) -> bool:
        target = config.target
        if target is None or operator not in target:
            return False
        dtypes = target.dtypes(operator)
        return dtypes is None or dtype in dtypes

    return available


def _can_share(planner: Any) -> bool:
    """Whether a planner gives marked buffers one place: the default one over all methods."""
    return (
        type(planner) is MemoryPlanningPass
        and planner.memory_planning_algo is None
        and planner.alloc_mutable_buffers
        and not planner.share_mutable_buffers
    )


def _may_optimize(program: ExportedProgram, config: ExecutorchBackendConfig) -> bool:
    """Whether constants may change: not where names of weights are a contract, nor in training graphs."""
    signature = program.graph_signature
    return signature.backward_signature is None and not config.external_constants


def _plan(
    planner: Any, module: GraphModule, signature: ExportGraphSignature, config: ExecutorchBackendConfig
) -> GraphModule:
    if hasattr(planner, "enable_non_cpu_memory_planning"):
        planner.enable_non_cpu_memory_planning = config.enable_non_cpu_memory_planning
    result = planner.run(module, signature) if hasattr(planner, "run") else planner(module)
    planned: GraphModule = result.graph_module
    return planned


class ExecutorchProgramManager:
    """A program file: the planned graphs of its methods, its tables and its bytes."""

    def __init__(
        self,
        execution_programs: dict[str, ExportedProgram],
        config_methods: dict[str, Any] | None = None,
        backend_config: ExecutorchBackendConfig | None = None,
        named_data: Any = None,
    ) -> None:
        config = backend_config or ExecutorchBackendConfig()
        self._execution_programs = execution_programs
        self._config_methods = config_methods
        self._etrecord: Any = None
        options = EmitOptions(
            stack_traces=config.emit_stacktrace,
            target=config.target,
            state_names=config.emit_mutable_buffer_names,
        )
        self._emitter_output: EmitterOutput = emit_program(
            execution_programs, prim_getters=config_methods, options=options
        )
        self._write_options: dict[str, Any] = {
            "constant_tensor_alignment": config.constant_tensor_alignment or DEFAULT_CONSTANT_ALIGNMENT,
            "segment_alignment": config.segment_alignment,
            "delegate_alignment": config.delegate_alignment,
            "extract_delegate_segments": config.extract_delegate_segments,
        }
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
        """The program as dataclasses, before it is written."""
        return self._emitter_output.program

    @property
    def debug_handle_map(self) -> dict[str, dict[int, Any]]:
        """For each method, the debug handle of each instruction by its index."""
        return self._emitter_output.debug_handle_map

    @property
    def delegate_map(self) -> dict[str, dict[int, dict[str, Any]]]:
        """For each method and each delegate call, by the index of its instruction: the name of the backend
        and its debug map.
        """
        return self._emitter_output.method_to_delegate_debug_id_map

    @property
    def instruction_id_to_num_outs_map(self) -> dict[str, dict[int, int]]:
        """For each method and each delegate call, by the index of its instruction: the number of its
        results.
        """
        return self._emitter_output.instruction_id_to_num_outs_map

    def locate(self, error: ExecutionError) -> list[LocatedOperator]:
        """Returns the operators of the model, with their lines, at which an execution of this program failed.

        Args:
            error: the exception of the runtime.

        Returns:
            The operators. Inside a delegate they are those that the backend named, or all of the delegate.
        """
        modules = {name: program.graph_module for name, program in self._execution_programs.items()}
        return locate(error, modules, self.debug_handle_map, self.delegate_map)

    @property
    def buffer(self) -> bytes:
        """The bytes of the .pte file. They are made at the first use."""
        if self._buffer is None:
            self._buffer = write_pte(self._emitter_output.pte, **self._write_options)
        return self._buffer

    @property
    def data_files(self) -> dict[str, bytes]:
        """The bytes of each .ptd file, by the name of its tag."""
        files = self._emitter_output.external_constants
        alignment = self._write_options["segment_alignment"]
        return {tag: write_ptd(entries, segment_alignment=alignment) for tag, entries in files.items()}

    @property
    def _tensor_data(self) -> dict[str, bytes]:
        # What users of the field read.
        if self._data_files is None:
            self._data_files = self.data_files
        return self._data_files

    def write_to_file(self, open_file: BinaryIO) -> None:
        """Writes the .pte file to an open binary file, without a copy in memory."""
        write_pte_to_file(self._emitter_output.pte, open_file, **self._write_options)

    def write_tensor_data_to_file(self, outdir: str | os.PathLike[str]) -> None:
        """Writes each .ptd file into a folder."""
        alignment = self._write_options["segment_alignment"]
        for tag, entries in self._emitter_output.external_constants.items():
            name = tag if tag.endswith(".ptd") else f"{tag}.ptd"
            write_ptd_to_file(entries, Path(outdir) / name, segment_alignment=alignment)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the .pte file. If writing fails, no incomplete file is left.

        Args:
            path: the path of the file; it must end with .pte.

        Raises:
            ValueError: the path has another ending.
            OSError: the file cannot be written.
        """
        if not str(path).endswith(".pte"):
            raise ValueError(f"Path {path} does not end with .pte")
        write_pte_to_file(self._emitter_output.pte, path, **self._write_options)

    def dump_executorch_program(self, verbose: bool = False, out: TextIO | None = None) -> None:
        """Prints the program.

        Args:
            verbose: print every field instead of one line for each value and instruction.
            out: the output; None means standard output.
        """
        text = repr(self._emitter_output.pte.program) if verbose else format_pte(self._emitter_output.pte)
        print(text, file=out if out is not None else sys.stdout)

    def get_etrecord(self) -> Any:
        """Returns the record of the compile for developer tools.

        Raises:
            RuntimeError: there is no record.
        """
        if self._etrecord is None:
            raise RuntimeError("ETRecord was not generated")
        return self._etrecord


def _write_lowered(lowered: LoweredBackendModule, **options: Any) -> ExecutorchProgramManager:
    """The program whose only instruction calls a lowered module."""
    planning = options.pop("memory_planning", None)
    config = ExecutorchBackendConfig(**{key: value for key, value in options.items() if value is not None})
    if planning is not None:
        config.memory_planning_pass = planning
    return lower_programs({"forward": program_around(lowered)}, config)


set_program_writer(_write_lowered)
