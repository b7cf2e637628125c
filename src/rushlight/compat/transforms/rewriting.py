"""What the passes of this package share: new nodes in the dialect of those that they replace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from torch._ops import OpOverload
from torch.fx import Graph, Node
from torch.fx.node import Argument

from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload, Overload, aten_op, to_edge_op
from rushlight.ir.fake import Evaluator, tensor_key
from rushlight.passes.base import insert_call


def in_dialect_of(node: Node, op: OpOverload) -> Overload:
    """Returns an operator in the dialect of a node's target, edge or torch."""
    return to_edge_op(op) if isinstance(node.target, EdgeOpOverload) else op


def replace(
    evaluator: Evaluator, node: Node, op: OpOverload, args: tuple[Argument, ...], **kwargs: Argument
) -> Node:
    """Replaces a node by a call of an operator. The node stays without users."""
    new = insert_call(evaluator, node, in_dialect_of(node, op), args, **kwargs)
    node.replace_all_uses_with(new)
    return new


def static_shape(tensor: Any) -> list[int] | None:
    """Returns the sizes of a tensor; None if there is no tensor or a size is dynamic."""
    sizes: Sequence[object] = getattr(tensor, "shape", (None,))
    return [size for size in sizes if isinstance(size, int)] if _all_ints(sizes) else None


def _all_ints(sizes: Sequence[object]) -> bool:
    return all(isinstance(size, int) for size in sizes)


def refresh(evaluator: Evaluator, graph: Graph, changed: Iterable[Node]) -> None:
    """Computes the values of the nodes behind others anew, where shapes, strides or dtypes differ.

    Args:
        evaluator: computes the values.
        graph: the graph.
        changed: the nodes whose values are new already.
    """
    stale = {user for node in changed for user in node.users}
    for node in graph.nodes:
        tensor = meta.get_tensor(node)
        if node not in stale or tensor is None or meta.makes_symbols(node) or aten_op(node.target) is None:
            continue
        value = evaluator.value(node.target, node.args, node.kwargs)
        if tensor_key(value) != tensor_key(tensor):
            meta.set_val(node, value)
            stale.update(node.users)
