"""ATen dialect to Core ATen: one walk over the graph, expanding operators by recorded decompositions.

Operators that are already core are copied with their metadata; the others are expanded on fake tensors, each
distinct expansion recorded once. In-place operators become functional. What this walk
cannot prove simple goes through `ExportedProgram.run_decompositions`, which means the same and is slower.
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

import torch
from torch._export.verifier import Verifier
from torch._ops import HigherOrderOperator, OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_aggregate

from rushlight.frontend import tables
from rushlight.frontend.aliases import Aliases, Handle
from rushlight.frontend.recorder import Expander, Expansion, NotSimple, Ref, functional_form
from rushlight.frontend.symbols import SymbolNodes
from rushlight.ir import meta
from rushlight.ir.fake import Evaluator, fake_mode_of, tensor_key
from rushlight.ir.program import make_program

aten = torch.ops.aten

_INLINED = ("wrap_with_set_grad_enabled",)

_COPIED_OUTPUTS = (OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)

# A lifted constant is an input of the graph, so its copy is an ordinary one.
_MEANS_IN_GRAPH = {aten.lift_fresh_copy.default: aten.clone.default}


def decompose(program: ExportedProgram, preserve: Collection[OpOverload] = ()) -> ExportedProgram:
    """The program in Core ATen; `preserve` names functional operators to keep whole.

    The given program is not changed; the result shares its parameters, buffers and constants.
    """
    try:
        return _Walk(program, preserve).run()
    except NotSimple:
        core = program.run_decompositions(tables.general_table(preserve))
        return make_program(core, core.graph_module, core.graph, core.graph_signature)


def why_general(program: ExportedProgram, preserve: Collection[OpOverload] = ()) -> str | None:
    """Why `decompose` leaves the program to torch, None if it does not."""
    try:
        _Walk(program, preserve).run()
    except NotSimple as reason:
        return str(reason)
    return None


class _Walk:
    """The state of one walk: the new graph, and the handle (or sequence of them) of each old node."""

    def __init__(self, program: ExportedProgram, preserve: Collection[OpOverload]) -> None:
        self.program = program
        self.preserve = frozenset(preserve)
        self.table = tables.python_table(self.preserve)
        self.graph = Graph()
        self.env: dict[Node, Any] = {}
        self.symbols = SymbolNodes(self.graph)
        self.aliases = Aliases(self._sizes)
        fake_mode = fake_mode_of(program.graph)
        self.expander = Expander(fake_mode, self.table, self.preserve)
        self.evaluator = Evaluator(fake_mode)
        self.origin: Node = next(iter(program.graph.nodes))

    def run(self) -> ExportedProgram:
        program = self.program
        if any(entry.fqn and entry.signature is not None for entry in program.module_call_graph):
            raise NotSimple("the call signatures of submodules are preserved")
        if program.graph_signature.backward_signature is not None:
            raise NotSimple("the program holds a backward pass")
        outputs: Any = None
        with self.expander.active():
            for node in program.graph.nodes:
                if node.op == "placeholder":
                    self._placeholder(node)
                elif node.op == "call_function":
                    self._call(node, program.graph_module)
                elif node.op == "output":
                    outputs = node
                elif node.op != "get_attr" or not isinstance(
                    _attribute(program.graph_module, node), GraphModule
                ):
                    raise NotSimple(f"{node.op} node {node.name}")
            return self._finish(outputs)

    def _placeholder(self, node: Node) -> None:
        new = self.graph.create_node("placeholder", str(node.target), name=node.name)
        new.name = node.name  # also one that torch.fx would not give, such as `input`
        new.meta = dict(node.meta)
        self.env[node] = self.aliases.of(new)
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
        else:
            self.env[node] = self._copy(node)

    def _higher_order(self, node: Node, target: HigherOrderOperator, owner: GraphModule) -> None:
        if target.name() not in _INLINED:
            raise NotSimple(f"higher-order operator {target.name()}")
        _, body, *operands = node.args
        submodule = _attribute(owner, body)  # type: ignore[arg-type]
        if not isinstance(submodule, GraphModule):
            raise NotSimple(f"{target.name()} over {body}")
        values = iter(operands)
        for inner in submodule.graph.nodes:
            if inner.op == "placeholder":
                self.env[inner] = self.env[next(values)]  # type: ignore[index]
            elif inner.op == "call_function":
                self._call(inner, submodule)
            elif inner.op == "output":
                self.env[node] = map_aggregate(inner.args[0], self._handles)
            elif inner.op == "get_attr" and not isinstance(_attribute(submodule, inner), GraphModule):
                raise NotSimple(f"{target.name()} reads a constant")

    def _operator(self, node: Node, op: OpOverload) -> None:
        if "unbacked_bindings" in node.meta:
            raise NotSimple(f"{op} makes a size that depends on data")
        if op._schema.is_mutable:
            self._in_place(node, op)
            return
        args, kwargs = self._arguments(node.args), self._arguments(node.kwargs)
        results = self._emit(_MEANS_IN_GRAPH.get(op, op), args, kwargs)
        self.env[node] = map_aggregate(results, self._handles_of_new)

    def _emit(self, op: OpOverload, args: Any, kwargs: Any) -> Any:
        """New nodes that compute `op`: its expansion, or the operator itself."""
        expands = op in self.table or (
            tables.is_composite(op) and not tables.is_kept_composite(op, self.preserve)
        )
        if not expands:
            return self._keep(op, args, kwargs)
        expansion, inputs = self.expander.expand(op, args, kwargs)
        return self._instantiate(expansion, inputs)

    def _keep(self, op: OpOverload, args: Any, kwargs: Any) -> Node:
        new = self._new_call(op, args, kwargs)
        old = self.origin
        val = old.meta.get(meta.VAL)
        if op is not old.target or not self._inputs_unchanged(old):
            val = self.evaluator.value(op, args, kwargs)
        meta.set_val(new, _without_grad(val))
        return new

    def _inputs_unchanged(self, node: Node) -> bool:
        """Whether the new inputs have the metadata of the old ones, so that the old result's holds."""
        for old in node.all_input_nodes:
            new = self._mapped(old)
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

    def _instantiate(self, expansion: Expansion, inputs: list[Node]) -> Any:
        results: list[Any] = []

        def to_node(item: Any) -> Any:
            if isinstance(item, Ref):
                if item.step < 0:
                    return inputs[item.index or 0]
                result = results[item.step]
                return result if item.index is None else result[item.index]
            return self.symbols.node_of(item)

        for step in expansion.steps:
            args, kwargs = map_aggregate(step.args, to_node), map_aggregate(step.kwargs, to_node)
            new = self._new_call(step.target, args, kwargs)
            meta.set_val(new, step.val)
            single = step.val is None or isinstance(step.val, torch.Tensor)
            results.append(new if single else self._items(new, step.val))
        return map_aggregate(expansion.output, to_node)

    def _new_call(self, op: OpOverload, args: Any, kwargs: Any) -> Node:
        name = op._schema.name.split("::")[1]
        new = self.graph.create_node("call_function", op, args, kwargs, name=name)
        _take_origin(self.origin, new)
        return new

    def _items(self, new: Node, val: Any) -> list[Node | None]:
        items: list[Node | None] = []
        for index, part in enumerate(val):
            if not isinstance(part, torch.Tensor):
                items.append(None)
                continue
            item = self.graph.call_function(operator.getitem, (new, index))
            _take_origin(self.origin, item)
            meta.set_val(item, part)
            items.append(item)
        return items

    def _in_place(self, node: Node, op: OpOverload) -> None:
        target = node.args[0] if node.args else None
        if not isinstance(target, Node) or not isinstance(self.env[target], Handle):
            raise NotSimple(f"{op} writes its arguments")
        handle = self.env[node] = self.env[target]
        args, kwargs = self._arguments(node.args), self._arguments(node.kwargs)
        if op is aten.detach_.default or (op is aten.copy_.default and args[1] is args[0]):
            return
        if tables.is_composite(op) and self._writes_nothing(op, args, kwargs):
            return
        functional = functional_form(op)
        if functional is None:
            raise NotSimple(f"{op} writes its arguments")
        before = meta.get_val(args[0])
        new = self._emit(functional, args, kwargs)
        if not isinstance(new, Node) or meta.get_val(new).shape != before.shape:
            raise NotSimple(f"{op} changes the shape of what it writes")
        if meta.get_val(new).dtype != before.dtype:
            new = self._emit(aten._to_copy.default, (new,), {"dtype": before.dtype})
        self.aliases.write(handle, new, self._emit)

    def _writes_nothing(self, op: OpOverload, args: Any, kwargs: Any) -> bool:
        """Whether an in-place composite returns its argument as it is: dropout of an evaluated model."""
        try:
            expansion, _ = self.expander.expand(op, args, kwargs)
        except NotSimple:
            return False
        return not expansion.steps and expansion.output == Ref(-1, 0)

    def _sizes(self, node: Node) -> list[Any]:
        """The shape of a node, symbolic sizes as nodes."""
        return [self.symbols.node_of(size) for size in meta.get_val(node).shape]

    def _copy(self, node: Node) -> Handle:
        target: Any = node.target
        new = self.graph.call_function(target, self._arguments(node.args), self._arguments(node.kwargs))
        new.meta = dict(node.meta)
        meta.set_origin(new, meta.origin_of(node))
        source = new.args[0] if new.args else None
        if target is operator.getitem and isinstance(source, Node):
            meta.set_val(new, meta.get_val(source)[new.args[1]])
        else:
            self.symbols.add(new)
        return self.aliases.of(new)

    def _handles(self, item: Any) -> Any:
        return self.env[item] if isinstance(item, Node) else item

    def _handles_of_new(self, item: Any) -> Any:
        return self.aliases.of(item) if isinstance(item, Node) else item

    def _mapped(self, item: Any) -> Any:
        """The new node of an old node's content, or the sequence of them."""
        return map_aggregate(self._handles(item), self._content)

    def _content(self, item: Any) -> Any:
        return self.aliases.current(item, self._emit) if isinstance(item, Handle) else item

    def _arguments(self, tree: Any) -> Any:
        return map_aggregate(tree, self._mapped)

    def _finish(self, output: Node) -> ExportedProgram:
        signature = self.program.graph_signature
        specs: list[OutputSpec] = []
        results: list[Any] = []
        for spec, placeholder in zip(signature.input_specs, self._placeholders(), strict=True):
            content = self._content(self.aliases.of(placeholder))
            if content is placeholder:
                continue
            if spec.kind == InputKind.BUFFER:
                kind, name = OutputKind.BUFFER_MUTATION, spec.target
            elif spec.kind == InputKind.USER_INPUT:
                kind, name = OutputKind.USER_INPUT_MUTATION, placeholder.name
            else:
                raise NotSimple(f"{spec.kind.name.lower()} {spec.target} is written")
            specs.append(OutputSpec(kind, TensorArgument(content.name), name))
            results.append(content)
        old_results = output.args[0]
        assert isinstance(old_results, (list, tuple))
        for spec, item in zip(signature.output_specs, old_results, strict=True):
            if spec.kind not in _COPIED_OUTPUTS:
                raise NotSimple(f"output of kind {spec.kind.name}")
            new = self._mapped(item)
            argument = spec.arg
            if isinstance(new, Node):
                argument = type(argument)(new.name)
            specs.append(OutputSpec(spec.kind, argument, spec.target))
            results.append(new)
        node = self.graph.output(tuple(results))
        node.meta = dict(output.meta)
        meta.set_val(node, map_aggregate(tuple(results), _val_of))
        self.symbols.finish()
        _eliminate_dead_code(self.graph)
        return self._program(ExportGraphSignature(list(signature.input_specs), specs))

    def _placeholders(self) -> list[Node]:
        return [node for node in self.graph.nodes if node.op == "placeholder"]

    def _program(self, signature: ExportGraphSignature) -> ExportedProgram:
        return make_program(self.program, {}, self.graph, signature, verifiers=[Verifier])


def _val_of(item: Any) -> Any:
    return item.meta.get(meta.VAL) if isinstance(item, Node) else item


def _take_origin(old: Node, new: Node) -> None:
    meta.copy_origin(old, new)
    meta.set_origin(new, meta.origin_of(old))


def _attribute(owner: GraphModule, node: Node) -> Any:
    value: Any = owner
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value


def _without_grad(val: Any) -> Any:
    if isinstance(val, torch.Tensor):
        return val.detach() if val.requires_grad else val
    if isinstance(val, (list, tuple)):
        return type(val)(_without_grad(item) for item in val)
    return val


def _eliminate_dead_code(graph: Graph) -> None:
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and not node.users and not node.is_impure():
            graph.erase_node(node)
