"""Replaces `executorch::update_cross_attn_cache`, which changes a cache although its schema hides this."""

from __future__ import annotations

import operator

import torch
from torch.export.graph_signature import InputKind, OutputKind, OutputSpec, TensorArgument
from torch.fx import GraphModule, Node
from typing_extensions import override

from rushlight.ir import cross_attention_ops as _cross_attention_ops  # noqa: F401  (defines the operator)
from rushlight.ir import meta
from rushlight.ir.control_flow import COND, control_flow_submodules
from rushlight.ir.errors import CompileError
from rushlight.ir.facts import MethodProgram
from rushlight.ir.fake import Evaluator
from rushlight.ir.program import rename_outputs
from rushlight.passes.base import ProgramPass, graph_modules, insert_call

_UPDATE = torch.ops.executorch.update_cross_attn_cache.default


class ApplyCacheUpdatesPass(ProgramPass):
    """Replaces updates of caches by `slice_scatter`, and lets the program write the new caches back.

    A `cond` gets another result for each cache that one of its branches updates.

    Before: new = update_cross_attn_cache(value, cache); return (f(new),)
    Expected: new = aten.slice_scatter(cache, value, 2, 0, tokens); return (new, f(new)), where the first
        result is the new value of the buffer `cache`

    Raises:
        CompileError: a cache is neither a buffer nor an input, or a loop updates a cache.
    """

    @override
    def rewrite(self, program: MethodProgram) -> bool:
        if not updates_caches(program.graph_module):
            return False
        for place, new in _apply(program.graph_module).items():
            _write_back(program, place, new)
        rename_outputs(program)
        return True


def updates_caches(module: GraphModule) -> bool:
    """Returns whether a graph or one of its bodies calls the operator."""
    return any(node.target is _UPDATE for part in graph_modules(module) for node in part.graph.nodes)


def _apply(module: GraphModule) -> dict[Node, Node]:
    """Replaces the operator in a graph and in the branches of its `cond` nodes.

    Returns:
        The new value of each placeholder that the graph updates.
    """
    evaluator = Evaluator.of(module)
    branches = {name: body for name, body, _ in control_flow_submodules(module)}
    found: dict[Node, Node] = {}
    originals: dict[Node, Node] = {}  # the placeholder of each new value
    for node in list(module.graph.nodes):
        if node.target is _UPDATE:
            value, cache = node.args
            assert isinstance(value, Node) and isinstance(cache, Node)
            tokens = meta.get_tensor(value).shape[2]  # type: ignore[union-attr]
            size = tokens if isinstance(tokens, int) else insert_call(evaluator, node, _SIZE, (value, 2))
            new = insert_call(evaluator, node, _SCATTER, (cache, value, 2, 0, size))
            node.replace_all_uses_with(new)
            module.graph.erase_node(node)
            _replace(new, cache, found, originals)
        elif node.op == "call_function" and node.target is COND:
            bodies = [branches[str(node.args[i].target)] for i in (1, 2)]
            for index, new in _apply_to_branches(evaluator, node, bodies).items():
                _replace(new, node.args[3][index], found, originals)
        elif node.op == "call_function":
            for argument in node.args:
                body = branches.get(str(argument.target)) if isinstance(argument, Node) else None
                if body is not None and updates_caches(body):
                    raise CompileError(
                        f"{node.name} ({node.target}) updates a cache in a loop; use torch.cond"
                    )
    module.recompile()
    return found


_SIZE = torch.ops.aten.sym_size.int
_SCATTER = torch.ops.aten.slice_scatter.default


def _replace(new: Node, old: Node, found: dict[Node, Node], originals: dict[Node, Node]) -> None:
    """Lets all nodes after `new` read `new` instead of `old`, and records the new value of the cache."""
    place = originals.get(old, old)
    if place.op != "placeholder":
        raise CompileError(
            f"{new.name}: update_cross_attn_cache changes {place.name} ({place.target}), which is not a "
            "whole buffer or input. Pass the buffer itself"
        )
    old.replace_all_uses_with(new, delete_user_cb=lambda user: user > new)
    found[place], originals[new] = new, place


def _apply_to_branches(evaluator: Evaluator, node: Node, bodies: list[GraphModule]) -> dict[int, Node]:
    """Returns the caches after a `cond`, by the index of the operand."""
    updates = [_apply(body) for body in bodies]
    places = [list(body.graph.find_nodes(op="placeholder")) for body in bodies]
    indices = sorted({places[side].index(place) for side, found in enumerate(updates) for place in found})
    if not indices:
        return {}
    for body, found, inputs in zip(bodies, updates, places, strict=True):
        output = body.graph.output_node()
        results = list(output.args[0])  # type: ignore[arg-type]
        for index in indices:
            new = found.get(inputs[index], inputs[index])
            # A branch must not return an input, or one result twice.
            results.append(
                insert_call(Evaluator.of(body), output, torch.ops.aten.clone.default, (new,))
                if new in results or new.op == "placeholder"
                else new
            )
        output.args = (tuple(results),)
        body.recompile()
    operands = node.args[3]
    assert isinstance(operands, (list, tuple))
    values = list(meta.get_val(node))
    news: dict[int, Node] = {}
    graph = node.graph
    after = node.next
    for index in indices:
        operand = operands[index]
        assert isinstance(operand, Node)
        with graph.inserting_before(after):
            news[index] = item = graph.call_function(operator.getitem, (node, len(values)))
        meta.copy_origin(node, item)
        meta.set_val(item, meta.get_val(operand))
        values.append(meta.get_val(operand))
    meta.set_val(node, tuple(values))
    return news


def _write_back(program: MethodProgram, place: Node, new: Node) -> None:
    """Adds the new value of a placeholder to the results, unless the program writes another value back."""
    signature = program.graph_signature
    spec = next(s for s in signature.input_specs if s.arg.name == place.name)
    is_input = spec.kind is InputKind.USER_INPUT
    if not is_input and spec.kind is not InputKind.BUFFER:
        raise CompileError(f"update_cross_attn_cache changes {spec.target or place.name}, which is no buffer")
    kind = OutputKind.USER_INPUT_MUTATION if is_input else OutputKind.BUFFER_MUTATION
    target = place.name if is_input else spec.target
    if any(s.kind is kind and s.target == target for s in signature.output_specs):
        return
    output = program.graph.output_node()
    results = output.args[0]
    assert isinstance(results, (list, tuple))
    at = sum(s.kind in _WRITTEN for s in signature.output_specs)
    output.args = ((*results[:at], new, *results[at:]),)
    signature.output_specs.insert(at, OutputSpec(kind, TensorArgument(new.name), target))


_WRITTEN = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION, OutputKind.PARAMETER_MUTATION)
