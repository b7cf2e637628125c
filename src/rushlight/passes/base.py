"""The contract of passes: a graph module in, a `PassResult` (graph module, whether it changed) out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.pass_base import PassBase, PassResult

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.errors import PassError
from rushlight.ir.fake import Evaluator

__all__ = ["GraphPass", "PassBase", "PassResult", "run_passes", "graph_modules"]

Pass = Callable[[GraphModule], PassResult | None]


def graph_modules(graph_module: GraphModule) -> Iterator[GraphModule]:
    """The graph module and the bodies of its control flow, outermost first."""
    yield graph_module
    for child in graph_module.children():
        if isinstance(child, GraphModule):
            yield from graph_modules(child)


class GraphPass(PassBase):
    """A pass that rewrites one graph at a time, in place; bodies of control flow are visited as well.

    A subclass implements `rewrite` and keeps value metadata right; dead nodes are removed here and the code
    of changed modules is generated anew.
    """

    def call(self, graph_module: GraphModule) -> PassResult:
        changed = False
        for module in list(graph_modules(graph_module)):
            if self.rewrite(module):
                eliminate_dead_code(module.graph)
                module.recompile()
                changed = True
        return PassResult(graph_module, changed)

    @abstractmethod
    def rewrite(self, module: GraphModule) -> bool:
        """Rewrites `module.graph`; says whether it changed."""


def run_passes(graph_module: GraphModule, passes: Iterable[Any]) -> GraphModule:
    """Runs the passes in order and returns the last graph module."""
    for graph_pass in passes:
        result = graph_pass(graph_module)
        if result is None:
            raise PassError(
                f"{name_of(graph_pass)} returned None; a pass returns PassResult(graph_module, modified)"
            )
        graph_module = result.graph_module
    return graph_module


def name_of(graph_pass: Any) -> str:
    return getattr(graph_pass, "__name__", type(graph_pass).__name__)


def eliminate_dead_code(graph: Graph) -> bool:
    """Erases nodes that nobody uses and that have no effect; says whether there were any."""
    changed = False
    for node in reversed(list(graph.nodes)):
        if node.op in ("call_function", "get_attr") and not node.users and not has_effect(node):
            graph.erase_node(node)
            changed = True
    return changed


def has_effect(node: Node) -> bool:
    """Whether a node does more than compute its result."""
    if node.op != "call_function":
        return node.op in ("placeholder", "output")
    op = aten_op(node.target)
    return op is not None and (op._schema.is_mutable or op in _ASSERTIONS or not op._schema.returns)


_ASSERTIONS = frozenset(
    {
        torch.ops.aten._assert_async.msg,
        torch.ops.aten._assert_scalar.default,
        torch.ops.aten._assert_tensor_metadata.default,
        torch.ops.aten.sym_constrain_range.default,
        torch.ops.aten.sym_constrain_range_for_size.default,
    }
)


def insert_call(evaluator: Evaluator, origin: Node, op: Any, args: tuple[Any, ...], **kwargs: Any) -> Node:
    """A call of `op` in front of `origin`, with its value and the origin's source line."""
    graph = origin.graph
    with graph.inserting_before(origin):
        node = graph.call_function(op, args, kwargs)
    meta.copy_origin(origin, node)
    meta.set_val(node, evaluator.value(op, args, kwargs))
    return node


def map_arguments(node: Node, op: OpOverload, change: Callable[[Any, Any], Any]) -> bool:
    """Replaces each argument by `change(value, schema argument)`; says whether any changed."""
    args = list(node.args)
    kwargs = dict(node.kwargs)
    changed = False
    for index, argument in enumerate(op._schema.arguments):
        if not argument.kwarg_only and index < len(args):
            value = change(args[index], argument)
            changed |= value is not args[index]
            args[index] = value
        elif argument.name in kwargs:
            value = change(kwargs[argument.name], argument)
            changed |= value is not kwargs[argument.name]
            kwargs[argument.name] = value
    if changed:
        node.args = tuple(args)
        node.kwargs = kwargs
    return changed


def add_constant(module: GraphModule, tensor: torch.Tensor, origin: Node, val: torch.Tensor) -> Node:
    """A `get_attr` node in front of `origin` that holds a new constant."""
    index = len(module._buffers)
    while f"_tensor_constant{index}" in module._buffers:
        index += 1
    name = f"_tensor_constant{index}"
    module.register_buffer(name, tensor)
    with origin.graph.inserting_before(origin):
        node = origin.graph.create_node("get_attr", name)
    meta.copy_origin(origin, node)
    meta.set_val(node, val)
    return node


def is_lowered_module(module: Any) -> bool:
    """Whether a module is what a backend made of a part of a program."""
    return type(module).__name__ == "LoweredBackendModule"
