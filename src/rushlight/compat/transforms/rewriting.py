"""The base class of in-place passes, and functions that add nodes and update the values of nodes."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import Argument
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.compat.transforms.dim_maps import Size
from rushlight.ir import meta
from rushlight.ir.edge_ops import EdgeOpOverload, Overload, aten_op, to_edge_op
from rushlight.ir.fake import Evaluator, complete_values, tensor_key
from rushlight.ir.sym import same_size
from rushlight.passes.base import eliminate_dead_code, graph_modules, insert_call


class InPlacePass(PassBase):
    """A pass that changes the given graph module and the bodies of its control flow.

    It works in place, because code for ExecuTorch uses the given module after such a pass.
    """

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Rewrites the graphs, removes dead code, and updates the values in the metadata."""
        changed = self.apply_inplace(graph_module)
        if changed:
            for module in graph_modules(graph_module):
                settle(module)
        return PassResult(graph_module, changed)

    def apply_inplace(self, graph_module: GraphModule) -> bool:
        """Rewrites the graphs, but keeps dead code and old values. Returns whether they changed."""
        # `any` of a list, because `any` of a generator would stop at the first graph that changes.
        return any([self.rewrite(module) for module in list(graph_modules(graph_module))])

    @abstractmethod
    def rewrite(self, module: GraphModule) -> bool:
        """Rewrites one graph. Returns whether it changed."""


def settle(module: GraphModule) -> None:
    """Removes dead code of a rewritten graph, updates the values of its nodes, and recompiles its code."""
    eliminate_dead_code(module.graph)
    complete_values(module)
    evaluator = Evaluator.of(module)
    for node in module.graph.nodes:
        renew(evaluator, node)
    module.graph.lint()
    module.recompile()


def renew(evaluator: Evaluator, node: Node) -> bool:
    """Computes the value of a call again. Returns whether a shape, stride or dtype has changed."""
    known = _tensors(meta.find_val(node))
    called = aten_op(node.target) is not None or node.target is operator.getitem
    if not known or meta.makes_symbols(node) or not called:
        return False
    value = evaluator.value(node.target, node.args, node.kwargs)  # type: ignore[arg-type]
    if list(map(tensor_key, _tensors(value))) == list(map(tensor_key, known)):
        return False
    meta.set_val(node, value)
    return True


def _tensors(value: object) -> list[torch.Tensor]:
    """Returns the tensors in the value of a node."""
    items = value if isinstance(value, (tuple, list)) else (value,)
    return [item for item in items if isinstance(item, torch.Tensor)]


def set_call(evaluator: Evaluator, node: Node, op: Any, *args: Argument) -> None:
    """Changes the operator and arguments of a call, and computes its value. Other metadata is kept."""
    node.target, node.args, node.kwargs = op, args, {}
    meta.set_val(node, evaluator.value(op, args))


def size_arguments(source: Node, sizes: Sequence[Size], before: Node) -> list[Argument] | None:
    """Returns the shape argument of a view.

    Args:
        source: the tensor.
        sizes: the sizes of the view. A single dynamic size becomes -1. Several dynamic sizes are read from
            the tensor with `sym_size`.
        before: the node in front of which the calls of `sym_size` are inserted.

    Returns:
        The argument, or None if the tensor does not have a dynamic size.
    """
    dynamic = [size for size in sizes if not isinstance(size, int)]
    if len(dynamic) <= 1:
        return [size if isinstance(size, int) else -1 for size in sizes]
    given = meta.get_shape(source)
    found: list[Argument] = []
    for size in sizes:
        axis = next((i for i, other in enumerate(given) if same_size(size, other)), None)
        if isinstance(size, int):
            found.append(size)
        elif axis is None:
            return None
        else:
            with source.graph.inserting_before(before):
                read = source.graph.call_function(torch.ops.aten.sym_size.int, (source, axis))
            meta.set_val(read, size)
            found.append(read)
    return found


def in_dialect_of(node: Node, op: OpOverload) -> Overload:
    """Returns an operator in the dialect of a node's target: edge or ATen."""
    return to_edge_op(op) if isinstance(node.target, EdgeOpOverload) else op


def replace(
    evaluator: Evaluator, node: Node, op: OpOverload, args: tuple[Argument, ...], **kwargs: Argument
) -> Node:
    """Replaces a node by a call of an operator. The node remains in the graph without users."""
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
    """Updates the values of nodes that depend on changed nodes, as far as shapes, strides or dtypes change.

    Args:
        evaluator: computes the values.
        graph: the graph.
        changed: the nodes whose values have already been updated.
    """
    stale = {user for node in changed for user in node.users}
    for node in graph.nodes:
        if node in stale and renew(evaluator, node):
            stale.update(node.users)
