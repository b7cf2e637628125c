"""Calls operators that change their arguments, in place of the functional calls that torch.export makes."""

from __future__ import annotations

import operator
from collections.abc import Mapping

import torch
from torch._ops import OpOverload
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import GraphModule, Node
from torch.fx.node import Argument
from typing_extensions import override

from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.errors import CompileError
from rushlight.ir.facts import MethodProgram
from rushlight.ir.fake import Evaluator
from rushlight.ir.out_variants import written_arguments
from rushlight.ir.program import rename_outputs
from rushlight.passes.base import ProgramPass, graph_modules, insert_call

_FUNCTIONALIZED = torch.ops.higher_order.auto_functionalized_v2


class CallMutatingOpsPass(ProgramPass):
    """Replaces each functional call of an operator that changes its arguments by a call of this operator.

    The operator changes a buffer or an input itself if the new value is the value that the program writes
    back, and if no node reads the old value afterwards. Otherwise it changes a copy.

    Before: both = auto_functionalized_v2(my.put, value=x, _cache_base_index=0, _all_bases=[cache])
        y = both[0]; new = both[1]
    Expected: y = my.put(x, cache); each node that reads `new` reads `cache`

    Raises:
        CompileError: the operator changes a view of a tensor, which is not a whole tensor.
    """

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        writable = _write_backs(program)
        changed = False
        for module in graph_modules(program.graph_module):
            main = module is program.graph_module
            for node in list(module.graph.nodes):
                if node.target is _FUNCTIONALIZED:
                    _call(program, module, node, writable if main else {})
                    changed = True
        if changed:
            rename_outputs(program)
        return changed


def _write_backs(program: MethodProgram) -> dict[Node, int]:
    """Returns the placeholders that the program writes, and for each the index of its new value."""
    signature = program.graph_signature
    places = {}
    for node, spec in zip(program.graph.find_nodes(op="placeholder"), signature.input_specs, strict=True):
        is_input = spec.kind is InputKind.USER_INPUT
        places[is_input, spec.arg.name if is_input else spec.target] = node
    kinds = {OutputKind.USER_INPUT_MUTATION: True, OutputKind.BUFFER_MUTATION: False}
    found = {}
    for index, output in enumerate(signature.output_specs):
        place = places.get((kinds[output.kind], output.target)) if output.kind in kinds else None
        if place is not None:
            found[place] = index
    return found


def _call(program: MethodProgram, module: GraphModule, node: Node, writable: Mapping[Node, int]) -> None:
    """Replaces one functional call."""
    op = aten_op(node.args[0])
    if op is None:
        raise CompileError(f"node {node.name} calls {node.args[0]}, which is not an operator")
    bases = node.kwargs["_all_bases"]
    assert isinstance(bases, (list, tuple))
    news = _items(node)
    first = max(len(op._schema.returns), 1)
    evaluator = Evaluator.of(module)
    changed: list[Node] = []
    for position, base in enumerate(bases):
        assert isinstance(base, Node)
        new = news.pop(first + position, None)
        in_place = base in writable and _may_change(program, node, base, new, writable[base])
        place = base if in_place else _copied(evaluator, node, base)
        changed.append(place)
        if new is not None:
            new.replace_all_uses_with(place)
            module.graph.erase_node(new)
    with module.graph.inserting_before(node):
        call = module.graph.call_function(op, *_arguments(op, node, changed))
    meta.copy_origin(node, call)
    values = meta.get_val(node)[: len(op._schema.returns)]
    meta.set_val(call, values[0] if len(values) == 1 else values or None)
    for index, item in news.items():
        if len(values) == 1:
            item.replace_all_uses_with(call)
            module.graph.erase_node(item)
        elif index < len(values):
            item.args = (call, index)
    module.graph.erase_node(node)


def _items(node: Node) -> dict[int, Node]:
    """Returns the nodes that read the results of a node, by the index of the result.

    Several readers of one result are merged.
    """
    found: dict[int, Node] = {}
    for user in list(node.users):
        assert user.target is operator.getitem
        index = user.args[1]
        assert isinstance(index, int)
        if found.setdefault(index, user) is not user:
            user.replace_all_uses_with(found[index])
            user.graph.erase_node(user)
    return found


def _may_change(program: MethodProgram, node: Node, base: Node, new: Node | None, index: int) -> bool:
    """Returns whether the operator may change a placeholder itself.

    `new` is the new value of the placeholder. The program writes the output at `index` back to it.
    """
    results = program.graph.output_node().args[0]
    assert isinstance(results, (list, tuple))
    if new is None or results[index] is not new or sum(result is new for result in results) != 1:
        return False
    return all(user is node for user in base.users)


def _copied(evaluator: Evaluator, node: Node, base: Node) -> Node:
    return insert_call(evaluator, node, torch.ops.aten.clone.default, (base,))


def _arguments(
    op: OpOverload, node: Node, changed: list[Node]
) -> tuple[tuple[Argument, ...], dict[str, Argument]]:
    """Returns the positional arguments of the operator, and the arguments by name."""
    written = {argument.name for argument in written_arguments(op._schema)}
    arguments: dict[str, Argument] = {}
    for argument in op._schema.arguments:
        name = argument.name
        if name not in written:
            if name in node.kwargs:
                arguments[name] = node.kwargs[name]
            continue
        if isinstance(argument.type, torch.ListType):
            count = node.kwargs[f"_{name}_length"]
            assert isinstance(count, int)
            arguments[name] = [_changed(node, f"_{name}_{item}", changed) for item in range(count)]
        else:
            arguments[name] = _changed(node, f"_{name}", changed)
    count = 0
    for argument in op._schema.arguments:
        if argument.kwarg_only or argument.name not in arguments:
            break
        count += 1
    names = [argument.name for argument in op._schema.arguments[:count]]
    return tuple(arguments.pop(name) for name in names), arguments


def _changed(node: Node, prefix: str, changed: list[Node]) -> Node | None:
    """Returns the tensor for a written argument, or None if the call does not pass the argument."""
    if any(f"{prefix}_{key}" in node.kwargs for key in ("size", "stride", "slice_dim")):
        source = meta.source_of(node)
        where = f" from {source}: {source.code}" if source is not None else ""
        raise CompileError(
            f"{node.args[0]}{where}: the operator changes a part of a tensor, such as cache[0]. Pass the "
            "whole tensor to the operator, and the position of the part as another argument"
        )
    index = node.kwargs[f"{prefix}_base_index"]
    assert index is None or isinstance(index, int)
    return None if index is None else changed[index]
