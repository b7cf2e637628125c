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
from rushlight.frontend.decompositions import FUNCTIONAL, Decomposition
from rushlight.frontend.diagnosis import place_of
from rushlight.frontend.node_writer import NodeWriter, eliminate_dead_code, without_grad
from rushlight.frontend.recorder import Expander, Expansion, NeedsFallback, Ref, evaluate, functional_form
from rushlight.frontend.symbols import SymbolNodes
from rushlight.ir import meta
from rushlight.ir.errors import ExportError
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

    def copy(self, node: Node) -> Node:
        """Adds a row-major copy of a node of the new graph."""
        copied: Node = self._emit(aten.clone.default, (node,), {"memory_format": torch.contiguous_format})
        return copied

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
        bodies = {
            position: _Body(arg, body, self.tools)
            for position, arg in enumerate(node.args)
            if isinstance(arg, Node) and arg.op == "get_attr"
            if isinstance(body := attribute_of(owner, arg), GraphModule)
        }
        written = sorted(set[int]().union(*(body.written for body in bodies.values())))
        args = [arg if place in bodies else self._arguments(arg) for place, arg in enumerate(node.args)]
        if not self._inputs_unchanged(node):
            raise NeedsFallback(f"decomposition changes the metadata of an input of {node.name}")
        handles = self._written_operands(node, written) if written else []
        if written and _name(node) == "while_loop":
            self._carry(node, args, list(bodies.values()), written)
        for body in (bodies[1],) if _name(node) == "while_loop" else bodies.values():
            contents = [body.content(index) for index in written]
            body.results += contents
        for position, body in bodies.items():
            args[position] = self._body(body)
        new = self.graph.create_node("call_function", target, tuple(args), {}, name=node.name)
        meta.copy_all(node, new)
        meta.set_origin(new, meta.origin_of(node))
        meta.add_source(new, node)
        self.env[node] = self.aliases.of(new)
        if written:
            self._write_results(new, handles, [meta.get_val(content) for content in contents])

    def _write_results(self, new: Node, handles: list[Handle], vals: list[Any]) -> None:
        """Adds results with the contents of written operands to control flow, and writes them back."""
        before = meta.get_val(new)
        meta.set_val(new, (*before, *vals))
        for index, (handle, val) in enumerate(zip(handles, vals, strict=True), len(before)):
            item = self.graph.call_function(operator.getitem, (new, index))
            meta.copy_origin(new, item)
            meta.set_val(item, val)
            self.aliases.write(handle, item, self._emit)

    def _written_operands(self, node: Node, written: list[int]) -> list[Handle]:
        """Returns the handles of the operands that the bodies write.

        Raises:
            ExportError: such an operand shares memory with another one, or the operator is a scan or a map.
        """
        lists: Any = {"cond": node.args[3:4], "while_loop": node.args[2:4]}.get(_name(node))
        if lists is None:
            raise ExportError(f"{place_of(node)}: the body writes to a tensor; return the new value instead")
        operands = [self.env[item] if isinstance(item, Node) else item for items in lists for item in items]
        for index in written:
            others = [*operands[:index], *operands[index + 1 :]]
            if any(isinstance(other, Handle) and other.root is operands[index].root for other in others):
                raise ExportError(
                    f"{place_of(node)}: a body writes to operand {index}, which shares memory with another "
                    "operand; call clone() of one of them"
                )
        return [operands[index] for index in written]

    def _carry(self, node: Node, args: list[Any], bodies: list[_Body], written: list[int]) -> None:
        """Makes carried values of the operands that the body of a loop writes."""
        first = len(args[2])
        if bodies[0].written or written[0] < first:
            raise ExportError(
                f"{place_of(node)}: the condition writes to a tensor, or the body to a value that it returns "
                "in another variable; call clone() of this value in the body before"
            )
        places = [index - first for index in written]
        args[2] = (*args[2], *(args[3][place] for place in places))
        args[3] = tuple(item for place, item in enumerate(args[3]) if place not in places)
        for each in bodies:
            each.move_inputs(first, written)

    def _body(self, body: _Body) -> Node:
        """Adds a decomposed body, and returns its `get_attr` node."""
        name = str(body.node.target)
        while name in self.attributes:
            name += "_"
        self.attributes[name] = body.finish()
        new = self.graph.create_node("get_attr", name, name=body.node.name)
        meta.copy_all(body.node, new)
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
        if op is aten.as_strided.default:
            source: Any = node.args[0]
            self.aliases.with_strides(self.env[source], meta.get_val(source).stride(), self._emit)
        args, kwargs = self._arguments(node.args), self._arguments(node.kwargs)
        results = self._emit(_GRAPH_EQUIVALENT.get(op, op), args, kwargs, of=node)
        if not self._inputs_unchanged(node):
            results = self._aliasing_as_exported(node, op, results)
        before: Any = meta.find_val(node.args[0]) if node.args and isinstance(node.args[0], Node) else None
        view = _view_operator(node, op, before)
        if view is not None:
            base: Any = self.env[node.args[0]]  # type: ignore[index]
            self.env[node] = self.aliases.add_view(results, base, view)
            return
        if op is aten.resolve_conj.default and before.is_conj():
            results = self._emit(aten.clone.default, (results,), {})
        self.env[node] = map_aggregate(results, self._handles_of_new)

    def _aliasing_as_exported(self, node: Node, op: OpOverload, result: Any) -> Any:
        """Returns the result as a view or a copy, as in the exported program.

        The layout of the input decides whether reshape, contiguous and similar operators copy. A write gives
        a tensor of the new graph another layout.
        """
        is_expanded = tables.is_composite(op) and not tables.is_kept_composite(op, self.tools.preserve)
        if not is_expanded or not isinstance(result, Node):
            return result
        exported, inputs = self.tools.expander.expand(op, node.args, dict(node.kwargs))
        contents = [self.mapped(item) for item in inputs]
        is_view = self.aliases.share_memory(result, contents)
        if exported.is_view() == is_view:
            return result
        return (
            self._emit(aten.clone.default, (result,), {}) if is_view else self._replayed(exported, contents)
        )

    def _replayed(self, expansion: Expansion, inputs: list[Node]) -> Node:
        """Emits the views of an expansion, whose layouts may differ."""
        results: list[Any] = []

        def to_new(item: object) -> Any:
            if not isinstance(item, Ref):
                return self.symbols.node_of(item)
            return inputs[item.index or 0] if item.step < 0 else results[item.step]

        for step in expansion.steps:
            if not isinstance(step.val, torch.Tensor):
                raise NeedsFallback(f"{step.target} reads a tensor whose layout changes")
            args, kwargs = map_aggregate(step.args, to_new), map_aggregate(step.kwargs, to_new)
            results.append(self._emit(step.target, args, kwargs))
        node: Node = to_new(expansion.output)
        return node

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
        before = meta.get_val(args[0])
        new = self._new_content(op, args, kwargs)
        if torch.Tag.inplace_view in op.tags:
            if any(handle is self.aliases.of(placeholder) for placeholder in self.placeholders):
                raise NeedsFallback(f"{op} changes the dims of an input")
            if not self.aliases.share_memory(new, (args[0],)):
                raise NeedsFallback(f"{op} gives a tensor other memory")
            self._rename(handle, self.aliases.of(new))
            return
        if not isinstance(new, Node) or meta.get_val(new).shape != before.shape:
            raise NeedsFallback(f"{op} changes the shape of the tensor that it writes")
        if meta.get_val(new).dtype != before.dtype:
            new = self._emit(aten._to_copy.default, (new,), {"dtype": before.dtype})
        self.aliases.write(handle, new, self._emit)

    def _new_content(self, op: OpOverload, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> Any:
        """Adds nodes that compute the new content of the tensor that an in-place operator writes."""
        functional = functional_form(op)
        if functional is not None:
            return self._emit(functional, args, kwargs)
        if op not in FUNCTIONAL:
            raise NeedsFallback(f"{op} writes its arguments")
        expansion, inputs = self.tools.expander.expand(op, args, kwargs, FUNCTIONAL[op])
        return self.writer.instantiate(expansion, inputs, self.origin)

    def _rename(self, handle: Handle, view: Handle) -> None:
        """Lets the old nodes of a tensor mean a view of it. Other views of the tensor stay as they are."""
        for node, known in self.env.items():
            if known is handle:
                self.env[node] = view

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


class _Body:
    """The decomposition of a body of control flow.

    Attributes:
        node: the old `get_attr` node.
        results: the results of the new graph.
        written: the indices of the inputs that the body writes.
    """

    def __init__(self, node: Node, module: GraphModule, tools: Tools) -> None:
        self.node = node
        self._decomposer = FastDecomposer(module, tools)
        self._output = self._decomposer.run()
        mapped: Any = map_aggregate(self._output.args[0], self._decomposer.mapped)
        self._is_single = not isinstance(mapped, (list, tuple))
        self.results: list[Any] = [mapped] if self._is_single else list(mapped)
        self._inputs = list(self._decomposer.placeholders)
        self.written = {
            index for index, node in enumerate(self._inputs) if self._decomposer.content(node) is not node
        }

    def content(self, index: int) -> Node:
        """Returns the row-major content of an input after all writes, in memory of its own."""
        content = self._decomposer.content(self._inputs[index])
        if index in self.written and meta.get_val(content).is_contiguous():
            return content
        return self._decomposer.copy(content)

    def move_inputs(self, first: int, indices: list[int]) -> None:
        """Moves inputs in front of the other inputs from `first` on."""
        others = [node for index, node in enumerate(self._inputs) if index >= first and index not in indices]
        for index in indices if others else ():
            others[0].prepend(self._inputs[index])

    def finish(self) -> GraphModule:
        """Returns the body in Core ATen."""
        results = self.results[0] if self._is_single else tuple(self.results)
        self._decomposer.finish(results, self._output)
        return lazy_module(self._decomposer.attributes, self._decomposer.graph)


def _view_operator(node: Node, op: OpOverload, source: Any) -> OpOverload | None:
    """Returns how to compute the result of a functional operator that is a view in eager PyTorch, or None."""
    if op in (aten.conj.default, aten._conj.default) and source.is_complex():
        return aten._conj_physical.default
    # torch decomposes inactive dropout to a copy.
    is_inactive = op is aten.dropout.default and not (node.args[1] and node.args[2])
    return aten.clone.default if is_inactive else None


def _name(node: Node) -> str:
    """Returns the name of a higher-order operator."""
    name: str = node.target.name()  # type: ignore[union-attr]
    return name


def _val_of(item: Argument) -> Argument:
    return meta.find_val(item) if isinstance(item, Node) else item


def attribute_of(owner: GraphModule, node: Node) -> object:
    """Returns the attribute that a get_attr node names."""
    value: object = owner
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value
