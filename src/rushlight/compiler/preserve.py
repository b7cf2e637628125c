"""Decomposes operators, except those that the user or a partitioner preserves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.delegate.partitioner import Partitioner
from rushlight.frontend.decompose import decompose
from rushlight.frontend.expand_nodes import expand_nodes
from rushlight.frontend.recorder import NeedsFallback
from rushlight.frontend.tables import is_functional, is_quant_primitive, torch_keeps
from rushlight.ir import meta
from rushlight.ir.edge_ops import aten_op
from rushlight.ir.errors import CompileError
from rushlight.passes.base import graph_modules

# Passes must be able to rewrite these operators. They are decomposed even if a partitioner preserves them.
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
    """A Core ATen program with the operators that the user or the partitioners preserve.

    The program is decomposed once. Then some preserved operators are decomposed in place: nodes that no
    partitioner accepts, and operators in a call of `stop_preserving`.

    Args:
        program: the exported program. Partitioners may transform it first.
        partitioners: the partitioners in the order of their use.
        preserve: operators that the user preserves.

    Attributes:
        program: the Core ATen program.
        preserved: the operators in the program that are preserved for partitioners. The operators that the
            user preserves are not included.
    """

    def __init__(
        self, program: ExportedProgram, partitioners: Sequence[Partitioner], preserve: Collection[OpOverload]
    ) -> None:
        for partitioner in partitioners:
            program = partitioner.transform_for_pre_decomposition(program)
        self._exported = program
        self._partitioners = partitioners
        self._preserved_for_user = preserve
        self._no_longer_preserved: set[OpOverload] = set()
        requests = self._requests()
        self.preserved = list(dict.fromkeys(op for request in requests for op in request.ops))
        self.program = decompose(program, [*preserve, *self.preserved])
        if partitioners:
            self._decompose_rejected(requests)

    @property
    def may_change(self) -> bool:
        """Whether a later call of `stop_preserving` may decompose more operators."""
        return bool(self.preserved) and any(item.decomposes_leftovers for item in self._partitioners)

    def stop_preserving(self, ops: Collection[OpOverload]) -> bool:
        """Decomposes operators that are preserved only for partitioners with `decomposes_leftovers`.

        Args:
            ops: the operators.

        Returns:
            True if one of the operators was not in an earlier call.
        """
        if self._no_longer_preserved.issuperset(ops):
            return False
        self._no_longer_preserved.update(ops)
        self._decompose_rejected(self._requests())
        return True

    def _requests(self) -> list[_PreserveRequest]:
        return [
            _request(partitioner, self._exported, self._no_longer_preserved)
            for partitioner in self._partitioners
        ]

    def _decompose_rejected(self, requests: Sequence[_PreserveRequest]) -> None:
        """Decomposes nodes that are preserved only for partitioners, but that no partitioner accepts."""
        requested = {
            op for request in requests if request.accepts is not None for op in request.ops
        } | self._no_longer_preserved
        rejected = [
            node
            for node in _calls(self.program)
            if node.target in requested
            and may_preserve(node.target)
            and not torch_keeps(node.target)
            and not any(request.claims(node) for request in requests)
        ]
        targets = {node.target for node in rejected}.difference(self._preserved_for_user)
        rejected = [node for node in rejected if node.target in targets]
        if rejected:
            preserve = [*self._preserved_for_user, *(op for op in self.preserved if op not in targets)]
            try:
                self.program = expand_nodes(self.program, rejected, preserve)
            except NeedsFallback:
                # Decompose all nodes with these operators, even if a partitioner accepts some of them.
                self.program = decompose(self._exported, preserve)
        present = {node.target for node in _calls(self.program)}
        self.preserved = [op for op in self.preserved if op in present]


@dataclass(frozen=True)
class _PreserveRequest:
    """The operators that one partitioner preserves.

    Attributes:
        ops: the operators, in the order of the partitioner.
        accepts: returns whether the partitioner accepts a node; None means that it accepts all nodes.
    """

    ops: Mapping[OpOverload, None]
    accepts: Callable[[Node], bool] | None

    def claims(self, node: Node) -> bool:
        """Returns whether the partitioner preserves the operator of the node and accepts the node."""
        return node.target in self.ops and (self.accepts is None or self.accepts(node))


def _request(
    partitioner: Partitioner, program: ExportedProgram, no_longer_preserved: Collection[OpOverload]
) -> _PreserveRequest:
    ops, accepts = partitioner.ops_to_not_decompose(program)
    if partitioner.decomposes_leftovers:
        ops = [op for op in ops if op not in no_longer_preserved]
    return _PreserveRequest(dict.fromkeys(op for op in ops if may_preserve(op)), accepts)


def may_preserve(op: OpOverload) -> bool:
    """Returns whether an operator can be preserved.

    It must not write to its arguments or return aliases of them, and no pass may need to rewrite it.
    """
    return isinstance(op, OpOverload) and op not in _NEVER_PRESERVED and is_functional(op)


def _calls(program: ExportedProgram) -> Iterator[Node]:
    """Yields the nodes that call operators, also in graphs inside control flow."""
    for module in graph_modules(program.graph_module):
        for node in module.graph.nodes:
            if node.op == "call_function":
                yield node


def undelegated_ops(
    method: str,
    program: ExportedProgram,
    partitioners: Sequence[Partitioner],
    preserve: Collection[OpOverload],
) -> set[OpOverload]:
    """Returns the operators that were preserved for a partitioner, but that nodes still call after lowering.

    They can be decomposed instead. For example, a partitioner preserves silu, but a delegate computes only
    one of two silu nodes. Then silu is in the result.

    Args:
        method: the name of the method.
        program: the edge program after lowering.
        partitioners: the partitioners of the method.
        preserve: the operators that the user preserves. They are not returned.

    Raises:
        CompileError: such an operator was not lowered, and its partitioner does not set
            `decomposes_leftovers`.
    """
    found: set[OpOverload] = set()
    for partitioner in partitioners:
        ops, accepts = partitioner.ops_to_not_decompose(program)
        preserved = {op for op in ops if may_preserve(op) and not is_quant_primitive(op)}
        for node in _calls(program):
            op = aten_op(node.target)
            if op not in preserved:
                continue
            if partitioner.decomposes_leftovers:
                found.add(op)
            elif accepts is None or accepts(node):
                where = meta.source_of(node)
                raise CompileError(
                    f"Node {node.name} with op {node.target} was not decomposed or delegated.\n"
                    f"{type(partitioner).__name__} preserves this operator in method {method}"
                    + (f"; the source line is {where}" if where else "")
                )
    return found.difference(preserve)
