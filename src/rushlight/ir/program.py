"""Exported programs made from their parts; the Python code of their graphs is generated when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.export import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import Graph, GraphModule
from torch.fx._lazy_graph_module import _LazyGraphModule


def make_program(
    like: ExportedProgram,
    attributes: torch.nn.Module | Mapping[str, Any],
    graph: Graph,
    graph_signature: ExportGraphSignature,
    *,
    state_dict: dict[str, Any] | None = None,
    constants: dict[str, Any] | None = None,
    verifiers: list[Any] | None = None,
) -> ExportedProgram:
    """A program over `graph`; whatever is not given is taken from `like`.

    `attributes` holds what `get_attr` nodes read. The result is not validated; call `validate()` for that.
    Tables of tensors are copied, tensors are shared.
    """
    program = ExportedProgram(
        root={},
        graph=_empty_graph(),
        graph_signature=ExportGraphSignature([], []),
        state_dict=dict(like.state_dict) if state_dict is None else state_dict,
        range_constraints=dict(like.range_constraints),
        module_call_graph=copy_call_graph(like.module_call_graph),
        example_inputs=like.example_inputs,
        constants=dict(like.constants) if constants is None else constants,
        verifiers=[like.verifier] if verifiers is None else verifiers,
    )
    module = lazy_module(attributes, graph)
    module.meta.update(like.graph_module.meta)
    program._graph_module = module
    program._graph_signature = graph_signature
    program._guards_code = list(like._guards_code)
    return program


def copy_signature(signature: ExportGraphSignature) -> ExportGraphSignature:
    """A signature whose lists and specs may be changed; their arguments are shared."""
    return ExportGraphSignature(
        [replace(spec) for spec in signature.input_specs], [replace(spec) for spec in signature.output_specs]
    )


def copy_call_graph(entries: Iterable[ModuleCallEntry]) -> list[ModuleCallEntry]:
    """Entries whose arguments may be renamed; the specs of pytrees are shared."""
    return [ModuleCallEntry(e.fqn, e.signature and _copy_call_signature(e.signature)) for e in entries]


def _copy_call_signature(signature: ModuleCallSignature) -> ModuleCallSignature:
    return replace(
        signature,
        inputs=[replace(argument) for argument in signature.inputs],
        outputs=[replace(argument) for argument in signature.outputs],
    )


def lazy_module(attributes: torch.nn.Module | Mapping[str, Any], graph: Graph) -> GraphModule:
    """A graph module whose code is generated when it is read or called."""
    module: GraphModule = _LazyGraphModule(attributes, graph)  # type: ignore[arg-type]
    return module


def _empty_graph() -> Graph:
    graph = Graph()
    graph.output(())
    return graph
