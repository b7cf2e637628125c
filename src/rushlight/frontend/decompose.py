"""ATen dialect to Core ATen: one walk over the graph, expanding operators by recorded decompositions.

Operators that are already core are copied with their metadata; the others are expanded on fake tensors, each
distinct expansion recorded once. In-place operators on tensors without views become functional. What this walk
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
from rushlight.frontend.recorder import Expander, Expansion, NotSimple, Ref, functional_form
from rushlight.frontend.symbols import SymbolNodes
from rushlight.ir import meta
from rushlight.ir.fake import Evaluator, fake_mode_of, tensor_key
from rushlight.ir.program import make_program

_INLINED = ("wrap_with_set_grad_enabled",)

# A lifted constant is an input of the graph, so its copy is an ordinary one.
_MEANS_IN_GRAPH = {torch.ops.aten.lift_fresh_copy.default: torch.ops.aten.clone.default}


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
    """The state of one walk: the new graph, and for each old node the new node (or sequence of nodes)."""

    def __init__(self, program: ExportedProgram, preserve: Collection[OpOverload]) -> None:
        self.program = program
        self.preserve = frozenset(preserve)
        self.table = tables.python_table(self.preserve)
        self.graph = Graph()
        self.env: dict[Node, Any] = {}
        self.symbols = SymbolNodes(self.graph)
        self.renewed: dict[Node, Node] = {}  # a written tensor's node -> the node of its new content
        self.roots: dict[Node, Node] = {}  # a view's node -> the node whose storage it shares
        self.views: dict[Node, list[Node]] = {}  # a root -> old nodes that are views of it
        self.last_use: dict[Node, int] = {}
        self.position = 0
        fake_mode = fake_mode_of(program.graph)
        self.expander = Expander(fake_mode, self.table, self.preserve)
        self.evaluator = Evaluator(fake_mode)

    def run(self) -> ExportedProgram:
        program = self.program
        if any(entry.fqn and entry.signature is not None for entry in program.module_call_graph):
            raise NotSimple("the call signatures of submodules are preserved")
        if program.graph_signature.backward_signature is not None:
            raise NotSimple("the program holds a backward pass")
        nodes = list(program.graph.nodes)
        for index, node in enumerate(nodes):
            for used in node.all_input_nodes:
                self.last_use[used] = index
        outputs: Any = None
        with self.expander.active():
            for index, node in enumerate(nodes):
                self.position = index
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
        new.meta = dict(node.meta)
        self.env[node] = new
        self.symbols.add_placeholder(new)

    def _call(self, node: Node, owner: GraphModule) -> None:
        target = node.target
        if target is operator.getitem:
            source = self._resolve(self.env[node.args[0]])  # type: ignore[index]
            self.env[node] = source[node.args[1]] if isinstance(source, (list, tuple)) else self._copy(node)
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
                for used in inner.all_input_nodes:
                    self.last_use[used] = self.last_use.get(node, len(self.last_use))
                self._call(inner, submodule)
            elif inner.op == "output":
                self.env[node] = map_aggregate(inner.args[0], lambda item: self._mapped(item))
            elif inner.op == "get_attr" and not isinstance(_attribute(submodule, inner), GraphModule):
                raise NotSimple(f"{target.name()} reads a constant")

    def _operator(self, node: Node, op: OpOverload) -> None:
        if "unbacked_bindings" in node.meta:
            raise NotSimple(f"{op} makes a size that depends on data")
        if op._schema.is_mutable:
            self._in_place(node, op)
            return
        args, kwargs = self._arguments(node.args), self._arguments(node.kwargs)
        self.env[node] = self._emit(node, _MEANS_IN_GRAPH.get(op, op), args, kwargs)
        self._note_views(node)

    def _emit(self, node: Node, op: OpOverload, args: Any, kwargs: Any) -> Any:
        """New nodes that compute `op`: its expansion, or the operator itself."""
        expands = op in self.table or (
            tables.is_composite(op) and not tables.is_kept_composite(op, self.preserve)
        )
        if not expands:
            return self._keep(node, op, args, kwargs)
        expansion, inputs = self.expander.expand(op, args, kwargs)
        return self._instantiate(node, expansion, inputs)

    def _keep(self, node: Node, op: OpOverload, args: Any, kwargs: Any) -> Any:
        new = self._new_call(op, args, kwargs)
        _take_origin(node, new)
        val = node.meta.get(meta.VAL)
        if op is not node.target or not self._inputs_unchanged(node):
            val = self.evaluator.value(op, args, kwargs)
        meta.set_val(new, _without_grad(val))
        self._note_root(new)
        return new

    def _inputs_unchanged(self, node: Node) -> bool:
        """Whether the new inputs have the metadata of the old ones, so that the old result's holds."""
        for old in node.all_input_nodes:
            new = self._resolve(self.env[old])
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

    def _instantiate(self, node: Node, expansion: Expansion, inputs: list[Node]) -> Any:
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
            _take_origin(node, new)
            meta.set_val(new, step.val)
            if step.val is None or isinstance(step.val, torch.Tensor):
                self._note_root(new)
                results.append(new)
            else:
                results.append(self._items(node, new, step.val))
        return map_aggregate(expansion.output, to_node)

    def _new_call(self, op: OpOverload, args: Any, kwargs: Any) -> Node:
        name = op._schema.name.split("::")[1]
        return self.graph.create_node("call_function", op, args, kwargs, name=name)

    def _items(self, node: Node, new: Node, val: Any) -> list[Node | None]:
        items: list[Node | None] = []
        for index, part in enumerate(val):
            if not isinstance(part, torch.Tensor):
                items.append(None)
                continue
            item = self.graph.call_function(operator.getitem, (new, index))
            _take_origin(node, item)
            meta.set_val(item, part)
            self._note_root(item)
            items.append(item)
        return items

    def _in_place(self, node: Node, op: OpOverload) -> None:
        target = node.args[0] if node.args else None
        if op is torch.ops.aten.detach_.default:
            self.env[node] = self.env[target]  # type: ignore[index]
            return
        if tables.is_composite(op) and self._writes_nothing(node, op):
            self.env[node] = self.env[target]  # type: ignore[index]
            return
        functional = functional_form(op)
        if functional is None or not isinstance(target, Node):
            raise NotSimple(f"{op} writes its arguments")
        written = self._resolve(self.env[target])
        if not isinstance(written, Node) or self.roots.get(written, written) is not written:
            raise NotSimple(f"{op} writes a view")
        if any(self.last_use.get(view, -1) > self.position for view in self.views.get(written, ())):
            raise NotSimple(f"{op} writes a tensor whose views are read later")
        args, kwargs = self._arguments(node.args), self._arguments(node.kwargs)
        if op is torch.ops.aten.copy_.default and args[1] is written:
            self.env[node] = written
            return
        new = self._emit(node, functional, args, kwargs)
        if not isinstance(new, Node) or self.roots.get(new, new) is not new:
            raise NotSimple(f"{functional} returns a view")
        if tensor_key(meta.get_val(new)) != tensor_key(meta.get_val(written)):
            raise NotSimple(f"{op} converts what it writes")
        self.renewed[written] = new
        self.env[node] = new

    def _writes_nothing(self, node: Node, op: OpOverload) -> bool:
        """Whether an in-place composite returns its argument as it is: dropout of an evaluated model."""
        try:
            args, kwargs = self._arguments(node.args), self._arguments(node.kwargs)
            expansion, _ = self.expander.expand(op, args, kwargs)
        except NotSimple:
            return False
        return not expansion.steps and expansion.output == Ref(-1, 0)

    def _note_root(self, new: Node) -> None:
        """Remembers whose storage a new node shares."""
        target = new.target
        if target is operator.getitem:
            source = new.args[0]
            assert isinstance(source, Node)
            if source in self.roots:
                self.roots[new] = self.roots[source]
        elif isinstance(target, OpOverload) and _returns_view(target):
            base = new.args[0]
            if isinstance(base, Node):
                self.roots[new] = self.roots.get(base, base)

    def _note_views(self, node: Node) -> None:
        """Remembers that an old node is a view of a new node's storage."""

        def note(new: Any) -> Any:
            if isinstance(new, Node) and new in self.roots:
                self.views.setdefault(self.roots[new], []).append(node)
            return new

        map_aggregate(self.env[node], note)

    def _copy(self, node: Node) -> Node:
        new = self.graph.call_function(
            node.target,  # type: ignore[arg-type]
            self._arguments(node.args),
            self._arguments(node.kwargs),
        )
        new.meta = dict(node.meta)
        meta.set_origin(new, meta.origin_of(node))
        if node.target is operator.getitem:
            source = new.args[0]
            assert isinstance(source, Node)
            meta.set_val(new, meta.get_val(source)[node.args[1]])  # type: ignore[index]
            self._note_root(new)
        else:
            self.symbols.add(new)
        return new

    def _resolve(self, value: Any) -> Any:
        """The newest content of a new node."""
        if not isinstance(value, Node):
            return value
        while value in self.renewed:
            value = self.renewed[value]
        return value

    def _mapped(self, item: Any) -> Any:
        return self._resolve(self.env[item]) if isinstance(item, Node) else item

    def _arguments(self, tree: Any) -> Any:
        result = map_aggregate(tree, self._mapped)
        return result

    def _finish(self, output: Node) -> ExportedProgram:
        signature = self.program.graph_signature
        specs: list[OutputSpec] = []
        results: list[Any] = []
        for spec, placeholder in zip(signature.input_specs, self._placeholders(), strict=True):
            content = self._resolve(placeholder)
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
            if spec.kind != OutputKind.USER_OUTPUT:
                raise NotSimple(f"output of kind {spec.kind.name}")
            new = self._mapped(item)
            argument = spec.arg
            if isinstance(new, Node):
                argument = type(argument)(new.name)  # type: ignore[call-arg]
            specs.append(OutputSpec(OutputKind.USER_OUTPUT, argument, spec.target))
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


def _returns_view(op: OpOverload) -> bool:
    return any(result.alias_info is not None for result in op._schema.returns)


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
