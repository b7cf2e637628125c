"""Base classes of passes. A pass takes a program or graph module, and returns a new one and `modified`.

A pass does not change its argument. `GraphPass` and `ProgramPass` make a copy, and their subclasses rewrite
the copy. `rushlight.passes.runner` rewrites one program in place instead, so that no copies are needed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import Argument
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.facts import MethodProgram
from rushlight.ir.fake import Evaluator
from rushlight.ir.program import copy_graph_module, copy_program
from rushlight.passes.program_pass import ExportedProgramPassBase, ExportedProgramPassResult

__all__ = ["GraphPass", "ModulePass", "Pass", "PassBase", "PassResult", "ProgramPass", "graph_modules"]


AnyPass: TypeAlias = PassBase | ExportedProgramPassBase | Callable[[GraphModule], PassResult | None]
"""The possible items of a pass list: passes over graphs or programs, and functions over graph modules."""

PassTree: TypeAlias = "AnyPass | Sequence[PassTree]"
"""A pass, or nested lists of passes, which run in order."""


def graph_modules(graph_module: GraphModule) -> Iterator[GraphModule]:
    """Yields the graph module and the bodies of its control flow operators, outermost first."""
    yield graph_module
    for child in graph_module.children():
        if isinstance(child, GraphModule):
            yield from graph_modules(child)


class ModulePass(PassBase):
    """A pass that rewrites a graph module and the bodies of its control flow operators in one call."""

    def call(self, graph_module: GraphModule) -> PassResult:
        """Returns a rewritten copy, or the graph module itself if the pass changes nothing."""
        copied = copy_graph_module(graph_module)
        changed = self.rewrite_all(copied)
        return PassResult(copied if changed else graph_module, changed)

    @abstractmethod
    def rewrite_all(self, graph_module: GraphModule) -> bool:
        """Rewrites a graph module and its control flow bodies in place. Returns whether they changed."""


class GraphPass(ModulePass):
    """A pass that rewrites one graph at a time. It also visits the bodies of control flow operators.

    A subclass implements `rewrite` and keeps the value metadata correct. This class removes dead nodes and
    regenerates the Python code of changed modules.
    """

    @override
    def rewrite_all(self, graph_module: GraphModule) -> bool:
        changed = False
        for module in list(graph_modules(graph_module)):
            if self.rewrite(module):
                eliminate_dead_code(module.graph)
                module.recompile()
                changed = True
        return changed

    @abstractmethod
    def rewrite(self, module: GraphModule) -> bool:
        """Rewrites `module.graph` in place. Returns whether the pass changed the graph."""


class Pass(ExportedProgramPassBase):
    """A compiler pass over a whole program: graph, signature, facts and tables of tensors.

    `call` makes a new program and does not change its argument.
    """


class ProgramPass(Pass):
    """A pass that rewrites a copy of the program.

    A subclass implements `rewrite`. This class regenerates the Python code of changed programs.
    """

    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        """Returns a rewritten copy, or the program itself if the pass changes nothing."""
        copied = copy_program(exported_program)
        changed = self.rewrite_all(copied)
        return ExportedProgramPassResult(copied if changed else exported_program, changed)

    def rewrite_all(self, program: MethodProgram) -> bool:
        """Rewrites a program in place. Returns whether the pass changed the program."""
        changed = self.rewrite(program)
        if changed:
            program.graph_module.recompile()
        return changed

    @abstractmethod
    def rewrite(self, program: MethodProgram) -> bool:
        """Rewrites `program` in place. Returns whether the pass changed the program."""


def name_of(item: AnyPass) -> str:
    """Returns the name of a pass for messages: the name of its function or class."""
    return str(getattr(item, "__name__", type(item).__name__))


def eliminate_dead_code(graph: Graph) -> bool:
    """Erases nodes without users and without side effects. Returns whether a node was erased."""
    changed = False
    for node in reversed(list(graph.nodes)):
        if node.op in ("call_function", "get_attr") and not node.users and not has_effect(node):
            graph.erase_node(node)
            changed = True
    return changed


def has_effect(node: Node) -> bool:
    """Returns whether a node has a side effect."""
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


def insert_call(
    evaluator: Evaluator,
    origin: Node,
    op: Callable[..., object],
    args: tuple[Argument, ...],
    **kwargs: Argument,
) -> Node:
    """Inserts a call of `op` in front of `origin`.

    The new node gets its value metadata, and the source line of `origin`.
    """
    graph = origin.graph
    with graph.inserting_before(origin):
        node = graph.call_function(op, args, kwargs)
    meta.copy_origin(origin, node)
    meta.set_val(node, evaluator.value(op, args, kwargs))
    return node


def map_arguments(
    node: Node, op: OpOverload, change: Callable[[Argument, torch._C.Argument], Argument]
) -> bool:
    """Replaces each argument by `change(value, schema argument)`. Returns whether an argument changed."""
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
    """Inserts a `get_attr` node for a new constant in front of `origin`."""
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
