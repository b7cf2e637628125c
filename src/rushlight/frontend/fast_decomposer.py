"""Decomposes a graph and the bodies of its control flow in one walk.

Core ATen operators are copied with their metadata. For other operators, the decomposition is run on fake
tensors and recorded. Calls with the same operator, metadata and constants share one recording. In-place
operators are replaced by functional ones. `NeedsFallback` is raised for a program that this walk does not
support.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import Argument, map_aggregate

from rushlight.frontend import tables
from rushlight.frontend.aliases import Aliases, Handle
from rushlight.frontend.decompositions import Decomposition
from rushlight.frontend.node_writer import NodeWriter, eliminate_dead_code, without_grad
from rushlight.frontend.recorder import Expander, NeedsFallback, Ref, evaluate, functional_form
from rushlight.frontend.symbols import SymbolNodes
from rushlight.ir import meta
from rushlight.ir.fake import Evaluator, fake_mode_of, tensor_key
from rushlight.ir.program import lazy_module

aten = torch.ops.aten

_SCALARS = (int, float, torch.SymInt, torch.SymFloat, torch.SymBool)

_INLINED = ("wrap_with_set_grad_enabled",)

_CONTROL_FLOW = ("cond", "while_loop", "map_impl", "scan")

# Constants are inputs of the graph, so that the copy of a lifted constant is a clone of an input.
_GRAPH_EQUIVALENT = {aten.lift_fresh_copy.default: aten.clone.default}


@dataclass(frozen=True)
class Tools:
    """Shared data of the walks over one program: the decompositions, and cached results."""

    table: Mapping[OpOverload, Decomposition]
    preserve: frozenset[OpOverload]
    expander: Expander
    evaluator: Evaluator

    @classmethod
    def of(cls, graph: Graph, preserve: Collection[OpOverload]) -> Tools:
        """Makes the tools for a graph."""
        kept = frozenset(preserve)
        table = tables.python_table(kept)
        fake_mode = fake_mode_of(graph)
        return cls(table, kept, Expander(fake_mode, table, kept), Evaluator(fake_mode))


class FastDecomposer:
    """Decomposes a graph in one walk.

    It has the new graph, and the handle or the sequence of handles of each old node (`env`).
    """

    def __init__(self, module: GraphModule, tools: Tools) -> None:
        self.module = module
        self.tools = tools
        self.graph = Graph()
        self.attributes: dict[str, object] = {}
        self.env: dict[Node, Any] = {}
        self.symbols = SymbolNodes(self.graph)
        self.writer = NodeWriter(self.graph, self.symbols)
        self.aliases = Aliases(self._sizes)
        self.placeholders: list[Node] = []
        self.origin: Node = next(iter(module.graph.nodes))

    def run(self) -> Node:
        """Walks over all nodes but the output node.

        Returns:
            The output node of the old graph.

        Raises:
            NeedsFallback: the walk does not support a node.
        """
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node)
            elif node.op == "call_function":
                self._call(node, self.module)
            elif node.op == "output":
                output: Node = node
            elif node.op == "get_attr":
                self._attribute(node)
            else:
                raise NeedsFallback(f"{node.op} node {node.name}")
        return output

    def _attribute(self, node: Node) -> None:
        """Copies a constant. Bodies of control flow are skipped; the node that calls a body decomposes it."""
        value = attribute_of(self.module, node)
        if isinstance(value, GraphModule):
            return
        if not isinstance(value, torch.Tensor):
            raise NeedsFallback(f"{node.name} reads {type(value).__name__}")
        self.attributes[str(node.target)] = value
        new = self.graph.create_node("get_attr", str(node.target), name=node.name)
        meta.copy_all(node, new)
        meta.set_val(new, self.tools.evaluator.like(value))
        self.env[node] = self.aliases.of(new)

    def finish(self, results: Argument, old: Node) -> None:
        """Adds the output node to the new graph, and removes dead code.

        Args:
            results: the results of the new graph.
            old: the output node of the old graph.
        """
        node = self.graph.output(results)
        meta.copy_all(old, node)
        meta.set_val(node, map_aggregate(results, _val_of))
        eliminate_dead_code(self.graph)

    def content(self, node: Node) -> Node:
        """Returns the content of a placeholder of the new graph after all writes."""
        current: Node = self._content(self.aliases.of(node))
        return current

    def mapped(self, item: object) -> Any:
        """Returns the new node with the content of an old node, or the sequence of new nodes."""
        return map_aggregate(self._handles(item), self._content)

    def _placeholder(self, node: Node) -> None:
        new = self.graph.create_node("placeholder", str(node.target), name=node.name)
        new.name = node.name  # torch.fx would change names of Python builtins, such as `input`.
        meta.copy_all(node, new)
        self.env[node] = self.aliases.of(new)
        self.placeholders.append(new)
        self.symbols.add_placeholder(new)

    def _call(self, node: Node, owner: GraphModule) -> None:
        self.origin = node
        target = node.target
        if target is operator.getitem:
            source: Any = node.args[0]
            index: Any = node.args[1]
            items = self.env[source]
            self.env[node] = items[index] if isinstance(items, (list, tuple)) else self._copy(node)
        elif isinstance(target, OpOverload):
            self._operator(node, target)
        elif isinstance(target, HigherOrderOperator):
            self._higher_order(node, target, owner)
        elif isinstance(meta.find_val(node), _SCALARS):
            self.env[node] = self._copy(node)
        else:
            raise NeedsFallback(f"{getattr(target, '__name__', target)} is not an operator")

    def _higher_order(self, node: Node, target: HigherOrderOperator, owner: GraphModule) -> None:
        if target.name() in _CONTROL_FLOW:
            self._control_flow(node, target, owner)
        elif target.name() in _INLINED:
            self._inline(node, target, owner)
        else:
            raise NeedsFallback(f"higher-order operator {target.name()}")

    def _control_flow(self, node: Node, target: HigherOrderOperator, owner: GraphModule) -> None:
        args = [self._operand(arg, owner) for arg in node.args]
        if not self._inputs_unchanged(node):
            raise NeedsFallback(f"decomposition changes the metadata of an input of {node.name}")
        new = self.graph.create_node("call_function", target, tuple(args), {}, name=node.name)
        meta.copy_all(node, new)
        meta.set_origin(new, meta.origin_of(node))
        meta.add_source(new, node)
        self.env[node] = self.aliases.of(new)

    def _operand(self, argument: object, owner: GraphModule) -> Any:
        """Returns the new argument: for a body the `get_attr` node of its decomposed graph."""
        if not isinstance(argument, Node) or argument.op != "get_attr":
            return self._arguments(argument)
        module = attribute_of(owner, argument)
        if not isinstance(module, GraphModule):
            return self._arguments(argument)
        name = str(argument.target)
        while name in self.attributes:
            name += "_"
        self.attributes[name] = _decompose_body(module, self.tools)
        new = self.graph.create_node("get_attr", name, name=argument.name)
        meta.copy_all(argument, new)
        return new

    def _inline(self, node: Node, target: HigherOrderOperator, owner: GraphModule) -> None:
        _, body, *operands = node.args
        submodule = attribute_of(owner, body)  # type: ignore[arg-type]
        if not isinstance(submodule, GraphModule):
            raise NeedsFallback(f"{target.name()} calls {body}, which is not a graph")
        values = iter(operands)
        for inner in submodule.graph.nodes:
            if inner.op == "placeholder":
                self.env[inner] = self.env[next(values)]  # type: ignore[index]
            elif inner.op == "call_function":
                self._call(inner, submodule)
            elif inner.op == "output":
                self.env[node] = map_aggregate(inner.args[0], self._handles)
            elif inner.op == "get_attr" and not isinstance(attribute_of(submodule, inner), GraphModule):
                raise NeedsFallback(f"{target.name()} reads a constant")

    def _operator(self, node: Node, op: OpOverload) -> None:
        if meta.makes_symbols(node):
            raise NeedsFallback(f"{op} makes a size that depends on data")
        if op._schema.is_mutable:
            self._in_place(node, op)
            return
        args, kwargs = self._arguments(node.args), self._arguments(node.kwargs)
        results = self._emit(_GRAPH_EQUIVALENT.get(op, op), args, kwargs, of=node)
        self.env[node] = map_aggregate(results, self._handles_of_new)

    def _emit(
        self,
        op: OpOverload,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        of: Node | None = None,
    ) -> Any:
        """Adds nodes that compute `op`: its decomposition, or a call of the operator itself.

        Args:
            op: the operator.
            args: its positional arguments, with new nodes.
            kwargs: its keyword arguments, with new nodes.
            of: the old node that calls `op`, whose metadata may be valid for the new node too. None if no old
                node has this call, for example if a view is computed again.
        """
        expands = op in self.tools.table or (
            tables.is_composite(op) and not tables.is_kept_composite(op, self.tools.preserve)
        )
        if not expands:
            return self._keep(op, args, kwargs, of)
        expansion, inputs = self.tools.expander.expand(op, args, kwargs)
        return self.writer.instantiate(expansion, inputs, self.origin)

    def _keep(
        self, op: OpOverload, args: tuple[Argument, ...], kwargs: dict[str, Argument], of: Node | None
    ) -> Node:
        if of is not None and op is of.target and self._inputs_unchanged(of):
            val = meta.find_val(of)
        else:
            args, val = self._evaluate(op, args, kwargs)
        new = self._new_call(op, args, kwargs)
        meta.set_val(new, without_grad(val))
        return new

    def _evaluate(
        self, op: OpOverload, args: tuple[Argument, ...], kwargs: dict[str, Argument]
    ) -> tuple[tuple[Argument, ...], Any]:
        """Returns the positional arguments and the value of a call.

        A write through a view may change the layout of the base, so that another view of the base does not
        exist. The base is then made row-major first.
        """
        try:
            return args, evaluate(self.tools.evaluator, op, args, kwargs)
        except NeedsFallback:
            source = args[0] if args else None
            if not isinstance(source, Node):
                raise
        handle = self.aliases.of(source)
        dense = self._emit(aten.clone.default, (source,), {"memory_format": torch.contiguous_format})
        self.aliases.store(handle, dense)
        args = (dense, *args[1:])
        return args, evaluate(self.tools.evaluator, op, args, kwargs)

    def _inputs_unchanged(self, node: Node) -> bool:
        """Whether old and new inputs have equal metadata, so that the metadata of the result stays valid."""
        for old in node.all_input_nodes:
            if old not in self.env:  # A body of control flow.
                continue
            new = self.mapped(old)
            if not isinstance(new, Node):
                return False
            before, after = meta.get_val(old), meta.get_val(new)
            if before is after:
                continue
            if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
                continue
            if tensor_key(before) != tensor_key(after):
                return False
        return True

    def _new_call(self, op: OpOverload, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> Node:
        return self.writer.new_call(op, args, kwargs, self.origin)

    def _in_place(self, node: Node, op: OpOverload) -> None:
        target = node.args[0] if node.args else None
        if not isinstance(target, Node) or not isinstance(self.env[target], Handle):
            raise NeedsFallback(f"{op} writes its arguments")
        handle = self.env[node] = self.env[target]
        args, kwargs = self._arguments(node.args), self._arguments(node.kwargs)
        if op is aten.detach_.default or (op is aten.copy_.default and args[1] is args[0]):
            return
        if tables.is_composite(op) and self._writes_nothing(op, args, kwargs):
            return
        functional = functional_form(op)
        if functional is None:
            raise NeedsFallback(f"{op} writes its arguments")
        before = meta.get_val(args[0])
        new = self._emit(functional, args, kwargs)
        if not isinstance(new, Node) or meta.get_val(new).shape != before.shape:
            raise NeedsFallback(f"{op} changes the shape of the tensor that it writes")
        if meta.get_val(new).dtype != before.dtype:
            new = self._emit(aten._to_copy.default, (new,), {"dtype": before.dtype})
        self.aliases.write(handle, new, self._emit)

    def _writes_nothing(
        self, op: OpOverload, args: tuple[Argument, ...], kwargs: dict[str, Argument]
    ) -> bool:
        """Whether an in-place composite operator changes nothing, such as dropout_ at inference."""
        try:
            expansion, _ = self.tools.expander.expand(op, args, kwargs)
        except NeedsFallback:
            return False
        return not expansion.steps and expansion.output == Ref(-1, 0)

    def _sizes(self, node: Node) -> list[Node | int]:
        """Returns the shape of a node, with nodes for symbolic sizes."""
        return [self.symbols.node_of(size) for size in meta.get_val(node).shape]

    def _copy(self, node: Node) -> Handle:
        target: Any = node.target
        new = self.graph.call_function(target, self._arguments(node.args), self._arguments(node.kwargs))
        meta.copy_all(node, new)
        meta.set_origin(new, meta.origin_of(node))
        meta.add_source(new, node)
        source = new.args[0] if new.args else None
        if target is operator.getitem and isinstance(source, Node):
            meta.set_val(new, meta.get_val(source)[new.args[1]])
            meta.set_original(new, meta.get_original(source))
        self.symbols.add(new)
        return self.aliases.of(new)

    def _handles(self, item: object) -> Any:
        return self.env[item] if isinstance(item, Node) else item

    def _handles_of_new(self, item: object) -> Any:
        return self.aliases.of(item) if isinstance(item, Node) else item

    def _content(self, item: object) -> Any:
        return self.aliases.current(item, self._emit) if isinstance(item, Handle) else item

    def _arguments(self, tree: Any) -> Any:
        return map_aggregate(tree, self.mapped)


def _decompose_body(module: GraphModule, tools: Tools) -> GraphModule:
    """Returns the body of a control-flow operator in Core ATen."""
    decomposer = FastDecomposer(module, tools)
    output = decomposer.run()
    if any(decomposer.content(node) is not node for node in decomposer.placeholders):
        raise NeedsFallback("a body of control flow writes its inputs")
    decomposer.finish(map_aggregate(output.args[0], decomposer.mapped), output)
    return lazy_module(decomposer.attributes, decomposer.graph)


def _val_of(item: Argument) -> Argument:
    return meta.find_val(item) if isinstance(item, Node) else item


def attribute_of(owner: GraphModule, node: Node) -> object:
    """Returns the attribute that a get_attr node names."""
    value: object = owner
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value
