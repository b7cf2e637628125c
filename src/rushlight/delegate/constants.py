"""Assigns constants and buffers to partitions."""

from __future__ import annotations

from collections.abc import Iterable

from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, OutputKind
from torch.fx import Node

from rushlight.ir import meta
from rushlight.ir.constants import changed_targets
from rushlight.ir.errors import CompileError
from rushlight.ir.facts import facts_of, shared_placeholders, stored_targets, with_marks


def new_values_of_buffers(signature: ExportGraphSignature) -> dict[str, str]:
    """Returns, for the qualified name of each mutable buffer, the name of the node with its new value.

    `signature.buffers_to_mutate` maps from nodes to buffers, and has only one buffer for each node.
    """
    return {
        str(spec.target): spec.arg.name
        for spec in signature.output_specs
        if spec.kind is OutputKind.BUFFER_MUTATION
    }


class ConstantFiles:
    """The files in which the constants of a partition are stored, as the user chose.

    Args:
        program: the partition.
    """

    def __init__(self, program: ExportedProgram) -> None:
        wanted = with_marks(program, facts_of(program)).delegate_constant_files
        targets = stored_targets(program)
        # For each node that depends only on constants: the files of these constants, and for each file the
        # name of one constant.
        self._files: dict[Node, dict[str, str]] = {}
        for node in program.graph.nodes:
            if node.name in targets and node.op == "placeholder":
                file = wanted.get(targets[node.name])
                self._files[node] = {} if file is None else {file: node.name}
            elif node.op == "call_function" and all(n in self._files for n in node.all_input_nodes):
                self._files[node] = self._of_inputs(node)
        self.names = {name for files in self._files.values() for name in files}

    @property
    def single(self) -> str | None:
        """The file, if all constants with a file have the same one; None if there is no file or several."""
        return next(iter(self.names)) if len(self.names) == 1 else None

    def of(self, nodes: Iterable[Node]) -> str | None:
        """Returns the file of the constants that operators read, if the partition has several files.

        Args:
            nodes: the operators that a backend runs as one operator.

        Returns:
            The file; None for the program file, or if the partition has at most one file.

        Raises:
            CompileError: the constants of these operators are in several files.
        """
        if len(self.names) < 2:
            return None
        files = {file: name for node in nodes for file, name in self._of_inputs(node).items()}
        if len(files) > 1:
            names = ", ".join(f"{name} in {file!r}" for file, name in files.items())
            raise CompileError(
                f"an operator of a delegate stores its constants in one file, but their tags require "
                f"{names}: give these constants the same tag"
            )
        return next(iter(files), None)

    def _of_inputs(self, node: Node) -> dict[str, str]:
        found: dict[str, str] = {}
        for source in (node, *node.all_input_nodes):
            found.update(self._files.get(source, {}))
        return found


def _tags_of_users(node: Node) -> set[str]:
    return {tag for user in node.users if (tag := meta.get_delegation_tag(user)) is not None}


def tag_constant_data(edge_program: ExportedProgram) -> None:
    """Tags each constant (parameter, buffer or tensor that never changes) with the tag of its users.

    Call this function after all other nodes are tagged. If several partitions use a constant, its tag is one
    of theirs, and each partition gets a copy. A buffer that another method changes stays in the program.

    Args:
        edge_program: the edge program of a method.
    """
    signature = edge_program.graph_signature
    changed = changed_targets(signature)
    shared = shared_placeholders(edge_program)
    targets = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    for node in edge_program.graph.nodes:
        if node.op != "placeholder" or node.name not in targets or node.name in shared:
            continue
        if targets[node.name] not in changed:
            if tags := _tags_of_users(node):
                meta.set_delegation_tag(node, min(tags))


def tag_mutated_buffer(edge_program: ExportedProgram) -> None:
    """Gives each mutable buffer that only one partition reads and writes the tag of this partition.

    The delegate then owns the state of the buffer. Call this function after all other nodes are tagged.

    All other mutable buffers stay in the program. Moreover, these buffers stay in the program: buffers whose
    old value is an output or the new value of another buffer, buffers whose new value is a placeholder, and
    buffers that several methods share.

    Args:
        edge_program: the edge program of a method.
    """
    signature = edge_program.graph_signature
    new_values = new_values_of_buffers(signature)
    buffers = signature.inputs_to_buffers
    nodes = {node.name: node for node in edge_program.graph.nodes}
    shared = shared_placeholders(edge_program)
    for node in edge_program.graph.nodes:
        target = buffers.get(node.name) if node.op == "placeholder" else None
        if target is None or target not in new_values or node.name in shared:
            continue
        involved = [nodes[new_values[target]], *node.users]
        tags = {meta.get_delegation_tag(other) for other in involved if other is not node}
        if len(tags) == 1 and (tag := tags.pop()) is not None and involved[0].op != "placeholder":
            meta.set_delegation_tag(node, tag)
