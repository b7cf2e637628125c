"""Converts Core ATen to the Edge dialect: a new graph of edge operators, in which constants are inputs."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch._export.verifier import Verifier
from torch._ops import OpOverload, OpOverloadPacket
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_aggregate

from rushlight.ir import dim_order_ops, meta
from rushlight.ir.edge_ops import to_edge_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.fake import Evaluator
from rushlight.ir.program import lazy_module, make_program
from rushlight.ir.spec import dim_order_from_strides
from rushlight.ir.sym_ops import ALWAYS_ATEN
from rushlight.ir.verifier import stands_for_executorch
from rushlight.passes.base import Pass
from rushlight.passes.program_pass import ExportedProgramPassResult

_PACKETS = {
    torch.ops.aten.sym_size: torch.ops.aten.sym_size.int,
    torch.ops.aten.sym_stride: torch.ops.aten.sym_stride.int,
    torch.ops.aten.sym_numel: torch.ops.aten.sym_numel.default,
}


def to_edge_dialect(
    program: ExportedProgram, *, dim_order: bool = True, verifier: type[Verifier] | None = None
) -> MethodProgram:
    """Converts a functional Core ATen program to an edge program.

    Constants that the graph reads as attributes become buffers named `_lifted_tensor_constant<n>`. Their
    inputs precede the first user input, or all inputs if there is no user input. Constants that are neither
    contiguous nor channels last are made contiguous.

    Args:
        program: the program; it is not changed.
        dim_order: replace operators with a memory format by operators with a dim order.
        verifier: the verifier of the new program; None for that of `program`.

    Returns:
        The edge program.
    """
    evaluator = Evaluator.of(program.graph_module)
    state_dict = dict(program.state_dict)
    constants = dict(program.constants)
    lift = _LiftedConstants(program, state_dict)
    graph, root = _convert(program.graph_module, evaluator, dim_order, lift)
    results: Any = graph.output_node().args[0]
    signature = _signature(program.graph_signature, lift.specs, results)
    _rename_inputs(signature, graph)
    _make_dense(signature, graph, state_dict, constants, evaluator)
    return make_program(
        program,
        root,
        graph,
        signature,
        state_dict=state_dict,
        constants=constants,
        verifiers=None if verifier is None else [verifier],
    )


class ToEdgeDialectPass(Pass):
    """Converts Core ATen to the Edge dialect with `to_edge_dialect`."""

    def __init__(self, dim_order: bool, verifier: type[Verifier] | None) -> None:
        self._dim_order = dim_order
        self._verifier = verifier

    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        """Returns the edge program."""
        edge = to_edge_dialect(exported_program, dim_order=self._dim_order, verifier=self._verifier)
        return ExportedProgramPassResult(edge, True)


class _LiftedConstants:
    """Constants of the graph that become buffers."""

    def __init__(self, program: ExportedProgram, state_dict: dict[str, torch.Tensor]) -> None:
        signature = program.graph_signature
        self._count = len(signature.buffers)
        self._state_dict = state_dict
        index = _first_user_input(signature)
        names = [spec.arg.name for spec in signature.input_specs]
        self._first_input = names[index] if names else None
        self.specs: list[InputSpec] = []

    def collect(self, module: GraphModule) -> list[tuple[Node, str]]:
        """Returns the attribute nodes to lift with the names of their buffers, in graph order."""
        lifted: list[tuple[Node, str]] = []
        for node in module.graph.nodes:
            if node.op == "get_attr" and isinstance(_attribute(module, node), torch.Tensor):
                name = f"_lifted_tensor_constant{self._count + len(lifted)}"
                self._state_dict[name] = _attribute(module, node)
                argument = TensorArgument(name)
                self.specs.append(InputSpec(InputKind.BUFFER, argument, name, persistent=True))
                lifted.append((node, name))
        return lifted

    def is_first_input(self, node: Node) -> bool:
        return node.op == "placeholder" and node.name == self._first_input


def _convert(
    module: GraphModule, evaluator: Evaluator, dim_order: bool, lift: _LiftedConstants | None
) -> tuple[Graph, dict[str, object]]:
    """Returns the edge graph of one graph module, and the attributes of this graph."""
    graph = Graph()
    env: dict[Node, Node] = {}
    attributes: dict[str, object] = {}
    lifted: list[tuple[Node, str]] = lift.collect(module) if lift is not None else []

    def place_lifted() -> None:
        for old, name in lifted:
            env[old] = graph.placeholder(name)
            meta.set_val(env[old], meta.get_val(old))
            meta.copy_origin(old, env[old])

    def map_nodes(tree: Any) -> Any:
        return map_aggregate(tree, lambda item: env[item] if isinstance(item, Node) else item)

    placed = False
    for node in module.graph.nodes:
        if not placed and (node.op != "placeholder" or (lift is not None and lift.is_first_input(node))):
            place_lifted()
            placed = True
        if node in env:
            continue
        if node.op == "placeholder":
            new = graph.create_node("placeholder", str(node.target), name=node.name)
            # In ExecuTorch's edge programs, an input does not have the name of a builtin of Python.
            if not stands_for_executorch():
                new.name = node.name
            meta.copy_all(node, new)
        elif node.op == "get_attr":
            new = _attribute_node(graph, module, node, attributes, evaluator, dim_order)
        elif node.op == "output":
            new = graph.output(map_nodes(node.args[0]))
            meta.copy_all(node, new)
        else:
            new = _call(graph, node, map_nodes(node.args), map_nodes(node.kwargs), evaluator, dim_order)
        env[node] = new
    return graph, attributes


def _attribute_node(
    graph: Graph,
    module: GraphModule,
    node: Node,
    attributes: dict[str, object],
    evaluator: Evaluator,
    dim_order: bool,
) -> Node:
    value = _attribute(module, node)
    name = str(node.target)
    if isinstance(value, GraphModule):
        name = f"submodule_{sum(name.startswith('submodule_') for name in attributes)}"
        body, body_attributes = _convert(value, evaluator, dim_order, None)
        value = lazy_module(body_attributes, body)
    attributes[name] = value
    new = graph.create_node("get_attr", name)
    meta.copy_all(node, new)
    return new


def _call(
    graph: Graph,
    node: Node,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    evaluator: Evaluator,
    dim_order: bool,
) -> Node:
    target: Any = node.target
    if isinstance(target, OpOverloadPacket):
        target = _PACKETS.get(target, target)
    name = None
    changed = False
    if isinstance(target, OpOverload):
        if target in ALWAYS_ATEN:
            name = target._schema.name.split("::")[1]
        else:
            replacement = dim_order_ops.DIM_ORDER_OF_MEMORY_FORMAT.get(target) if dim_order else None
            if replacement is not None:
                target, changed = replacement, True
                kwargs = with_dim_order(args, kwargs)
            target = to_edge_op(target)
    elif target is torch.ops.higher_order.cond:
        args = (*args[:3], list(args[3]))
    new = graph.create_node("call_function", target, args, kwargs, name=name)
    meta.copy_all(node, new)
    if changed:
        meta.set_val(new, evaluator.value(target, args, kwargs))
    return new


def with_dim_order(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the keyword arguments of a call with the memory format replaced by a dim order.

    If the call preserves the layout of its input and this layout has no memory format, the dim order is
    row-major.

    Args:
        args: the positional arguments. The first one is a node, or the sizes of the result.
        kwargs: the keyword arguments.
    """
    result = dict(kwargs)
    memory_format = result.pop("memory_format", None)
    source = args[0]
    val = meta.get_tensor(source) if isinstance(source, Node) else None
    rank = val.dim() if val is not None else len(source)
    if memory_format is not None and memory_format != torch.preserve_format:
        result["dim_order"] = list(dim_order_ops.dim_order_of(memory_format, rank))
    elif val is not None and dim_order_ops.has_memory_format(val):
        result["dim_order"] = list(dim_order_from_strides(val.stride()))
    else:
        result["dim_order"] = list(range(rank))
    return result


def _attribute(module: GraphModule, node: Node) -> Any:
    return operator.attrgetter(str(node.target))(module)


def _first_user_input(signature: ExportGraphSignature) -> int:
    """Returns the index of the first user input; 0 if there is none."""
    kinds = [spec.kind for spec in signature.input_specs]
    return kinds.index(InputKind.USER_INPUT) if InputKind.USER_INPUT in kinds else 0


def _rename_inputs(signature: ExportGraphSignature, graph: Graph) -> None:
    """Gives the inputs of a new signature the names of the placeholders."""
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    names: dict[str | None, str] = {}
    for index, (spec, node) in enumerate(zip(signature.input_specs, placeholders, strict=True)):
        if spec.arg.name != node.name:
            names[spec.arg.name] = node.name
            signature.input_specs[index] = replace(spec, arg=replace(spec.arg, name=node.name))
    for index, result in enumerate(signature.output_specs):
        if result.kind is OutputKind.USER_INPUT_MUTATION and result.target in names:
            signature.output_specs[index] = replace(result, target=names[result.target])


def _signature(
    old: ExportGraphSignature, lifted: Sequence[InputSpec], results: Sequence[object]
) -> ExportGraphSignature:
    """Returns the signature of the new graph, which returns `results`.

    Each output has the name of the node that the graph returns, because a pass may have replaced the node.
    """
    # A parameter that the program writes becomes a mutable buffer.
    state = {spec.target for spec in old.output_specs if spec.kind is OutputKind.PARAMETER_MUTATION}
    inputs = [
        InputSpec(InputKind.BUFFER, spec.arg, spec.target, persistent=True) if spec.target in state else spec
        for spec in old.input_specs
    ]
    first = _first_user_input(old)
    inputs[first:first] = lifted
    outputs = []
    for spec, result in zip(old.output_specs, results, strict=True):
        argument: Any = spec.arg
        if isinstance(result, Node):
            argument = type(argument)(name=result.name)
        is_state = spec.kind is OutputKind.PARAMETER_MUTATION
        kind = OutputKind.BUFFER_MUTATION if is_state else spec.kind
        outputs.append(OutputSpec(kind, argument, spec.target))
    return ExportGraphSignature(inputs, outputs)


def _make_dense(
    signature: ExportGraphSignature,
    graph: Graph,
    state_dict: dict[str, torch.Tensor],
    constants: dict[str, Any],
    evaluator: Evaluator,
) -> None:
    """Makes stored tensors contiguous if no dim order describes their layout."""
    nodes = {node.name: node for node in graph.nodes if node.op == "placeholder"}
    for spec in signature.input_specs:
        target = spec.target
        if target is None:
            continue
        store = state_dict if target in state_dict else constants
        tensor = store.get(target)
        if not isinstance(tensor, torch.Tensor) or _has_dim_order(tensor):
            continue
        dense = tensor.detach().contiguous()
        store[target] = torch.nn.Parameter(dense, tensor.requires_grad) if _is_parameter(tensor) else dense
        meta.set_val(nodes[spec.arg.name], evaluator.like(store[target]))


def _is_parameter(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, torch.nn.Parameter)


def _has_dim_order(tensor: torch.Tensor) -> bool:
    if tensor.layout != torch.strided or tensor.is_contiguous():
        return True
    return tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last)
