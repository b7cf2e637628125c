"""`to_backend` lowers a whole program, the parts that a partitioner tags, or the parts of several methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule

from rushlight.delegate.backend import CompileSpec, PreprocessResult, find_backend
from rushlight.delegate.lowered import LoweredBackendModule
from rushlight.delegate.named_data import kept_in_file
from rushlight.delegate.partitioner import Partitioner
from rushlight.delegate.split import Cut, Part, cut_program, splice
from rushlight.ir import meta
from rushlight.ir.errors import CompileError
from rushlight.ir.facts import MethodProgram, facts_of, stored_targets, with_marks
from rushlight.ir.program import copy_program, rebuild_program
from rushlight.ir.shared_state import shared_state

_validate: ContextVar[bool] = ContextVar("validate", default=True)


@contextmanager
def validation_disabled() -> Iterator[None]:
    """Turns off, in its context, the check that partitioners change nothing but tags."""
    token = _validate.set(False)
    try:
        yield
    finally:
        _validate.reset(token)


@dataclass
class MethodProgramsPartitionerSpec:
    """Edge programs and partitioners by method name."""

    method_to_edge_program: Mapping[str, ExportedProgram]
    method_to_partitioner: Mapping[str, Partitioner]


@singledispatch
def to_backend(args: Any, *rest: Any) -> Any:
    """Lowers to a backend, by the type of the first argument:

    to_backend(backend_id: str, edge_program, compile_specs) -> LoweredBackendModule: the whole program.
    to_backend(edge_program, partitioner) -> ExportedProgram: the parts that the partitioner tags.
    to_backend(MethodProgramsPartitionerSpec) -> dict[str, ExportedProgram]: those of several methods,
    compiled together.

    The programs given are not changed. Raises NotImplementedError if no backend of the id has been imported,
    and CompileError for tags that cannot be followed.
    """
    raise TypeError(
        f"to_backend takes a backend id, an ExportedProgram or a spec of methods, not {type(args).__name__}"
    )


def _lowered(
    program: ExportedProgram, backend_id: str, specs: list[CompileSpec], result: PreprocessResult
) -> LoweredBackendModule:
    store = result.data_store_output
    file = _file_of_constants(program, backend_id)
    if store is not None and file is not None:
        store = kept_in_file(store, file)
    lowered = LoweredBackendModule(program, backend_id, result.processed_bytes, specs, store)
    described: dict[str, Any] = {"debug_handle_map": result.debug_handle_map}
    if result._delegate_info_meta is not None:
        described["_delegate_info_meta"] = result._delegate_info_meta
    lowered.meta = described
    return lowered


def _file_of_constants(program: ExportedProgram, backend_id: str) -> str | None:
    """The file that the user asks for to hold the constants of a part, None if there is none.

    A backend packs and merges constants: those of one part stay together, and constants for which the user
    names no file stay with the others. Raises CompileError for several files in a part.
    """
    wanted = with_marks(program, facts_of(program)).delegate_constant_files
    targets = stored_targets(program)
    files = {wanted[target]: name for name, target in targets.items() if target in wanted}
    if len(files) > 1:
        names = ", ".join(f"{name} in {file!r}" for file, name in files.items())
        raise CompileError(
            f"{backend_id} keeps the constants of one delegate in one file, but tags ask for {names}: "
            "give all constants of a delegate the same tag"
        )
    return next(iter(files), None)


@to_backend.register
def _(
    backend_id: str, edge_program: ExportedProgram, compile_specs: list[CompileSpec]
) -> LoweredBackendModule:
    backend = find_backend(backend_id)
    copied = backend.copy_exported_program_for_preprocess(edge_program, compile_specs)
    return _lowered(edge_program, backend_id, compile_specs, backend.preprocess(copied, compile_specs))


@to_backend.register
def _(edge_program: ExportedProgram, partitioner_instance: Partitioner) -> ExportedProgram:
    spec = MethodProgramsPartitionerSpec({"forward": edge_program}, {"forward": partitioner_instance})
    return lower_methods(spec)["forward"]


@to_backend.register
def _(method_edge_program_partitioners: MethodProgramsPartitionerSpec) -> dict[str, ExportedProgram]:
    return lower_methods(method_edge_program_partitioners)


def lower_methods(spec: MethodProgramsPartitionerSpec) -> dict[str, ExportedProgram]:
    """Returns the program of every method. Programs with a partitioner have calls in place of their parts."""
    results = dict(spec.method_to_edge_program)
    cuts: dict[str, list[Cut]] = {}
    tagged: dict[str, MethodProgram] = {}
    shared = shared_state(results)
    for method, partitioner in spec.method_to_partitioner.items():
        if method not in results:
            raise CompileError(f"there is a partitioner for method {method} but no program")
        facts = replace(facts_of(results[method]), shared_state=shared[method])
        tagged[method] = program = copy_program(results[method], facts)
        before = _fingerprint(program.graph_module)
        partition = partitioner(program)
        if partition.partition_tags is None:
            raise CompileError(f"{type(partitioner).__name__} gave no partition_tags for method {method}")
        if partition.tagged_exported_program is not program:
            program = copy_program(partition.tagged_exported_program, facts)
            tagged[method] = program
        if _validate.get() and _fingerprint(program.graph_module) != before:
            raise AssertionError(f"The partitioner {partitioner} should not modify the graph module")
        cuts[method] = cut_program(program, partition.partition_tags)
    for backend_id in _backends(cuts):
        _preprocess(backend_id, cuts)
    for method, program in tagged.items():
        handles = (meta.get_debug_handle(node) for node in program.graph.nodes)
        handle = max((h for h in handles if isinstance(h, int)), default=0) + 1
        for cut in cuts[method]:
            handle = splice(cut, handle)
            for node in cut.module.graph.nodes:
                meta.clear_delegation_tag(node)
        results[method] = rebuild_program(program, program.graph_module)
    return results


def _parts(cuts: list[Cut], backend_id: str) -> list[Part]:
    return [part for cut in cuts for part in cut.parts.values() if part.spec.backend_id == backend_id]


def _backends(cuts: dict[str, list[Cut]]) -> list[str]:
    names = [
        part.spec.backend_id for method in cuts.values() for cut in method for part in cut.parts.values()
    ]
    return list(dict.fromkeys(names))


def _preprocess(backend_id: str, cuts: dict[str, list[Cut]]) -> None:
    backend = find_backend(backend_id)
    parts = {method: found for method, of in cuts.items() if (found := _parts(of, backend_id))}
    programs: dict[str, list[ExportedProgram]] = {}
    specs: dict[str, list[list[CompileSpec]]] = {}
    for method, of in parts.items():
        specs[method] = [part.spec.compile_specs for part in of]
        programs[method] = [
            backend.copy_exported_program_for_preprocess(part.program, part.spec.compile_specs)
            for part in of
            if part.program is not None
        ]
    results = backend.preprocess_multimethod(programs, specs)
    for method, of in parts.items():
        if len(results.get(method, ())) != len(of):
            raise CompileError(
                f"{backend_id}.preprocess_multimethod gave {len(results.get(method, ()))} results for the "
                f"{len(of)} parts of method {method}"
            )
        for part, result in zip(of, results[method], strict=True):
            assert part.program is not None
            part.lowered = _lowered(part.program, backend_id, part.spec.compile_specs, result)


def _fingerprint(module: GraphModule) -> list[tuple[str, object, int]]:
    """Operators and arities in order: what a partitioner must leave as it is."""
    return [(node.op, node.target, len(node.all_input_nodes)) for node in module.graph.nodes]
