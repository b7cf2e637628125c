"""What the passes of this package share: a base class, new nodes in the dialect of others, and new values."""

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
    """A pass that changes the graph module that it is given, and the bodies of its control flow.

    Code for ExecuTorch goes on with the module that it gave to such a pass.
    """

    @override
    def call(self, graph_module: GraphModule) -> PassResult:
        """Rewrites the graphs, removes what nobody uses, and computes the values anew."""
        changed = self.apply_inplace(graph_module)
        if changed:
            for module in graph_modules(graph_module):
                settle(module)
        return PassResult(graph_module, changed)

    def apply_inplace(self, graph_module: GraphModule) -> bool:
        """Rewrites the graphs, and leaves dead nodes and old values in them; says whether they changed."""
        # A list, so that each graph is rewritten.
        return any([self.rewrite(module) for module in list(graph_modules(graph_module))])

    @abstractmethod
    def rewrite(self, module: GraphModule) -> bool:
        """Rewrites one graph; says whether it changed."""


def settle(module: GraphModule) -> None:
    """Removes dead nodes of a rewritten graph, computes the values that changed, and makes new code."""
    eliminate_dead_code(module.graph)
    complete_values(module)
    evaluator = Evaluator.of(module)
    for node in module.graph.nodes:
        renew(evaluator, node)
    module.graph.lint()
    module.recompile()


def renew(evaluator: Evaluator, node: Node) -> bool:
    """Computes the value of an operator's node anew; says whether shapes, strides or dtypes differ."""
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
    """The tensors that a node computes."""
    items = value if isinstance(value, (tuple, list)) else (value,)
    return [item for item in items if isinstance(item, torch.Tensor)]


def set_call(evaluator: Evaluator, node: Node, op: Any, *args: Argument) -> None:
    """Lets a node call another operator; its users and metadata stay, its value is computed."""
    node.target, node.args, node.kwargs = op, args, {}
    meta.set_val(node, evaluator.value(op, args))


def size_arguments(source: Node, sizes: Sequence[Size], before: Node) -> list[Argument] | None:
    """Returns sizes as a view of a tensor takes them.

    Args:
        source: the tensor.
        sizes: the sizes of the view. One size may be dynamic; several are read from the tensor.
        before: where calls that read sizes are put.

    Returns:
        The argument; None if a dynamic size is none of the tensor's.
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
        if node in stale and renew(evaluator, node):
            stale.update(node.users)
