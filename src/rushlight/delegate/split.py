"""Finds the partitions of a program that are tagged, with the constants, inputs and outputs of each."""

from __future__ import annotations

import operator
from collections.abc import Iterator

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec
from torch.fx import Graph, GraphModule, Node

from rushlight.delegate.constants import new_values_of_buffers
from rushlight.delegate.order import order_of_parts
from rushlight.delegate.part import GraphParts, Part
from rushlight.delegate.part_program import part_program
from rushlight.delegate.partitioner import DelegationSpec
from rushlight.ir import meta
from rushlight.ir.control_flow import control_flow_submodules
from rushlight.ir.errors import CompileError
from rushlight.ir.facts import shared_placeholders
from rushlight.ir.verifier import stands_for_executorch

# In the order in which the placeholders of a program have these kinds.
_CONSTANT_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def split_program(program: ExportedProgram, tags: dict[str, DelegationSpec]) -> list[GraphParts]:
    """Returns the partitions of a program's main graph and of all graphs inside its control flow.

    Args:
        program: a program whose nodes have tags. It is not changed.
        tags: the backend and its options, by tag.

    Raises:
        CompileError: a node or constant has a tag that it must not have, or partitions depend on each other
            in a cycle.
    """
    return list(_split_graphs(program.graph_module, program, program, tags))


def _split_graphs(
    module: GraphModule,
    owner: ExportedProgram | None,
    program: ExportedProgram,
    tags: dict[str, DelegationSpec],
) -> Iterator[GraphParts]:
    """Yields the partitions of a graph, then those of the graphs inside its control flow.

    Args:
        module: the module with the graph.
        owner: the program if this is its main graph; None for a graph inside control flow.
        program: the whole program.
        tags: the backend and its options, by tag.
    """
    part_of = _tags_of_nodes(module.graph, tags)
    used = set(part_of.values())
    order = order_of_parts(module.graph, part_of)
    result = GraphParts(module, owner, order, {}, [tag for tag in tags if tag in used])
    nodes: dict[str, list[Node]] = {}
    for node in module.graph.nodes:
        if node in part_of:
            nodes.setdefault(part_of[node], []).append(node)
    tagged = _tagged_constants(owner, tags) if owner is not None else {}
    for item in result.order:
        if isinstance(item, str):
            part = Part(item, tags[item], nodes[item])
            _find_boundary(part, part_of, owner, tagged)
            part.program = part_program(part, module, program)
            result.parts[item] = part
    yield result
    for _, child, node in control_flow_submodules(module):
        if node not in part_of:
            yield from _split_graphs(child, None, program, tags)


def _tags_of_nodes(graph: Graph, tags: dict[str, DelegationSpec]) -> dict[Node, str]:
    """Returns the tag of every node in a partition.

    A getitem node has the tag of the node whose result it selects. The get_attr node of a control flow
    branch has the tag of the control flow node.
    """
    part_of: dict[Node, str] = {}
    for node in graph.nodes:
        tag = meta.get_delegation_tag(node)
        if node.op == "output" and tag is not None:
            raise CompileError(
                f"output node {node.name} should not be tagged: only computing nodes can be delegated"
            )
        if node.op != "call_function":
            continue
        source = node.args[0] if node.target is operator.getitem else None
        if isinstance(source, Node) and source.op == "call_function":
            tag = part_of.get(source)
        if tag in tags:
            part_of[node] = tag
    for node in graph.nodes:
        if node.op == "get_attr":
            users = {part_of.get(user) for user in node.users}
            if len(users) == 1 and (tag := users.pop()) is not None:
                part_of[node] = tag
    return part_of


def _tagged_constants(owner: ExportedProgram, tags: dict[str, DelegationSpec]) -> dict[Node, InputSpec]:
    """Returns the tagged constants and buffers, except buffers that several methods share.

    Args:
        owner: the program.
        tags: the backend and its options, by tag.

    Returns:
        The input spec of each placeholder.

    Raises:
        CompileError: an input of the user has a tag, or a constant that must not be copied has users outside
            the partition with its tag.
    """
    specs = {spec.arg.name: spec for spec in owner.graph_signature.input_specs if hasattr(spec.arg, "name")}
    shared = shared_placeholders(owner)
    tagged = {}
    for node in owner.graph.nodes:
        if node.op != "placeholder" or node.name in shared:
            continue
        if meta.get_delegation_tag(node) in tags:
            spec = specs[node.name]
            if spec.kind not in _CONSTANT_KINDS:
                raise CompileError(
                    "placeholder node for non-params, non-buffer, and non-tensor constants should not be "
                    f"tagged: {node.name} is an input of the user, and has the delegation tag "
                    f"{meta.get_delegation_tag(node)}"
                )
            if meta.must_not_be_copied(node):
                _check_one_part(node)
            tagged[node] = spec
    return tagged


def _check_one_part(node: Node) -> None:
    """Checks that all users of a constant that must not be copied have the constant's tag."""
    tag = meta.get_delegation_tag(node)
    for user in node.users:
        user_tag = meta.get_delegation_tag(user)
        if user_tag != tag:
            raise CompileError(
                f"constant data node ({node.name}) is tagged with ({tag}) but has user ({user.name}) which "
                f"has tag ({user_tag}); without no_copy in its metadata, each side gets a copy"
            )


def _find_boundary(
    part: Part, part_of: dict[Node, str], owner: ExportedProgram | None, tagged: dict[Node, InputSpec]
) -> None:
    """Finds the constants, inputs, mutations and outputs of a partition.

    Args:
        part: the partition, whose lists are filled.
        part_of: the tag of each node in a partition.
        owner: the program if the partition is in its main graph; None inside control flow.
        tagged: the tagged constants and buffers of the program.

    Raises:
        CompileError: nodes outside the partition use a mutable buffer that is tagged for it.
    """
    new_values = new_values_of_buffers(owner.graph_signature) if owner is not None else {}
    for source in _sources_outside(part.nodes):
        if source in tagged and _owns(part, source, tagged[source], part_of, new_values):
            part.constants.append(source)
        else:
            part.inputs.append(source)
    part.constants.sort(key=lambda node: _CONSTANT_KINDS.index(tagged[node].kind))
    by_name = {node.name: node for node in part.nodes}
    owned_targets = {tagged[node].target for node in part.constants}
    part.mutations = [
        (by_name[name], target) for target, name in new_values.items() if target in owned_targets
    ]
    if stands_for_executorch():
        _check_mutations_for_executorch(part, owner)
    part.outputs = _outputs(part, owner)


def _sources_outside(nodes: list[Node]) -> list[Node]:
    """Returns the nodes outside a partition whose results its nodes read, each once, in the order of use."""
    inside = set(nodes)
    sources = (source for node in nodes for source in node.all_input_nodes)
    return list(dict.fromkeys(source for source in sources if source not in inside))


def _owns(
    part: Part, constant: Node, spec: InputSpec, part_of: dict[Node, str], new_values: dict[str, str]
) -> bool:
    """Returns whether a partition owns a tagged constant or buffer that it reads.

    If several partitions read a constant, each of them owns a copy. A mutable buffer has one owner: the
    partition with the tag of the buffer.

    Args:
        part: the partition.
        constant: the placeholder of the constant or buffer.
        spec: the specification of the placeholder.
        part_of: the tag of each node in a partition.
        new_values: the name of the node with the new value of each mutable buffer.

    Raises:
        CompileError: nodes outside the partition use a mutable buffer that is tagged for it.
    """
    new_value = new_values.get(str(spec.target))
    if new_value is None:
        return True
    if meta.get_delegation_tag(constant) != part.tag:
        return False
    _check_buffer_is_inside(part, constant, spec, part_of, new_value)
    return True


def _check_buffer_is_inside(
    part: Part, buffer: Node, spec: InputSpec, part_of: dict[Node, str], new_value: str
) -> None:
    """Checks that all nodes that read or update a mutable buffer are in the partition with its tag."""
    outside = [user for user in buffer.users if part_of.get(user) != part.tag and user.op != "output"]
    if outside:
        raise CompileError(
            f"mutable buffer {spec.target} is tagged {part.tag}, but {outside[0].name} "
            f"({meta.source_of(outside[0])}), which is outside that partition, uses the buffer too"
        )
    if not any(node.name == new_value for node in part.nodes):
        raise CompileError(
            f"mutable buffer {spec.target} is tagged {part.tag}, but its new value, {new_value}, is computed "
            f"outside that partition"
        )


def _check_mutations_for_executorch(part: Part, owner: ExportedProgram | None) -> None:
    """Checks that no new value of a buffer is also an output of the method, as ExecuTorch requires."""
    for node, target in part.mutations:
        if _is_user_output(owner, node):
            raise AssertionError(
                f"buffer {target} is tagged {part.tag}, and its new value, {node.name} "
                f"({meta.source_of(node)}), is an output of the method too: ExecuTorch's delegates "
                "cannot own such a buffer"
            )


def _outputs(part: Part, owner: ExportedProgram | None) -> list[Node]:
    """Returns the nodes of a partition whose results are read outside, in graph order.

    The new value of a buffer is no output if only the update of the buffer reads it outside.
    """
    inside = set(part.nodes)
    mutations = {node for node, _ in part.mutations}
    outputs = []
    for node in part.nodes:
        outside = [user for user in node.users if user not in inside]
        only_updates_buffer = (
            node in mutations
            and all(user.op == "output" for user in outside)
            and not _is_user_output(owner, node)
        )
        if outside and not only_updates_buffer:
            outputs.append(node)
    return outputs


def _is_user_output(owner: ExportedProgram | None, node: Node) -> bool:
    return owner is not None and node.name in owner.graph_signature.user_outputs
