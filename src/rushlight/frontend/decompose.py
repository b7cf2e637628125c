"""Decomposes the ATen dialect to Core ATen, by one walk over the graph or by torch's decomposition.

`FastDecomposer` does not support all programs. The others are decomposed by
`ExportedProgram.run_decompositions`, which gives an equivalent program and is slower.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import torch
from torch._export.verifier import Verifier
from torch._higher_order_ops.effects import _get_effect, _register_effectful_op
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Node
from torch.fx.node import Argument

from rushlight.frontend import tables
from rushlight.frontend.body_constants import lift_body_constants
from rushlight.frontend.data_assignment import apply_data_assignments
from rushlight.frontend.diagnosis import plain_words
from rushlight.frontend.fast_decomposer import FastDecomposer, Tools
from rushlight.frontend.recorder import NeedsFallback
from rushlight.frontend.relations import relations_of
from rushlight.ir import meta
from rushlight.ir.facts import MethodProgram, ProgramFacts, with_marks
from rushlight.ir.fake import fake_mode_of, no_new_guards
from rushlight.ir.program import copy_program, make_program, rename_outputs
from rushlight.passes.base import graph_modules

_COPIED_OUTPUTS = (OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)


def decompose(program: ExportedProgram, preserve: Collection[OpOverload] = ()) -> MethodProgram:
    """Decomposes a program to Core ATen.

    Args:
        program: the program; it is not changed. If it has no `ProgramFacts` yet, they are read from it.
        preserve: functional operators that are not decomposed.

    Returns:
        A program that shares its parameters, buffers and constants with `program`.

    Raises:
        ExportError: torch cannot decompose an operator, or the model assigns to the data of an input.
    """
    facts = program.facts if isinstance(program, MethodProgram) else read_facts(program)
    program = apply_data_assignments(program)
    with plain_words(), no_new_guards(fake_mode_of(program.graph)):
        try:
            result = _decompose_fast(program, preserve)
        except NeedsFallback:
            _clear_pending_symbols(program)
            with plain_words(what="torch cannot decompose the model into Core ATen"):
                core = _decompose_by_torch(program, preserve)
            result = make_program(core, core.graph_module, core.graph, core.graph_signature)
    result.facts = facts
    _normalize_constants(result)
    return result


def _normalize_constants(program: MethodProgram) -> None:
    """Orders constants as torch does, behind parameters and buffers, and marks them as not persistent."""
    specs = program.graph_signature.input_specs
    for index, spec in enumerate(specs):
        if spec.kind is InputKind.CONSTANT_TENSOR:
            # A new spec, because the original program shares the old one.
            specs[index] = InputSpec(spec.kind, spec.arg, spec.target)
    kinds = [spec.kind for spec in specs]
    state = [i for i, kind in enumerate(kinds) if kind in (InputKind.PARAMETER, InputKind.BUFFER)]
    moved = [
        i for i, kind in enumerate(kinds) if kind is InputKind.CONSTANT_TENSOR and i < max(state, default=0)
    ]
    if not moved:
        return
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    behind = nodes[state[-1]]
    for index in reversed(moved):
        behind.append(nodes[index])
    stay = [spec for i, spec in enumerate(specs) if i not in moved]
    place = state[-1] + 1 - len(moved)
    specs[:] = [*stay[:place], *(specs[i] for i in moved), *stay[place:]]


def _decompose_by_torch(program: ExportedProgram, preserve: Collection[OpOverload]) -> ExportedProgram:
    """Calls torch's decomposition, and suppresses the FutureWarning that torch causes itself (LeafSpec)."""
    with warnings.catch_warnings(), _without_effect(torch.ops.aten._linalg_check_errors.default):
        warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)
        table = tables.general_table(preserve)
        core: ExportedProgram = _without_inactive_dropout(lift_body_constants(program)).run_decompositions(
            table
        )
    return core


def _without_inactive_dropout(program: ExportedProgram) -> ExportedProgram:
    """Replaces inactive dropout by its input. torch would make a copy, although the model may write to it."""
    if not _inactive_dropouts(program):
        return program
    copied = copy_program(program)
    for node in _inactive_dropouts(copied):
        node.replace_all_uses_with(node.args[0])  # type: ignore[arg-type]
        node.graph.erase_node(node)
    rename_outputs(copied)
    for module in graph_modules(copied.graph_module):
        module.recompile()
    return copied


def _inactive_dropouts(program: ExportedProgram) -> list[Node]:
    return [
        node
        for module in graph_modules(program.graph_module)
        for node in module.graph.find_nodes(op="call_function", target=torch.ops.aten.dropout.default)
        if not (node.args[1] and node.args[2])
    ]


@contextmanager
def _without_effect(op: OpOverload) -> Iterator[None]:
    """Lets torch decompose `op`. torch decomposes no operator that has an effect."""
    effect = _get_effect(op)
    _register_effectful_op(op, None)
    try:
        yield
    finally:
        _register_effectful_op(op, effect)


def read_facts(
    program: ExportedProgram, shared_state: Mapping[str, str] = MappingProxyType({})
) -> ProgramFacts:
    """Reads the facts of a program, which its graph does not contain.

    Args:
        program: a program from torch.export.
        shared_state: maps the qualified name of a buffer to the name of the state that it shares with other
            methods.
    """
    return with_marks(program, ProgramFacts(relations_of(program), dict(shared_state)))


def _clear_pending_symbols(program: ExportedProgram) -> None:
    """Clears the list of data-dependent sizes that no node of the program binds.

    The fast walk may leave such sizes in the program's fake mode, and torch's tracer would raise an error.
    """
    for node in program.graph.nodes:
        val = meta.get_val(node) if meta.has_val(node) else None
        if isinstance(val, FakeTensor):
            if val.fake_mode.shape_env is not None:
                val.fake_mode.shape_env.pending_fresh_unbacked_symbols.clear()
            return


def why_general(program: ExportedProgram, preserve: Collection[OpOverload] = ()) -> str | None:
    """Returns why the program needs torch's decomposition; None if `FastDecomposer` supports it."""
    try:
        _decompose_fast(program, preserve)
    except NeedsFallback as reason:
        return str(reason)
    return None


def _decompose_fast(program: ExportedProgram, preserve: Collection[OpOverload]) -> MethodProgram:
    if any(entry.fqn and entry.signature is not None for entry in program.module_call_graph):
        raise NeedsFallback("the call signatures of submodules are preserved")
    if program.graph_signature.backward_signature is not None:
        raise NeedsFallback("the program contains a backward pass")
    tools = Tools.of(program.graph, preserve)
    decomposer = FastDecomposer(program.graph_module, tools)
    with tools.expander.active():
        output = decomposer.run()
        signature, results = _outputs(program, decomposer, output)
        decomposer.finish(tuple(results), output)
    return make_program(program, decomposer.attributes, decomposer.graph, signature, verifiers=[Verifier])


def _outputs(
    program: ExportedProgram, decomposer: FastDecomposer, output: Node
) -> tuple[ExportGraphSignature, list[Argument]]:
    """Returns the new signature and the results: written values first, then the old program's outputs.

    A constant that the program writes, such as a cache in an attribute of a module, becomes a buffer.
    """
    signature = program.graph_signature
    inputs = list(signature.input_specs)
    specs: list[OutputSpec] = []
    results: list[Argument] = []
    for index, (spec, placeholder) in enumerate(zip(inputs, decomposer.placeholders, strict=True)):
        content = decomposer.content(placeholder)
        if content is placeholder:
            continue
        if spec.kind == InputKind.BUFFER:
            kind, name = OutputKind.BUFFER_MUTATION, spec.target
        elif spec.kind == InputKind.USER_INPUT:
            kind, name = OutputKind.USER_INPUT_MUTATION, placeholder.name
        elif spec.kind == InputKind.CONSTANT_TENSOR:
            kind, name = OutputKind.BUFFER_MUTATION, spec.target
            inputs[index] = InputSpec(InputKind.BUFFER, spec.arg, spec.target, persistent=False)
        else:
            raise NeedsFallback(f"{spec.kind.name.lower()} {spec.target} is written")
        specs.append(OutputSpec(kind, TensorArgument(content.name), name))
        results.append(content)
    old_results = output.args[0]
    assert isinstance(old_results, (list, tuple))
    for spec, item in zip(signature.output_specs, old_results, strict=True):
        if spec.kind not in _COPIED_OUTPUTS:
            raise NeedsFallback(f"output of kind {spec.kind.name}")
        new = decomposer.mapped(item)
        argument = spec.arg
        if isinstance(new, Node):
            argument = type(argument)(new.name)
        specs.append(OutputSpec(spec.kind, argument, spec.target))
        results.append(new)
    return ExportGraphSignature(inputs, specs), results
