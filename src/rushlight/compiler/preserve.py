"""Operators that partitioners ask to preserve, and the decomposition of all other operators."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from rushlight.delegate.partitioner import Partitioner
from rushlight.frontend.decompose import decompose
from rushlight.frontend.expand_nodes import expand_nodes
from rushlight.frontend.recorder import NeedsFallback
from rushlight.frontend.tables import is_functional, is_quant_primitive, torch_keeps
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.errors import CompileError
from rushlight.passes.base import graph_modules

# Operators that passes must be able to rewrite, even if a partitioner asks to preserve them.
_NEVER_PRESERVED = frozenset(
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


class CoreProgram:
    """A Core ATen program that preserves the operators which the user or the partitioners ask for.

    The program is decomposed once. Preserved nodes that no partitioner accepts, and operators that are given
    up later, are decomposed in place.

    Args:
        program: the exported program. Partitioners may transform it first.
        partitioners: are asked in order which operators they preserve.
        preserve: operators that the user preserves.

    Attributes:
        program: the Core ATen program.
        kept: the operators in the program that are preserved for partitioners.
    """

    def __init__(
        self, program: ExportedProgram, partitioners: Sequence[Partitioner], preserve: Collection[OpOverload]
    ) -> None:
        for partitioner in partitioners:
            program = partitioner.transform_for_pre_decomposition(program)
        self._exported = program
        self._partitioners = partitioners
        self._preserve = preserve
        self._given_up: set[OpOverload] = set()
        wishes = self._wishes()
        self.kept = list(dict.fromkeys(op for wish in wishes for op in wish.ops))
        self.program = decompose(program, [*preserve, *self.kept])
        if partitioners:
            self._expand_refused(wishes)

    @property
    def may_change(self) -> bool:
        """Whether a later `give_up` may decompose more operators."""
        return bool(self.kept) and any(item.decomposes_leftovers for item in self._partitioners)

    def give_up(self, ops: Collection[OpOverload]) -> bool:
        """Decomposes operators that are preserved only for partitioners which decompose leftovers.

        Returns:
            Whether an operator was given up for the first time.
        """
        if self._given_up.issuperset(ops):
            return False
        self._given_up.update(ops)
        self._expand_refused(self._wishes())
        return True

    def _wishes(self) -> list[_Wish]:
        return [_wish(partitioner, self._exported, self._given_up) for partitioner in self._partitioners]

    def _expand_refused(self, wishes: Sequence[_Wish]) -> None:
        """Decomposes nodes that are preserved only for partitioners and that no partitioner claims."""
        asked = {op for wish in wishes if wish.accepts is not None for op in wish.ops} | self._given_up
        refused = [
            node
            for node in _calls(self.program)
            if node.target in asked
            and may_keep(node.target)
            and not torch_keeps(node.target)
            and not any(wish.claims(node) for wish in wishes)
        ]
        targets = {node.target for node in refused}.difference(self._preserve)
        refused = [node for node in refused if node.target in targets]
        if refused:
            preserve = [*self._preserve, *(op for op in self.kept if op not in targets)]
            try:
                self.program = expand_nodes(self.program, refused, preserve)
            except NeedsFallback:
                # Then no node of these operators is preserved, even if a partitioner claims some of them.
                self.program = decompose(self._exported, preserve)
        present = {node.target for node in _calls(self.program)}
        self.kept = [op for op in self.kept if op in present]


@dataclass(frozen=True)
class _Wish:
    """The operators that one partitioner preserves; `accepts` may refuse single nodes (None refuses none)."""

    ops: Mapping[OpOverload, None]  # in the partitioner's order
    accepts: Callable[[Node], bool] | None

    def claims(self, node: Node) -> bool:
        return node.target in self.ops and (self.accepts is None or self.accepts(node))


def _wish(partitioner: Partitioner, program: ExportedProgram, given_up: Collection[OpOverload]) -> _Wish:
    ops, accepts = partitioner.ops_to_not_decompose(program)
    if partitioner.decomposes_leftovers:
        ops = [op for op in ops if op not in given_up]
    return _Wish(dict.fromkeys(op for op in ops if may_keep(op)), accepts)


def may_keep(op: OpOverload) -> bool:
    """Whether an operator can be preserved: it neither writes nor aliases, and no pass must rewrite it."""
    return isinstance(op, OpOverload) and op not in _NEVER_PRESERVED and is_functional(op)


def _calls(program: ExportedProgram) -> Iterator[Node]:
    for module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            if node.op == "call_function":
                yield node


def left_over(
    method: str,
    program: ExportedProgram,
    partitioners: Sequence[Partitioner],
    preserve: Collection[OpOverload],
) -> set[OpOverload]:
    """Returns preserved operators that were not fully lowered and whose partitioners decompose leftovers.

    The function raises CompileError if the partitioner of such an operator does not decompose leftovers.
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
