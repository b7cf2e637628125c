"""Operators that partitioners ask to keep whole: how programs are decomposed around them."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from rushlight.delegate.partitioner import Partitioner
from rushlight.frontend.decompose import decompose
from rushlight.frontend.tables import is_functional, is_quant_primitive
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.errors import CompileError
from rushlight.ir.facts import MethodProgram
from rushlight.passes.base import graph_modules

# Operators that passes must be able to rewrite, whoever asks to keep them.
_NEVER_KEPT = frozenset(
    {
        torch.ops.aten._to_copy.default,
        torch.ops.aten.add.Tensor,
        torch.ops.aten.sub.Tensor,
        torch.ops.aten.mul.Tensor,
        torch.ops.aten.div.Tensor,
        torch.ops.aten.item.default,
        torch.ops.aten._local_scalar_dense.default,
        torch.ops.aten.unbind.int,
        torch.ops.aten.split_with_sizes.default,
    }
)


def decompose_for(
    program: ExportedProgram,
    partitioners: Sequence[Partitioner],
    preserve: Collection[Any],
    given_up: Collection[OpOverload] = (),
) -> tuple[MethodProgram, list[OpOverload]]:
    """The Core ATen program that the partitioners are to see, and the operators kept whole in it.

    given_up: operators that are not kept for a partitioner that decomposes leftovers.
    """
    for partitioner in partitioners:
        program = partitioner.transform_for_pre_decomposition(program)
    if not partitioners:
        return decompose(program, preserve), []
    kept: list[OpOverload] = []
    wanted = [_wishes(partitioner, program, given_up) for partitioner in partitioners]
    for ops, _ in wanted:
        kept += [op for op in ops if op not in kept and may_keep(op)]
    core = decompose(program, [*preserve, *kept])
    refused = [node for ops, accepts in wanted if accepts for node in _refused(core, set(ops), accepts)]
    claimed = [node for ops, accepts in wanted for node in _claimed(core, set(ops), accepts)]
    refused = [node for node in dict.fromkeys(refused) if node not in set(claimed)]
    if refused:
        core = _decompose_nodes(core, refused, preserve, kept)
    present = {node.target for node in _calls(core)}
    return core, [op for op in kept if op in present]


def _wishes(partitioner: Partitioner, program: ExportedProgram, given_up: Collection[OpOverload]) -> Any:
    ops, accepts = partitioner.ops_to_not_decompose(program)
    if partitioner.decomposes_leftovers:
        ops = [op for op in ops if op not in given_up]
    return ops, accepts


def may_keep(op: Any) -> bool:
    """Whether an operator can stay whole: it neither writes nor aliases, and no pass has to rewrite it."""
    return isinstance(op, OpOverload) and op not in _NEVER_KEPT and is_functional(op)


def _calls(program: ExportedProgram) -> Iterator[Node]:
    for module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            if node.op == "call_function":
                yield node


def _refused(program: ExportedProgram, ops: set[Any], accepts: Any) -> list[Node]:
    return [
        node for node in _calls(program) if node.target in ops and may_keep(node.target) and not accepts(node)
    ]


def _claimed(program: ExportedProgram, ops: set[Any], accepts: Any) -> list[Node]:
    return [node for node in _calls(program) if node.target in ops and (accepts is None or accepts(node))]


def _decompose_nodes(
    program: ExportedProgram, nodes: Sequence[Node], preserve: Collection[Any], kept: Sequence[OpOverload]
) -> MethodProgram:
    """Decomposes the given nodes and leaves other nodes of the same operators whole.

    Nodes to leave are hidden behind a stand-in operator with the same schema while the rest decomposes.
    """
    targets = {node.target for node in nodes}
    hidden = set(nodes)
    for node in _calls(program):
        if node.target in targets and node not in hidden:
            node.target = _stand_in(node.target)  # type: ignore[arg-type]
    program.graph_module.recompile()
    core = decompose(program, [*preserve, *(op for op in kept if op not in targets)])
    for node in _calls(core):
        original = _STANDS_FOR.get(node.target)
        if original is not None:
            node.target = original
    core.graph_module.recompile()
    return core


_library = torch.library.Library("rushlight_kept", "FRAGMENT")
_STAND_INS: dict[OpOverload, OpOverload] = {}
_STANDS_FOR: dict[Any, OpOverload] = {}


def _stand_in(op: OpOverload) -> OpOverload:
    known = _STAND_INS.get(op)
    if known is not None:
        return known
    namespace, name = op._schema.name.split("::")
    unique = f"{namespace}_{name}_{op._overloadname}"
    _library.define(unique + str(op._schema)[str(op._schema).index("(") :])
    _library.impl(unique, op, "CompositeExplicitAutograd")
    stand_in: OpOverload = operator.attrgetter(f"{unique}.default")(torch.ops.rushlight_kept)
    _STAND_INS[op] = stand_in
    _STANDS_FOR[stand_in] = op
    return stand_in


def left_over(
    method: str, program: ExportedProgram, partitioners: Sequence[Partitioner], preserve: Collection[Any]
) -> set[OpOverload]:
    """Operators kept for partitioners that decompose leftovers, of which some were not lowered.

    Raises CompileError if one is left over that was kept for another partitioner.
    """
    found: set[OpOverload] = set()
    for partitioner in partitioners:
        ops, accepts = partitioner.ops_to_not_decompose(program)
        kept = {op for op in ops if may_keep(op) and not is_quant_primitive(op)}
        for node in _leftovers(program.graph_module):
            op = aten_op(node.target)
            if op not in kept:
                continue
            if partitioner.decomposes_leftovers:
                found.add(op)
            elif accepts is None or accepts(node):
                where = meta.source_of(node)
                raise CompileError(
                    f"Node {node.name} with op {node.target} was not decomposed or delegated.\n"
                    f"{type(partitioner).__name__} asked to keep it whole in method {method}"
                    + (f"; it comes from {where}" if where else "")
                )
    return found.difference(preserve)


def _leftovers(graph_module: GraphModule) -> Iterator[Node]:
    for module in graph_modules(graph_module):
        yield from (node for node in module.graph.nodes if node.op == "call_function")
