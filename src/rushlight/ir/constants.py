"""The constants of an exported program: which inputs of its graph are stored tensors that no method changes."""

from __future__ import annotations

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, OutputKind, TensorArgument
from torch.fx import Node

from rushlight.ir import meta

_STORED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_CHANGES = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.GRADIENT_TO_PARAMETER)


def changed_targets(signature: ExportGraphSignature) -> set[str]:
    """Qualified names of parameters and buffers that the program writes or trains."""
    return {str(spec.target) for spec in signature.output_specs if spec.kind in _CHANGES}


def stored_tensor(program: ExportedProgram, spec: InputSpec) -> torch.Tensor | None:
    """The tensor of an input spec, None for inputs of the user."""
    if spec.kind not in _STORED or spec.target is None:
        return None
    value = program.state_dict.get(spec.target)
    if value is None:
        value = program.constants.get(spec.target)
    return value if isinstance(value, torch.Tensor) else None


def constant_inputs(program: ExportedProgram) -> dict[str, torch.Tensor]:
    """The tensor of every placeholder, by name, that holds a constant."""
    changed = changed_targets(program.graph_signature)
    found = {}
    for spec in program.graph_signature.input_specs:
        tensor = stored_tensor(program, spec)
        if tensor is not None and spec.target not in changed:
            found[spec.arg.name] = tensor
    return found


def add_constant_input(
    program: ExportedProgram, name: str, tensor: torch.Tensor, val: torch.Tensor, origin: Node
) -> Node:
    """A new buffer of the program, and the placeholder that reads it, before the first input of the user.

    `name` is made unique by a number; the buffer and the placeholder bear the same name.
    """
    signature = program.graph_signature
    taken = {spec.arg.name for spec in signature.input_specs} | set(program.state_dict)
    number = len(signature.input_specs)
    while f"{name}{number}" in taken:
        number += 1
    unique = f"{name}{number}"
    specs = signature.input_specs
    index = next((i for i, spec in enumerate(specs) if spec.kind == InputKind.USER_INPUT), len(specs))
    nodes = list(program.graph.nodes)
    with program.graph.inserting_before(nodes[index]):
        node = program.graph.placeholder(unique)
    specs.insert(index, InputSpec(InputKind.BUFFER, TensorArgument(node.name), unique, persistent=True))
    program.state_dict[unique] = tensor
    meta.copy_origin(origin, node)
    meta.set_val(node, val)
    return node
