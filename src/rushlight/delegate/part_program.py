"""Makes an exported program of the nodes of one partition."""

from __future__ import annotations

import torch
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

from rushlight.delegate.part import Part
from rushlight.ir import meta
from rushlight.ir.facts import MethodProgram, ProgramFacts, facts_of
from rushlight.ir.program import copy_node
from rushlight.ir.verifier import stands_for_executorch


def argument_of(node: Node) -> ArgumentSpec:
    """Returns the entry of a signature for the value of a node."""
    val = meta.find_val(node)
    if isinstance(val, torch.SymBool):
        return SymBoolArgument(name=node.name)
    if isinstance(val, torch.SymInt):
        return SymIntArgument(name=node.name)
    if isinstance(val, torch.SymFloat):
        return SymFloatArgument(name=node.name)
    if isinstance(val, bool | int | float | str) or val is None:
        return ConstantArgument(name=node.name, value=val)
    return TensorArgument(name=node.name)


def part_program(part: Part, module: GraphModule, program: ExportedProgram) -> ExportedProgram:
    """Makes the program of a partition, with its constants, inputs, mutations and outputs.

    Args:
        part: the partition, whose boundary is known.
        module: the module with the graph of the partition.
        program: the whole program.
    """
    builder = _PartProgram(module, program)
    inside = set(part.nodes)
    for node in part.constants:
        builder.add_constant(node, _name_of_copy(node, inside) if stands_for_executorch() else node.name)
    for node in part.inputs:
        builder.add_placeholder(node, InputSpec(InputKind.USER_INPUT, argument_of(node), None))
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
        meta.set_val(self._graph.output(outputs), tuple(meta.find_val(node) for node in outputs))
        output_specs = [
            OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument(copies[node].name), target)
            for node, target in part.mutations
        ] + [OutputSpec(OutputKind.USER_OUTPUT, argument_of(copies[node]), None) for node in part.outputs]
        signature = ExportGraphSignature(self._inputs, output_specs)
        root = GraphModule(self._module, self._graph)
        return program_inside(self._whole, root, signature, self._state_dict, self._constants)


def program_inside(
    whole: ExportedProgram,
    module: GraphModule,
    signature: ExportGraphSignature,
    state_dict: dict[str, torch.Tensor],
    constants: dict[str, object],
) -> ExportedProgram:
    """Makes the program of a part of a program, with the verifier, ranges and data files of the whole.

    Args:
        whole: the whole program.
        module: the graph of the part.
        signature: the inputs and outputs of the part.
        state_dict: the parameters and buffers that the part owns, by qualified name.
        constants: the other constants that the part owns, by qualified name.
    """
    in_spec = pytree.tree_structure((tuple(signature.user_inputs), {}))
    out_spec = pytree.tree_structure(tuple(signature.user_outputs))
    result = MethodProgram(
        root=module,
        graph=module.graph,
        graph_signature=signature,
        state_dict=state_dict,
        range_constraints=dict(whole.range_constraints),
        module_call_graph=[ModuleCallEntry("", ModuleCallSignature([], [], in_spec, out_spec))],
        constants=constants,  # type: ignore[arg-type]
        verifiers=[whole.verifier],
    )
    result.facts = ProgramFacts(delegate_constant_files=facts_of(whole).delegate_constant_files)
    return result
