"""Replaces the lowered partitions of a graph by delegate calls."""

from __future__ import annotations

import operator
from functools import partial

from torch._higher_order_ops.executorch_call_delegate import executorch_call_delegate
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind, SymIntArgument, TensorArgument
from torch.fx import Node

from rushlight.delegate.part import GraphParts, Part
from rushlight.ir import meta


def insert_delegate_calls(graph_parts: GraphParts, next_debug_handle: int) -> int:
    """Replaces every partition of the graph by a delegate call.

    Args:
        graph_parts: the graph and its partitions, which have all been lowered.
        next_debug_handle: the debug handle of the first delegate call.

    Returns:
        The next free debug handle.
    """
    graph = graph_parts.module.graph
    end = graph.output_node()
    # For each output of a partition, the result of its delegate call. The graph numbers them in this order.
    with graph.inserting_before(end):
        results = {
            node: graph.call_function(operator.getitem, (None, index))
            for tag in graph_parts.tags
            for index, node in enumerate(graph_parts.parts[tag].outputs)
        }
    # Moves each item before the output node, so that the graph gets this order.
    for item in graph_parts.order:
        if isinstance(item, str):
            _insert_call(graph_parts, graph_parts.parts[item], results, next_debug_handle)
            next_debug_handle += 1
        elif item is not end and item.op != "placeholder":
            end.prepend(item)
    # Users are erased before the nodes that they read.
    for tag in reversed([item for item in graph_parts.order if isinstance(item, str)]):
        part = graph_parts.parts[tag]
        if graph_parts.owner is not None and part.mutations:
            _drop_mutations(graph_parts.owner, part)
        for node in reversed(part.nodes):
            graph.erase_node(node)
    if graph_parts.owner is not None:
        replaced = {node.name: output for node, output in results.items()}
        constants = [node for part in graph_parts.parts.values() for node in part.constants]
        _update_signature(graph_parts.owner, replaced, constants)
    graph_parts.module.recompile()
    return next_debug_handle


def _insert_call(graph_parts: GraphParts, part: Part, results: dict[Node, Node], debug_handle: int) -> None:
    """Inserts the delegate call of a partition before the output node; its results replace the outputs.

    Args:
        graph_parts: the graph and its partitions.
        part: one of them.
        results: the result of a delegate call for each output of a partition.
        debug_handle: the debug handle of the call.
    """
    graph = graph_parts.module.graph
    end = graph.output_node()
    inside = set(part.nodes)
    _, _, number = part.name.rpartition("_")
    suffix = "" if number == "0" else f"_{number}"  # The call has the same number as the lowered module.
    with graph.inserting_before(end):
        attribute = graph.get_attr(part.name)
        arguments = (results.get(node, node) for node in part.inputs)
        call = graph.create_node(
            "call_function",
            executorch_call_delegate,
            (attribute, *arguments),
            name=f"{executorch_call_delegate.__name__}{suffix}",
        )
    meta.set_val(call, tuple(meta.get_val(node) for node in part.outputs))
    meta.set_debug_handle(call, debug_handle)
    for index, node in enumerate(part.outputs):
        output = results[node]
        output.args = (call, index)
        end.prepend(output)
        meta.set_val(output, meta.get_val(node))
        meta.set_debug_handle(output, debug_handle)
        node.replace_all_uses_with(output, delete_user_cb=partial(_is_outside, inside))


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
    """Updates the signature of a program after delegate calls replaced its partitions.

    Constants that only the partitions used are removed from the program.

    Args:
        owner: the program.
        replaced: the result of a delegate call for the name of each output of a partition.
        constants: the placeholders of the constants and buffers that partitions own.
    """
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
