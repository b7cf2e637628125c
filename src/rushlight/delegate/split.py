"""Makes a program of each tagged partition of a graph, and replaces the partition by a delegate call."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import torch
from torch._higher_order_ops.executorch_call_delegate import executorch_call_delegate
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from rushlight.delegate.constants import new_values_of_buffers
from rushlight.delegate.lowered import LoweredBackendModule, add_lowered_module
from rushlight.delegate.order import order_of_parts
from rushlight.delegate.partitioner import DelegationSpec
from rushlight.ir import meta
from rushlight.ir.control_flow import control_flow_submodules
from rushlight.ir.errors import CompileError
from rushlight.ir.facts import MethodProgram, ProgramFacts, facts_of, shared_placeholders
from rushlight.ir.program import copy_node
from rushlight.ir.verifier import stands_for_executorch

# In the order in which the placeholders of a program have these kinds.
_CONSTANT_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


@dataclass
class Part:
    """A partition: the nodes with one tag in one graph, and the program made from these nodes.

    Attributes:
        tag: the tag.
        spec: the backend and its options.
        nodes: the nodes, in graph order.
        constants: the placeholders of constants and buffers that the partition owns.
        inputs: the other nodes outside the partition whose results it reads.
        mutations: the new values of the partition's mutable buffers, with the qualified names of the buffers.
        outputs: the nodes whose results are read outside the partition.
        program: the program of the partition.
        lowered: the result of the backend.
    """

    tag: str
    spec: DelegationSpec
    nodes: list[Node]
    constants: list[Node] = field(default_factory=list)
    inputs: list[Node] = field(default_factory=list)
    mutations: list[tuple[Node, str]] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    program: ExportedProgram | None = None
    lowered: LoweredBackendModule | None = None


@dataclass
class Cut:
    """The partitions of one graph.

    Attributes:
        module: the module with the graph.
        owner: the program if this is its main graph; None for a graph inside control flow.
        order: the nodes outside partitions and the tags of the partitions, in execution order.
        parts: the partitions by tag.
    """

    module: GraphModule
    owner: ExportedProgram | None
    order: list[Node | str]
    parts: dict[str, Part]


def cut_program(program: ExportedProgram, tags: dict[str, DelegationSpec]) -> list[Cut]:
    """Returns the partitions of a program's main graph and of all graphs inside its control flow.

    Args:
        program: a program whose nodes have tags. It is not changed.
        tags: the backend and its options, by tag.

    Raises:
        CompileError: a node or constant has a tag that it must not have, or partitions depend on each other
            in a cycle.
    """
    return list(_cuts(program.graph_module, program, program, tags))


def _cuts(
    module: GraphModule,
    owner: ExportedProgram | None,
    program: ExportedProgram,
    tags: dict[str, DelegationSpec],
) -> Iterator[Cut]:
    part_of = _members(module.graph, tags)
    cut = Cut(module, owner, order_of_parts(module.graph, part_of), {})
    nodes: dict[str, list[Node]] = {}
    for node in module.graph.nodes:
        if node in part_of:
            nodes.setdefault(part_of[node], []).append(node)
    tagged = _tagged_constants(owner, tags) if owner is not None else {}
    for item in cut.order:
        if isinstance(item, str):
            part = Part(item, tags[item], nodes[item])
            _find_boundary(part, part_of, owner, tagged)
            part.program = _program_of(part, module, program)
            cut.parts[item] = part
    yield cut
    for _, child, node in control_flow_submodules(module):
        if node not in part_of:
            yield from _cuts(child, None, program, tags)


def _members(graph: Graph, tags: dict[str, DelegationSpec]) -> dict[Node, str]:
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
    """Returns the tagged constants and buffers, except buffers that several methods share."""
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
    inside = set(part.nodes)
    seen: set[Node] = set()
    new_values = new_values_of_buffers(owner.graph_signature) if owner is not None else {}
    for node in part.nodes:
        for source in node.all_input_nodes:
            if source in inside or source in seen:
                continue
            seen.add(source)
            spec = tagged.get(source)
            if spec is not None and _owned(source, spec, part, part_of, new_values):
                part.constants.append(source)
            else:
                part.inputs.append(source)
    part.constants.sort(key=lambda node: _CONSTANT_KINDS.index(tagged[node].kind))
    by_name = {node.name: node for node in part.nodes}
    owned_targets = {tagged[node].target for node in part.constants}
    part.mutations += [
        (by_name[name], target) for target, name in new_values.items() if target in owned_targets
    ]
    mutations = {node for node, _ in part.mutations}
    for node, target in part.mutations:
        if stands_for_executorch() and _is_user_output(owner, node):
            raise AssertionError(
                f"buffer {target} is tagged {part.tag}, and its new value, {node.name} "
                f"({meta.source_of(node)}), is an output of the method too: ExecuTorch's delegates "
                "cannot own such a buffer"
            )
    for node in part.nodes:
        outside = [user for user in node.users if user not in inside]
        if not outside:
            continue
        if (
            node in mutations
            and all(user.op == "output" for user in outside)
            and not _is_user_output(owner, node)
        ):
            continue
        part.outputs.append(node)


def _owned(
    constant: Node, spec: InputSpec, part: Part, part_of: dict[Node, str], new_values: dict[str, str]
) -> bool:
    """Returns whether the partition owns the constant.

    If several partitions use a constant, each of them owns a copy. Only the partition with the tag of a
    mutable buffer owns the buffer, and no other partition may read or write it.
    """
    new_value = new_values.get(str(spec.target))
    if new_value is None:
        return True
    if meta.get_delegation_tag(constant) != part.tag:
        return False
    outside = [user for user in constant.users if part_of.get(user) != part.tag and user.op != "output"]
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
    return True


def _is_user_output(owner: ExportedProgram | None, node: Node) -> bool:
    return owner is not None and node.name in owner.graph_signature.user_outputs


def _argument(node: Node) -> ArgumentSpec:
    val = meta.find_val(node)
    if isinstance(val, torch.Tensor):
        return TensorArgument(name=node.name)
    if isinstance(val, torch.SymBool | bool):
        return (
            SymBoolArgument(name=node.name)
            if isinstance(val, torch.SymBool)
            else ConstantArgument(node.name, val)
        )
    if isinstance(val, torch.SymInt):
        return SymIntArgument(name=node.name)
    if isinstance(val, torch.SymFloat):
        return SymFloatArgument(name=node.name)
    if isinstance(val, int | float | str) or val is None:
        return ConstantArgument(name=node.name, value=val)
    return TensorArgument(name=node.name)


def _program_of(part: Part, module: GraphModule, program: ExportedProgram) -> ExportedProgram:
    """Makes the program of a partition, with its constants, inputs, mutations and outputs.

    Args:
        part: the partition.
        module: the module with the graph of the partition.
        program: the whole program.
    """
    builder = _PartProgram(module, program)
    inside = set(part.nodes)
    for node in part.constants:
        builder.add_constant(node, _name_of_copy(node, inside) if stands_for_executorch() else node.name)
    for node in part.inputs:
        builder.add_placeholder(node, InputSpec(InputKind.USER_INPUT, _argument(node), None))
    for node in part.nodes:
        # Constants of a control flow body are attributes; a backend gets them as constant placeholders.
        tensor = getattr(module, str(node.target), None) if node.op == "get_attr" else None
        if isinstance(tensor, torch.Tensor):
            builder.add_attribute(node, tensor)
    for node in part.nodes:
        builder.add_copy(node)
    return builder.finish(part)


def _name_of_copy(constant: Node, inside: set[Node]) -> str:
    """Returns the name that ExecuTorch gives to a partition's copy of a constant.

    If a constant also has users outside of the partition, ExecuTorch numbers its users. The first one reads
    the constant itself, and each other one reads a copy that has the number of this user.
    """
    is_inside = [user in inside for user in constant.users]
    first = is_inside.index(True)
    return constant.name if all(is_inside) or first == 0 else f"{constant.name}_copy_{first - 1}"


class _PartProgram:
    """The program of a partition under construction. First its placeholders are added, then its nodes.

    Args:
        module: the module with the graph of the partition.
        program: the whole program.
    """

    def __init__(self, module: GraphModule, program: ExportedProgram) -> None:
        self._module, self._whole = module, program
        self._graph = Graph()
        self._copies: dict[Node, Node] = {}  # for each node of the whole program, its copy
        self._inputs: list[InputSpec] = []
        self._state_dict: dict[str, torch.Tensor] = {}
        self._constants: dict[str, object] = {}
        self._specs = {
            spec.arg.name: spec for spec in program.graph_signature.input_specs if hasattr(spec.arg, "name")
        }

    def add_placeholder(self, node: Node, spec: InputSpec) -> None:
        """Adds a placeholder with the name of its specification and the metadata of a node."""
        copy = self._graph.placeholder(spec.arg.name)
        copy.name = spec.arg.name
        meta.copy_all(node, copy)
        self._copies[node] = copy
        self._inputs.append(spec)

    def add_constant(self, node: Node, name: str) -> None:
        """Adds a constant or buffer of the whole program under a name, with its value."""
        spec = self._specs[node.name]
        assert spec.target is not None
        self.add_placeholder(node, InputSpec(spec.kind, TensorArgument(name), spec.target, spec.persistent))
        if spec.target in self._whole.state_dict:
            self._state_dict[spec.target] = self._whole.state_dict[spec.target]
        else:
            self._constants[spec.target] = self._whole.constants[spec.target]

    def add_attribute(self, node: Node, tensor: torch.Tensor) -> None:
        """Adds an attribute of the module as a constant with the name of its get_attr node."""
        self.add_placeholder(node, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), node.name))
        self._constants[node.name] = tensor

    def add_copy(self, node: Node) -> None:
        """Adds a copy of a node of the partition, unless it is a placeholder already."""
        if node not in self._copies:
            self._copies[node] = copy_node(self._graph, node, self._copies.__getitem__)

    def finish(self, part: Part) -> ExportedProgram:
        """Adds the outputs: first the new values of buffers, then the results that other nodes read."""
        copies = self._copies
        outputs = [copies[node] for node, _ in part.mutations] + [copies[node] for node in part.outputs]
        meta.set_val(self._graph.output(tuple(outputs)), tuple(meta.find_val(node) for node in outputs))
        output_specs = [
            OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(copies[node].name), target)
            for node, target in part.mutations
        ] + [OutputSpec(OutputKind.USER_OUTPUT, _argument(copies[node]), None) for node in part.outputs]
        signature = ExportGraphSignature(self._inputs, output_specs)
        in_spec = pytree.tree_structure((tuple(signature.user_inputs), {}))
        out_spec = pytree.tree_structure(tuple(signature.user_outputs))
        result = MethodProgram(
            root=GraphModule(self._module, self._graph),
            graph=self._graph,
            graph_signature=signature,
            state_dict=self._state_dict,
            range_constraints=dict(self._whole.range_constraints),
            module_call_graph=[ModuleCallEntry("", ModuleCallSignature([], [], in_spec, out_spec))],
            constants=self._constants,  # type: ignore[arg-type]
            verifiers=[self._whole.verifier],
        )
        result.facts = ProgramFacts(delegate_constant_files=facts_of(self._whole).delegate_constant_files)
        return result


def splice(cut: Cut, next_debug_handle: int) -> int:
    """Replaces every partition of the graph by a delegate call.

    Args:
        cut: the partitions, which have all been lowered.
        next_debug_handle: the debug handle of the first delegate call.

    Returns:
        The next free debug handle.
    """
    graph = cut.module.graph
    end = graph.output_node()
    replacements: dict[Node, Node] = {}  # for each output of a partition, the result of a delegate call
    for item in cut.order:  # moves each item before the output node, so that the graph gets this order
        if isinstance(item, str):
            _insert_call(cut, cut.parts[item], replacements, next_debug_handle)
            next_debug_handle += 1
        elif item is not end and item.op != "placeholder":
            end.prepend(item)
    # Users are erased before the nodes that they read.
    for tag in reversed([item for item in cut.order if isinstance(item, str)]):
        part = cut.parts[tag]
        if cut.owner is not None and part.mutations:
            _drop_mutations(cut.owner, part)
        for node in reversed(part.nodes):
            graph.erase_node(node)
    if cut.owner is not None:
        replaced = {node.name: output for node, output in replacements.items()}
        _update_signature(
            cut.owner, replaced, [node for part in cut.parts.values() for node in part.constants]
        )
    cut.module.recompile()
    return next_debug_handle


def _insert_call(cut: Cut, part: Part, replacements: dict[Node, Node], debug_handle: int) -> None:
    """Inserts the delegate call of a partition before the output node; its results replace the outputs.

    Args:
        cut: the partitions of the graph.
        part: one of them.
        replacements: the results that replace outputs of earlier partitions; gets those of this partition.
        debug_handle: the debug handle of the call.
    """
    assert part.lowered is not None
    graph = cut.module.graph
    inside = set(part.nodes)
    name = add_lowered_module(cut.module, part.lowered)
    with graph.inserting_before(graph.output_node()):
        attribute = graph.get_attr(name)
        arguments = (replacements.get(node, node) for node in part.inputs)
        call = graph.call_function(executorch_call_delegate, (attribute, *arguments))
        meta.set_val(call, tuple(meta.get_val(node) for node in part.outputs))
        meta.set_debug_handle(call, debug_handle)
        for index, node in enumerate(part.outputs):
            output = graph.call_function(operator.getitem, (call, index))
            meta.set_val(output, meta.get_val(node))
            meta.set_debug_handle(output, debug_handle)
            node.replace_all_uses_with(output, delete_user_cb=partial(_is_outside, inside))
            replacements[node] = output


def _is_outside(inside: set[Node], user: Node) -> bool:
    return user not in inside


def _drop_mutations(owner: ExportedProgram, part: Part) -> None:
    """Removes the new buffer values from the outputs, because the delegate updates its buffers itself."""
    targets = {target for _, target in part.mutations}
    output = owner.graph.output_node()
    specs = owner.graph_signature.output_specs
    kept = [
        (spec, argument)
        for spec, argument in zip(specs, output.args[0], strict=True)
        if not (spec.kind is OutputKind.BUFFER_MUTATION and spec.target in targets)
    ]
    owner.graph_signature.output_specs[:] = [spec for spec, _ in kept]
    output.args = (tuple(argument for _, argument in kept),)


def _update_signature(owner: ExportedProgram, replaced: dict[str, Node], constants: list[Node]) -> None:
    signature = owner.graph_signature
    for spec in signature.output_specs:
        if isinstance(spec.arg, TensorArgument) and spec.arg.name in replaced:
            spec.arg = TensorArgument(replaced[spec.arg.name].name)
        elif isinstance(spec.arg, SymIntArgument) and spec.arg.name in replaced:
            spec.arg = SymIntArgument(name=replaced[spec.arg.name].name)
    unused = {node.name: node for node in constants if not node.users}
    for node in unused.values():
        owner.graph.erase_node(node)
    removed = [spec for spec in signature.input_specs if spec.arg.name in unused]
    signature.input_specs[:] = [spec for spec in signature.input_specs if spec.arg.name not in unused]
    used = {spec.target for spec in signature.input_specs}
    for spec in removed:
        if spec.target not in used:
            owner.state_dict.pop(str(spec.target), None)
            owner.constants.pop(str(spec.target), None)
