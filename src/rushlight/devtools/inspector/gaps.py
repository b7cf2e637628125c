"""Computes the distances between recorded values and the values of a graph that torch executes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch.utils import _pytree as pytree

from rushlight.devtools.etrecord.record import ETRecord
from rushlight.devtools.inspector.alignment import Reference
from rushlight.devtools.inspector.events import Event, EventBlock
from rushlight.devtools.inspector.matching import Pair
from rushlight.devtools.inspector.numerical_comparator import (
    IntermediateOutputMapping,
    NumericalComparatorBase,
)
from rushlight.devtools.inspector.operators import Operator, look_up, operators_of
from rushlight.ir.json_types import JsonObject


@dataclass(frozen=True, eq=False)
class Gap:
    """The distance between a recorded value and its reference value.

    Attributes:
        pair: the two values.
        operators: the operators of the event, with module path and source line.
        distance: the distance that the chosen comparator computes.
    """

    pair: Pair
    operators: list[Operator]
    distance: float

    def asdict(self) -> JsonObject:
        """Returns the fields with the column names of ExecuTorch's table."""
        return {
            "aot_debug_handle": self.pair.handles,
            "aot_ops": [found.node for found in self.operators],
            "aot_intermediate_output": self.pair.reference,
            "runtime_ops": [self.pair.event.name],
            "runtime_debug_handle": self.pair.handles,
            "runtime_intermediate_output": self.pair.runtime,
            "gap": [self.distance],
            "stacktraces": {found.node: found.stack_trace for found in self.operators},
        }


def numeric_gaps(
    record: ETRecord | None,
    blocks: Sequence[tuple[EventBlock, str]],
    comparator: NumericalComparatorBase,
    reference_graph: str | None,
) -> list[Gap]:
    """Compares recorded values with the values of a graph.

    Args:
        record: the ETRecord of the program.
        blocks: the blocks of events, each with the name of its method.
        comparator: the comparator that computes the distances.
        reference_graph: the name of the graph, as for `Reference`.

    Raises:
        ValueError: there is no ETRecord, no input, or no recorded value with a reference value.
    """
    if record is None:
        raise ValueError(
            "numeric gaps need an ETRecord with representative inputs; give one to the Inspector"
        )
    gaps = []
    for block, method in blocks:
        if any(event.debug_data for event in block.events):
            reference = Reference(record, method, inputs_of(record, method), reference_graph)
            operators = operators_of(record.edge_programs[method])
            pairs = list(pairs_of(block, reference))
            mapping: IntermediateOutputMapping = {
                ((place, *pair.handles), pair.reference): ((place, *pair.handles), pair.runtime)
                for place, pair in enumerate(pairs)
            }
            for ((place, *handles), a), (_, b) in comparator.preprocessed(mapping).items():
                if a is not None and b is not None:
                    found = look_up(operators, handles)
                    gaps.append(Gap(pairs[place], found, comparator.distances(a, b)[0]))
    if not gaps:
        raise ValueError(
            "no recorded value has a reference value; record values (with a debug buffer), and give the "
            "debug buffer to the Inspector"
        )
    return gaps


def pairs_of(block: EventBlock, reference: Reference) -> Iterator[Pair]:
    """Yields the pairs of a block in the order of execution. Each value is in one pair."""
    order = {id(event): place for place, event in enumerate(block.events)}
    yield from sorted(reference.pairs(_valued(block.events)), key=lambda pair: order[id(pair.event)])


def _valued(events: Sequence[Event]) -> list[list[Event]]:
    """Returns the events with values, grouped by place.

    Events of operators are preferred to events of the runtime.
    """
    found: dict[tuple[object, ...], list[Event]] = {}
    for event in events:
        if event.debug_data and event.debug_handles:
            key = (event.instruction, event.delegate_debug_identifier)
            others = found.pop(key, [])
            if others and others[0].is_framework and not event.is_framework:
                others = []
            is_preferred = not others or others[0].is_framework or not event.is_framework
            found[key] = [*others, event] if is_preferred else others
    return list(found.values())


def inputs_of(record: ETRecord, method: str) -> list[Any]:
    """Returns the flat representative inputs of an ETRecord, else the example inputs of torch.export.

    Args:
        record: the ETRecord.
        method: the name of the method.

    Raises:
        ValueError: the ETRecord has no inputs.
    """
    if record._representative_inputs is not None and (method == "forward" or len(record.edge_programs) == 1):
        return list(pytree.tree_leaves(record._representative_inputs))
    exported = record.exported_of(method)
    if exported is None or exported.example_inputs is None:
        raise ValueError(
            "the ETRecord has no representative inputs; add them with update_representative_inputs"
        )
    return list(pytree.tree_leaves(exported.example_inputs))
