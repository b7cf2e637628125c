"""Makes an exported program of a submodule that a graph calls, for manual partitioning."""

from __future__ import annotations

import operator

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import GraphModule, Node

from rushlight.compat.submodules import arrange_graph_outputs
from rushlight.delegate.part_program import argument_of, program_inside
from rushlight.ir import meta

_ORDER = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def create_exported_program_from_submodule(
    submodule: GraphModule,
    owning_program: ExportedProgram,
    tag: str,
    call_module_node: Node,
    is_submodule: bool,
) -> tuple[ExportedProgram, dict[str, InputSpec], dict[str, OutputSpec]]:
    """Makes a program of a submodule. It owns the constants that have the tag of the submodule.

    The placeholders and outputs of the submodule are sorted: constants precede inputs, and new values of
    buffers precede results. The owning program is not changed, except for the getitem nodes of the call.

    Args:
        submodule: the submodule, such as the result of `create_submodule_from_nodes`.
        owning_program: the program with the parameters and buffers.
        tag: the delegation tag of the constants that the new program owns.
        call_module_node: the node that calls the submodule.
        is_submodule: whether this node lies in a body of control flow. The new program then owns no
            constants.

    Returns:
        The program; the input specs of the constants that it owns, by the names of their placeholders; the
        output specs of the new values of these buffers, by the names of the values. The owning program no
        longer needs these specs.

    Raises:
        ValueError: the new value of a buffer with the tag is also another output of the program.
    """
    owned = {} if is_submodule else _owned_constants(submodule, owning_program, tag)
    _sort_placeholders(submodule, owned)
    inputs = [
        owned.get(node.name) or InputSpec(InputKind.USER_INPUT, argument_of(node), None)
        for node in submodule.graph.nodes
        if node.op == "placeholder"
    ]
    mutations = _owned_mutations(owning_program, call_module_node, {spec.target for spec in owned.values()})
    outputs = []
    for index, result in enumerate(submodule.graph.output_node().args[0]):  # type: ignore[arg-type]
        if index in mutations:
            argument = TensorArgument(result.name)
            outputs.append(OutputSpec(OutputKind.BUFFER_MUTATION, argument, mutations[index].target))
        else:
            value = argument_of(result) if isinstance(result, Node) else ConstantArgument("", result)
            outputs.append(OutputSpec(OutputKind.USER_OUTPUT, value, None))
    arrange_graph_outputs(submodule, outputs, call_module_node)
    state: dict[str, torch.Tensor] = {}
    constants: dict[str, object] = {}
    for target in (str(spec.target) for spec in owned.values()):
        if target in owning_program.state_dict:
            state[target] = owning_program.state_dict[target]
        else:
            constants[target] = owning_program.constants[target]
    signature = ExportGraphSignature(inputs, outputs)
    program = program_inside(owning_program, submodule, signature, state, constants)
    return program, owned, {spec.arg.name: spec for spec in mutations.values()}


def arrange_graph_placeholders(gm: GraphModule, owning_program: ExportedProgram, tag: str) -> GraphModule:
    """Sorts the placeholders in place: parameters, buffers and constants with the tag precede the others.

    Args:
        gm: the graph module, whose placeholders have the names of the owning program.
        owning_program: the program with the parameters and buffers.
        tag: the delegation tag of the constants that `gm` owns.

    Returns:
        `gm`.
    """
    _sort_placeholders(gm, _owned_constants(gm, owning_program, tag))
    return gm


def _owned_constants(gm: GraphModule, program: ExportedProgram, tag: str) -> dict[str, InputSpec]:
    """Returns the specs of constants of the program that have the tag in the graph, by placeholder name."""
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs if hasattr(spec.arg, "name")}
    tagged = [
        node.name
        for node in gm.graph.nodes
        if node.op == "placeholder" and meta.get_delegation_tag(node) == tag and node.name in specs
    ]
    return {name: specs[name] for name in tagged if specs[name].kind in _ORDER}


def _sort_placeholders(gm: GraphModule, owned: dict[str, InputSpec]) -> None:
    """Moves the placeholders to the begin of the graph: constants by their kind, then the others."""
    nodes = [node for node in gm.graph.nodes if node.op == "placeholder"]
    nodes.sort(key=lambda node: _ORDER.index(owned[node.name].kind) if node.name in owned else len(_ORDER))
    for node in reversed(nodes):
        first = next(iter(gm.graph.nodes))
        if node is not first:
            first.prepend(node)
    gm.recompile()


def _owned_mutations(program: ExportedProgram, call: Node, targets: set[str | None]) -> dict[int, OutputSpec]:
    """Returns the output spec of each result of the call that is the new value of an owned buffer."""
    mutations: dict[int, OutputSpec] = {}
    for user in call.users:
        specs = [
            spec
            for spec in program.graph_signature.output_specs
            if getattr(spec.arg, "name", "") == user.name
        ]
        owned = [spec for spec in specs if spec.kind == OutputKind.BUFFER_MUTATION and spec.target in targets]
        if user.target is operator.getitem and owned:
            if len(specs) > 1:
                raise ValueError(
                    f"the new value {user.name} of the buffer {owned[0].target}, which has the tag of the "
                    "submodule, is also another output of the program; remove the tag from this buffer"
                )
            mutations[user.args[1]] = owned[0]  # type: ignore[index]
    return mutations
