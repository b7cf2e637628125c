"""Places results in the memory of arguments if node metadata request it."""

from __future__ import annotations

from torch.fx import GraphModule, Node

from rushlight.ir import meta
from rushlight.ir.spec import TensorSpec


def share_arguments(graph_module: GraphModule) -> None:
    """Writes placements of results in arguments to the specs, as node metadata request them.

    The metadata `_share_alloc_with_arg_idx` of a node is the index of an argument. The result of the node is
    placed `_shared_alloc_offset` bytes (default 0) after the start of this argument.

    Args:
        graph_module: the graph; the specs of its nodes are changed in place.

    Raises:
        TypeError, IndexError: the metadata do not name a tensor argument.
        ValueError: a node has an offset, but no argument index.
    """
    for module in graph_module.modules():
        if isinstance(module, GraphModule):
            for node in module.graph.nodes:
                if node.op == "call_function":
                    _share_argument(node)


def _share_argument(node: Node) -> None:
    placement = meta.shared_argument(node)
    if placement is None:
        return
    index, offset = placement
    if not isinstance(index, int) or not isinstance(offset, int):
        raise TypeError(
            f"{meta.SHARED_ARGUMENT}={index!r} and {meta.SHARED_OFFSET}={offset!r} of node {node.name} "
            "must be integers"
        )
    spec = meta.get_spec(node)
    if not isinstance(spec, TensorSpec):
        raise TypeError(f"node {node.name} has {meta.SHARED_ARGUMENT}, but its result is not a single tensor")
    if not 0 <= index < len(node.args):
        raise IndexError(
            f"{meta.SHARED_ARGUMENT}={index} of node {node.name} is out of range: the number of arguments is "
            f"{len(node.args)}"
        )
    argument = node.args[index]
    base = meta.get_spec(argument) if isinstance(argument, Node) else None
    if not isinstance(base, TensorSpec):
        raise TypeError(
            f"{meta.SHARED_ARGUMENT}={index} of node {node.name}: argument {index} is not a tensor"
        )
    spec.storage_base, spec.storage_base_offset = base, offset
