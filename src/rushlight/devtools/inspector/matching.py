"""Chooses the reference value of each recorded value: the one with the smallest distance.

A recorded value belongs to the last candidate whose value has as many elements, because a step that fuses
operators writes the result of the last one. Several values may then be left that nothing else distinguishes:
those of equal operators with the same debug handle, those of one node with several results, and one value in
several orders of its elements (channels first or last). The smallest distance chooses among them.

An ambiguous case: the decomposition of `hardswish` has two clamps. The first clamps x + 3 to at least 0, and
the second clamps this result to at most 6. Both are candidates of one event. For x = [-5, 0, 5], the recorded
value is [0, 3, 8]:

    edge node               reference     distance (sum of absolute differences)
    aten_clamp_default_1    [0, 3, 6]     2
    aten_clamp_default      [0, 3, 8]     0

The event is paired with aten_clamp_default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node
from torch.utils import _pytree as pytree

from rushlight.devtools.etrecord.record import as_handles
from rushlight.devtools.inspector.events import Event
from rushlight.ir import meta


@dataclass(frozen=True, eq=False)
class Pair:
    """A value of the runtime and the corresponding reference value.

    Attributes:
        event: the instruction or delegate step that computed the runtime's value.
        handles: the debug handles of the event.
        node: the edge node that computes the value.
        leaf: the index of the value in the flat list of the node's results.
        reference: the reference value.
        runtime: the runtime's value, with the shape and the dim order of `reference`.
        execution: the number of earlier executions of the node in this run, for a node in a loop; else 0.
    """

    event: Event
    handles: tuple[int, ...]
    node: Node
    leaf: int
    reference: torch.Tensor
    runtime: torch.Tensor
    execution: int = 0


class Matching:
    """Pairs recorded values with reference values.

    Args:
        references: the reference value of each node, in one of its executions.
        execution: the number of this execution, counted from 0.
    """

    def __init__(self, references: Mapping[Node, Any], execution: int = 0) -> None:
        self._references = references
        self._execution = execution

    def of_step(self, event: Event, candidates: Sequence[Node]) -> Iterator[Pair]:
        """Yields the pairs of the values of a kernel or a step of a delegate.

        Args:
            event: the kernel call or the step.
            candidates: the nodes that the event may have computed, the last one first.
        """
        values = _tensors(event)
        node = self._node_of_several(candidates, values)
        if node is not None:
            references = pytree.tree_leaves(self._references[node])
            for leaf, (reference, value) in enumerate(zip(references, values, strict=True)):
                arranged = arrange(value, reference)
                if arranged is not None:
                    handles = as_handles(event.debug_handles)
                    yield Pair(event, handles, node, leaf, reference, arranged, self._execution)
            return
        for value in values:
            yield from self._pair(event, candidates, value)

    def of_delegate_call(self, event: Event, outputs: Sequence[Node | None]) -> Iterator[Pair]:
        """Yields the pairs of the outputs of a delegate call.

        Args:
            event: the delegate call, whose values are its arguments: first the inputs, then the outputs.
            outputs: the nodes of the outputs; None for a node without a reference value.
        """
        values = _tensors(event)
        if 0 < len(outputs) <= len(values):
            for node, value in zip(outputs, values[-len(outputs) :], strict=True):
                yield from self._pair(event, [] if node is None else [node], value)

    def _node_of_several(self, candidates: Sequence[Node], values: Sequence[torch.Tensor]) -> Node | None:
        """Returns the last node with as many values; of equivalent nodes, the one with the closest values."""
        found = [node for node in candidates if _count(self._references[node]) == len(values) > 1]
        if not found:
            return None

        def distance(node: Node) -> float:
            references = pytree.tree_leaves(self._references[node])
            arranged = [arrange(value, leaf) for value, leaf in zip(values, references, strict=True)]
            known = [(a, leaf) for a, leaf in zip(arranged, references, strict=True) if a is not None]
            return (
                float("inf") if len(known) < len(values) else sum(float(_distance(*pair)) for pair in known)
            )

        return min(_equivalent(found), key=distance)

    def _pair(self, event: Event, nodes: Sequence[Node], value: torch.Tensor) -> Iterator[Pair]:
        """Yields the pair of a value and the last node whose result has the same number of elements.

        Both must be floating point, or both must not. If several results of this node or several equivalent
        nodes match, the result with the closest value is chosen, because nothing else distinguishes them.
        """
        for place, node in enumerate(nodes):
            found = list(self._matches(event, node, value))
            if not found:
                continue
            for other in _equivalent(nodes[place:])[1:]:
                found.extend(self._matches(event, other, value))
            if len(found) > 1:
                found.sort(key=lambda pair: float(_distance(pair.runtime, pair.reference)))
            yield found[0]
            return

    def _matches(self, event: Event, node: Node, value: torch.Tensor) -> Iterator[Pair]:
        """Yields pairs for results of a node, or of its quantize node, if size and kind of dtype match."""
        handles = as_handles(event.debug_handles)
        for chosen in (node, *(user for user in node.users if _quantizes(user))):
            found = False
            for leaf, reference in enumerate(pytree.tree_leaves(self._references.get(chosen))):
                arranged = arrange(value, reference)
                if arranged is not None:
                    found = True
                    yield Pair(event, handles, chosen, leaf, reference, arranged, self._execution)
            if found:
                return


def _equivalent(nodes: Sequence[Node]) -> list[Node]:
    """Returns the first node, and all equal operators that come from the same operator of the model."""
    first = nodes[0]
    origin = meta.get_debug_handle(first)
    return [node for node in nodes if node.target is first.target and meta.get_debug_handle(node) == origin]


def _tensors(event: Event) -> list[torch.Tensor]:
    return [value for value in pytree.tree_leaves(event.debug_data) if isinstance(value, torch.Tensor)]


def arrange(value: torch.Tensor, reference: object) -> torch.Tensor | None:
    """Converts a value of the runtime to the shape and dim order of a reference.

    Backends may store images as channels last, merge dims, or transpose matrices. Of all possible orders of
    the elements, the one closest to the reference is used.

    Args:
        value: the value of the runtime.
        reference: the reference value.

    Returns:
        The converted value; None if the numbers of elements or the kinds of dtypes differ.
    """
    if not isinstance(reference, torch.Tensor) or value.numel() != reference.numel():
        return None
    if value.dtype.is_floating_point != reference.dtype.is_floating_point:
        return None
    shape = reference.shape
    if value.shape == shape and reference.dim() < 3:
        return value
    orders = [value.reshape(shape)]
    if reference.dim() >= 3:
        last = (shape[0], *shape[2:], shape[1])
        orders.append(value.reshape(last).movedim(-1, 1))
        if value.dim() >= 2 and value.shape[-2:] == (shape[-1], shape[-2]):
            orders.append(value.mT.reshape(shape))
    return min(orders, key=lambda order: float(_distance(order, reference)))


def _distance(value: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """Returns the sum of the absolute differences; `differences` says what equal infinities and NaN add."""
    return differences(wide(value), wide(reference)).sum(dtype=torch.float64)


def differences(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns the absolute difference of each pair of elements.

    The difference of equal infinities and of two NaN is 0. It is infinite if only one element is NaN.

    Args:
        a: floating-point values of any shape.
        b: values with the shape and dtype of `a`.
    """
    found = (a - b).abs_()
    if found.sum().isfinite():
        return found
    same = (a == b) | (a.isnan() & b.isnan())
    return found.masked_fill_(same, 0.0).nan_to_num_(nan=torch.inf, posinf=torch.inf)


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """Converts a tensor to float64; a float32 tensor is returned unchanged."""
    return tensor if tensor.dtype == torch.float32 else tensor.double()


def _count(value: object) -> int:
    return len(value) if isinstance(value, (list, tuple)) else 1


def _quantizes(node: Node) -> bool:
    name = getattr(node.target, "__name__", "")
    return "quantize_per" in name and "dequantize" not in name
