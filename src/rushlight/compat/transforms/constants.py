"""Reads, adds and removes parameters, buffers and constants of exported programs, in place."""

from __future__ import annotations

import operator

import torch
from torch._export.utils import (
    get_buffer,
    get_lifted_tensor_constant,
    get_param,
    is_buffer,
    is_lifted_tensor_constant,
    is_param,
)
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, Node

from rushlight.ir import meta
from rushlight.ir.fake import Evaluator

_STORED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def is_get_attr_node(node: object) -> bool:
    """Returns whether a node reads an attribute of its graph module."""
    return isinstance(node, Node) and node.op == "get_attr"


def is_param_node(exp_prog: ExportedProgram, node: Node) -> bool:
    """Returns whether a node is a parameter, a buffer, a constant or an attribute."""
    return (
        is_get_attr_node(node)
        or is_param(exp_prog, node)
        or is_buffer(exp_prog, node)
        or is_lifted_tensor_constant(exp_prog, node)
    )


def get_param_tensor(exp_prog: ExportedProgram, node: Node | None) -> torch.Tensor | None:
    """Returns the tensor of a parameter, buffer, constant or attribute; None if `node` is None.

    Raises:
        RuntimeError: the node is none of these.
    """
    if node is None:
        return None
    if is_get_attr_node(node):
        owner = _owner(exp_prog, node)
        value = operator.attrgetter(str(node.target))(owner)
        return value if isinstance(value, torch.Tensor) else None
    for is_kind, read in (
        (is_param, get_param),
        (is_buffer, get_buffer),
        (is_lifted_tensor_constant, get_lifted_tensor_constant),
    ):
        if is_kind(exp_prog, node):
            return read(exp_prog, node)
    raise RuntimeError(f"{node.name} ({node.op}) is not a parameter, buffer, constant or attribute")


def set_param_tensor(exp_prog: ExportedProgram, node: Node, data: torch.Tensor) -> None:
    """Replaces the tensor of a parameter, buffer, constant or attribute.

    Raises:
        RuntimeError: the node is none of these.
    """
    if is_get_attr_node(node):
        owner = _owner(exp_prog, node)
        path, _, name = str(node.target).rpartition(".")
        setattr(owner.get_submodule(path), name, _as(getattr(owner.get_submodule(path), name), data))
        return
    tensors, target = _storage(exp_prog, node)
    if tensors is None:
        raise RuntimeError(f"{node.name} ({node.op}) is not a parameter, buffer, constant or attribute")
    tensors[target] = _as(tensors[target], data)


def create_constant_placeholder(
    exp_program: ExportedProgram,
    graph: Graph,
    name: str,
    kind: InputKind,
    data: torch.Tensor,
    persistent_buffer: bool | None = None,
) -> Node:
    """Adds a parameter, buffer or constant to a program.

    Args:
        exp_program: the program, which is changed.
        graph: the graph of the program. The placeholder is inserted at the insertion point of the graph,
            which must be in front of the user inputs.
        name: the name of the placeholder. If an earlier call has added this name, its placeholder is
            returned.
        kind: `PARAMETER`, `BUFFER` or `CONSTANT_TENSOR`.
        data: the tensor.
        persistent_buffer: whether a buffer belongs to the state dict.

    Returns:
        The placeholder. torch.fx may have changed its name.

    Raises:
        RuntimeError: the kind is not supported, `persistent_buffer` is None for a buffer, the insertion point
            is behind a user input, or a mutable buffer has the name.
    """
    signature = exp_program.graph_signature
    existing = _requested(graph, name)
    if existing is not None:
        if existing.name in signature.buffers_to_mutate:
            raise RuntimeError(f"{name} already exists as a mutable buffer, which is not a constant")
        return existing
    if kind not in _STORED:
        raise RuntimeError(f"{name} must be a parameter, a buffer or a constant, not {kind.name}")
    if kind is InputKind.BUFFER and persistent_buffer is None:
        raise RuntimeError(f"buffer {name}: persistent_buffer must be True or False")
    node = _placeholder(graph, name, data)
    names = [other.name for other in graph.nodes if other.op == "placeholder"]
    index = names.index(node.name)
    if any(spec.kind is InputKind.USER_INPUT for spec in signature.input_specs[:index]):
        graph.erase_node(node)
        raise RuntimeError(f"{name} would follow a user input, but constants must precede user inputs")
    is_state = kind is InputKind.PARAMETER or persistent_buffer
    if kind is InputKind.PARAMETER:
        data = torch.nn.Parameter(data, requires_grad=False)
    tensors = exp_program.state_dict if is_state else exp_program.constants
    tensors[node.name] = data
    specs = list(signature.input_specs)
    specs.insert(index, InputSpec(kind, TensorArgument(node.name), node.name, persistent_buffer))
    exp_program._graph_signature = ExportGraphSignature(specs, list(signature.output_specs))
    return node


def delete_constant_placeholder(exp_program: ExportedProgram, node: Node) -> None:
    """Removes an unused parameter, buffer or constant from a program.

    Raises:
        RuntimeError: the node has users, or it is not a parameter, buffer or constant.
    """
    if node.users:
        raise RuntimeError(
            f"{node.name} has users, so that it cannot be removed: {', '.join(map(str, node.users))}"
        )
    tensors, target = _storage(exp_program, node)
    if tensors is None:
        raise RuntimeError(f"{node.name} cannot be removed: it is not a parameter, buffer or constant")
    del tensors[target]
    signature = exp_program.graph_signature
    specs = [spec for spec in signature.input_specs if getattr(spec.arg, "name", None) != node.name]
    exp_program._graph_signature = ExportGraphSignature(specs, list(signature.output_specs))
    node.graph.erase_node(node)


def create_mutable_buffer(exp_program: ExportedProgram, name: str, data: torch.Tensor) -> Node:
    """Adds a mutable buffer. The graph returns the unchanged buffer as its new value.

    Args:
        exp_program: the program, which is changed.
        name: the name of the placeholder. By convention, it is `b_` and the name of the buffer.
        data: the initial value.

    Returns:
        The placeholder, which follows all other buffers. torch.fx may have changed its name.

    Raises:
        ValueError: the name is empty, or the value is not a tensor.
        RuntimeError: the buffer or the placeholder already exists, or the signature does not match the graph.
    """
    if not name.strip():
        raise ValueError("a buffer needs a name")
    if not isinstance(data, torch.Tensor):
        raise ValueError(f"the value of a buffer must be a tensor, not {type(data).__name__}")
    _check_signature(exp_program)
    graph, signature = exp_program.graph, exp_program.graph_signature
    if name.removeprefix("b_") in exp_program.state_dict:
        raise RuntimeError(f"{name.removeprefix('b_')} already exists in state_dict")
    if _requested(graph, name) is not None:
        raise RuntimeError(f"a placeholder for {name} already exists in the graph")
    specs, results = list(signature.input_specs), list(signature.output_specs)
    later = (InputKind.CONSTANT_TENSOR, InputKind.USER_INPUT)
    index = next((i for i, spec in enumerate(specs) if spec.kind in later), len(specs))
    nodes = [node for node in graph.nodes if node.op == "placeholder"]
    behind = nodes[index] if index < len(nodes) else _after_placeholders(graph)
    with graph.inserting_before(behind):
        node = _placeholder(graph, name, data)
    target = node.name.removeprefix("b_")
    if target in exp_program.state_dict:
        graph.erase_node(node)
        raise RuntimeError(f"{target} already exists in state_dict")
    exp_program.state_dict[target] = data
    argument = TensorArgument(node.name)
    specs.insert(index, InputSpec(InputKind.BUFFER, argument, target, persistent=True))
    place = next((i for i, spec in enumerate(results) if spec.kind is OutputKind.USER_OUTPUT), 0)
    results.insert(place, OutputSpec(OutputKind.BUFFER_MUTATION, argument, target))
    output = graph.output_node()
    values = list(output.args[0])
    values.insert(place, node)
    output.args = (tuple(values),)
    exp_program._graph_signature = ExportGraphSignature(specs, results)
    return node


def _owner(program: ExportedProgram, node: Node) -> torch.nn.Module:
    """Returns the module with the attribute that a node reads."""
    owner = node.graph.owning_module
    first = str(node.target).partition(".")[0]
    return owner if owner is not None and hasattr(owner, first) else program.graph_module


def _as(old: object, data: torch.Tensor) -> torch.Tensor:
    """Returns `data`, as a parameter if the old tensor is a parameter."""
    if isinstance(old, torch.nn.Parameter):
        trains = old.requires_grad and (data.is_floating_point() or data.is_complex())
        return torch.nn.Parameter(data, requires_grad=trains)
    return data


def _storage(program: ExportedProgram, node: Node) -> tuple[dict[str, torch.Tensor] | None, str]:
    """Returns the dict that contains a placeholder's tensor, and the tensor's name in this dict."""
    signature = program.graph_signature
    constants: dict[str, torch.Tensor] = program.constants
    target = signature.inputs_to_lifted_tensor_constants.get(node.name)
    if target is not None:
        return constants, target
    target = signature.inputs_to_parameters.get(node.name, signature.inputs_to_buffers.get(node.name))
    if target is None:
        return None, ""
    return (constants if target in signature.non_persistent_buffers else program.state_dict), target


def _requested(graph: Graph, name: str) -> Node | None:
    """Returns the placeholder that an earlier call has added for a name, or None."""
    nodes = (node for node in graph.nodes if node.op == "placeholder")
    return next((node for node in nodes if meta.get_requested_name(node) == name), None)


def _placeholder(graph: Graph, name: str, data: torch.Tensor) -> Node:
    node = graph.create_node("placeholder", target=name, name=name)
    node.target = node.name
    meta.set_requested_name(node, name)
    meta.set_val(node, Evaluator.of(graph).like(data))
    return node


def _after_placeholders(graph: Graph) -> Node:
    first: Node = next(node for node in graph.nodes if node.op != "placeholder")
    return first


def _check_signature(program: ExportedProgram) -> None:
    """Raises RuntimeError if the inputs or outputs of the signature differ from those of the graph."""
    results = program.graph.output_node().args[0]
    pairs = {
        "input": (
            [node for node in program.graph.nodes if node.op == "placeholder"],
            list(program.graph_signature.input_specs),
        ),
        "output": (list(results), list(program.graph_signature.output_specs)),
    }
    for kind, (nodes, specs) in pairs.items():
        if len(nodes) != len(specs):
            raise RuntimeError(f"the graph has {len(nodes)} {kind}s, but its signature has {len(specs)}")
        for node, spec in zip(nodes, specs, strict=True):
            named = getattr(spec.arg, "name", None)
            if isinstance(node, Node) and node.name != named:
                raise RuntimeError(
                    f"the {kind} {node.name} of the graph has the name {named} in its signature"
                )
