"""Places results within the memory of arguments where a pass asks for it."""

from __future__ import annotations

from torch.fx import GraphModule, Node

from rushlight.ir import meta
from rushlight.ir.spec import TensorSpec


def share_arguments(graph_module: GraphModule) -> None:
    """Writes the placement of results within arguments into the specs, as node metadata asks.

    The result of a node with `_share_alloc_with_arg_idx` is placed `_shared_alloc_offset` bytes (default 0)
    after the start of that argument.

    Raises:
        ValueError, TypeError, IndexError: the metadata does not name a tensor argument.
    """
    for module in graph_module.modules():
        if isinstance(module, GraphModule):
            for node in module.graph.nodes:
                if node.op == "call_function":
                    _share_argument(node)


def _share_argument(node: Node) -> None:
    wish = meta.shared_argument(node)
    if wish is None:
        return
    index, offset = wish
    if not isinstance(index, int) or not isinstance(offset, int):
        raise TypeError(
            f"{meta.SHARED_ARGUMENT}={index!r} and {meta.SHARED_OFFSET}={offset!r} of node {node.name} "
            "must be ints"
        )
    spec = meta.get_spec(node)
    if not isinstance(spec, TensorSpec):
        raise TypeError(f"node {node.name} has {meta.SHARED_ARGUMENT}, but its result is not one tensor")
    if not 0 <= index < len(node.args):
        raise IndexError(
            f"{meta.SHARED_ARGUMENT}={index} of node {node.name}, which has {len(node.args)} arguments"
        )
    argument = node.args[index]
    base = meta.get_spec(argument) if isinstance(argument, Node) else None
    if not isinstance(base, TensorSpec):
        raise TypeError(f"argument {index} of node {node.name}, whose place it shall take, is no tensor")
    spec.storage_base, spec.storage_base_offset = base, offset
