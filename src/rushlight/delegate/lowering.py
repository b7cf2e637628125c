"""Lowers a whole program, or the tagged partitions of several methods, to backends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch.export import ExportedProgram
from torch.fx import GraphModule

from rushlight.delegate.backend import CompileSpec, PreprocessResult, find_backend
from rushlight.delegate.constants import ConstantFiles
from rushlight.delegate.insert_calls import insert_delegate_calls
from rushlight.delegate.lowered import LoweredBackendModule, Writer, add_lowered_module
from rushlight.delegate.named_data import kept_in_file
from rushlight.delegate.part import GraphParts, Part
from rushlight.delegate.partitioner import DelegationSpec, Partitioner
from rushlight.delegate.split import split_program
from rushlight.ir import meta
from rushlight.ir.errors import CompileError
from rushlight.ir.facts import MethodProgram, ProgramFacts, facts_of
from rushlight.ir.program import copy_program, rebuild_program
from rushlight.ir.progress import working
from rushlight.ir.shared_state import shared_state


@dataclass
class MethodProgramsPartitionerSpec:
    """Edge programs and partitioners by method name."""

    method_to_edge_program: Mapping[str, ExportedProgram]
    method_to_partitioner: Mapping[str, Partitioner]


class PartitionerError(CompileError, AssertionError):
    """A partitioner did not meet the contract of `Partitioner`."""


def _lowered(
    program: ExportedProgram,
    backend_id: str,
    specs: list[CompileSpec],
    result: PreprocessResult,
    writer: Writer | None,
) -> LoweredBackendModule:
    store = result.data_store_output
    files = ConstantFiles(program)
    if store is not None and files.single is not None:
        store = kept_in_file(store, files.single)
    elif store is not None and files.names and not store.external_data:
        raise CompileError(
            f"{backend_id} stores the constants of one delegate in one file, but their tags require "
            f"{', '.join(sorted(files.names))}: give all constants of a delegate the same tag"
        )
    lowered = LoweredBackendModule(program, backend_id, result.processed_bytes, specs, store, writer)
    metadata: dict[str, object] = {"debug_handle_map": result.debug_handle_map}
    if result._delegate_info_meta is not None:
        metadata["_delegate_info_meta"] = result._delegate_info_meta
    lowered.meta = metadata
    return lowered


def lower_program(
    backend_id: str, program: ExportedProgram, specs: list[CompileSpec], writer: Writer | None = None
) -> LoweredBackendModule:
    """Lowers a whole edge program to one backend.

    Args:
        backend_id: the name of a backend that has been imported.
        program: the edge program. It is not changed.
        specs: the options of the backend.
        writer: makes a program file of the lowered module.

    Raises:
        NotImplementedError: no backend with this name has been imported.
    """
    backend = find_backend(backend_id)
    copied = backend.copy_exported_program_for_preprocess(program, specs)
    return _lowered(program, backend_id, specs, backend.preprocess(copied, specs), writer)


def lower_methods(
    spec: MethodProgramsPartitionerSpec, writer: Writer | None = None, *, by_tag: bool = False
) -> dict[str, ExportedProgram]:
    """Lowers the tagged partitions of several methods together.

    Args:
        spec: programs and partitioners, by method name. The programs are not changed.
        writer: makes a program file of a lowered module.
        by_tag: lower and number the partitions of each graph in the order of the partitioner's tags, instead
            of backend by backend, and those of a backend in the order of the graph.

    Returns:
        The program of every method. In programs with a partitioner, delegate calls replace the partitions.

    Raises:
        CompileError: the tags of a program do not define valid partitions, or a partitioner has no program.
        AssertionError: a partitioner changed more than tags, or returned no tags.
    """
    results = dict(spec.method_to_edge_program)
    graphs: dict[str, list[GraphParts]] = {}
    tagged: dict[str, MethodProgram] = {}
    backends: list[str] = []  # of the tags of all methods in order
    shared = shared_state(results)
    for method, partitioner in spec.method_to_partitioner.items():
        if method not in results:
            raise CompileError(f"method {method} has a partitioner but no program")
        facts = replace(facts_of(results[method]), shared_state=shared[method])
        tagged[method], tags = _tagged(results[method], facts, partitioner, method)
        graphs[method] = split_program(tagged[method], tags)
        used = {tag for graph in graphs[method] for tag in graph.parts}
        backends += [tags[tag].backend_id for tag in tags if tag in used]
        if by_tag:
            for graph in graphs[method]:
                graph.parts = {tag: graph.parts[tag] for tag in tags if tag in graph.parts}
    for backend_id in dict.fromkeys(backends):
        with working(f"lower to {backend_id}"):
            _preprocess(backend_id, graphs, writer)
    for graph in (graph for items in graphs.values() for graph in items):
        parts = graph.parts.values()
        for part in parts if by_tag else sorted(parts, key=lambda part: backends.index(part.spec.backend_id)):
            assert part.lowered is not None
            part.name = add_lowered_module(graph.module, part.lowered)
    for method, program in tagged.items():
        _insert_calls(program, graphs[method])
        results[method] = rebuild_program(program, program.graph_module)
    return results


def _tagged(
    program: ExportedProgram, facts: ProgramFacts, partitioner: Partitioner, method: str
) -> tuple[MethodProgram, dict[str, DelegationSpec]]:
    """Runs a partitioner on a copy of a program, and checks what the partitioner changed.

    Args:
        program: the program of a method. It is not changed.
        facts: the facts about the program.
        partitioner: the partitioner.
        method: the name of the method, for errors.

    Returns:
        The copy, whose nodes have tags, and the meaning of each tag.

    Raises:
        AssertionError: the partitioner changed more than tags, or returned no tags.
    """
    tagged = copy_program(program, facts)
    before = _fingerprint(tagged.graph_module)
    partition = partitioner(tagged)
    if partition.partition_tags is None:
        raise PartitionerError(
            f"{type(partitioner).__name__} gave no partition_tags for method {method}: a partitioner "
            "needs a `partition_tags` field containing a mapping of tags to delegate spec"
        )
    if partition.tagged_exported_program is not tagged:
        tagged = copy_program(partition.tagged_exported_program, facts)
    if not partitioner.changes_graph and _fingerprint(tagged.graph_module) != before:
        raise AssertionError(f"The partitioner {partitioner} should not modify the graph module")
    return tagged, partition.partition_tags


def _insert_calls(program: MethodProgram, graphs: list[GraphParts]) -> None:
    """Replaces the partitions of a program by calls of their lowered modules, and removes all tags."""
    handles = (meta.get_debug_handle(node) for node in program.graph.nodes)
    handle = max((h for h in handles if isinstance(h, int)), default=0) + 1
    for graph in graphs:
        handle = insert_delegate_calls(graph, handle)
        for node in graph.module.graph.nodes:
            meta.clear_delegation_tag(node)


def _parts(graphs: list[GraphParts], backend_id: str) -> list[Part]:
    """Returns the partitions of one backend in the graphs of a method."""
    return [part for graph in graphs for part in graph.parts.values() if part.spec.backend_id == backend_id]


def _preprocess(backend_id: str, graphs: dict[str, list[GraphParts]], writer: Writer | None) -> None:
    """Lowers the partitions of one backend, with one call of the backend for all methods.

    Args:
        backend_id: the name of the backend.
        graphs: the graphs of each method and their partitions. Their `lowered` is set.
        writer: makes a program file of a lowered module.

    Raises:
        CompileError: the backend returned another number of results.
    """
    backend = find_backend(backend_id)
    parts_of = {method: parts for method, items in graphs.items() if (parts := _parts(items, backend_id))}
    programs: dict[str, list[ExportedProgram]] = {}
    specs: dict[str, list[list[CompileSpec]]] = {}
    for method, parts in parts_of.items():
        specs[method] = [part.spec.compile_specs for part in parts]
        programs[method] = [
            backend.copy_exported_program_for_preprocess(part.program, part.spec.compile_specs)
            for part in parts
            if part.program is not None
        ]
    results = backend.preprocess_multimethod(programs, specs)
    for method, parts in parts_of.items():
        if len(results.get(method, ())) != len(parts):
            raise CompileError(
                f"{backend_id}.preprocess_multimethod returned {len(results.get(method, ()))} results for "
                f"the {len(parts)} partitions of method {method}"
            )
        for part, result in zip(parts, results[method], strict=True):
            assert part.program is not None
            part.lowered = _lowered(part.program, backend_id, part.spec.compile_specs, result, writer)


def _fingerprint(module: GraphModule) -> list[tuple[str, object, int]]:
    """Returns the operators and their numbers of inputs in order, which a partitioner must not change."""
    return [(node.op, node.target, len(node.all_input_nodes)) for node in module.graph.nodes]
