"""Pairs the values that the runtime recorded with the values that torch computes for the same inputs.

A pair needs three decisions, each in a file of its own:

- counterparts.py: which node of the exported program computes the value of an edge node?
- candidates.py: which edge nodes may an event have computed?
- matching.py: which of their values is the recorded value?
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node
from torch.utils import _pytree as pytree

from rushlight.devtools.etrecord.record import ETRecord
from rushlight.devtools.inspector.candidates import Candidates
from rushlight.devtools.inspector.counterparts import find_counterparts, is_like
from rushlight.devtools.inspector.events import Event
from rushlight.devtools.inspector.matching import Matching, Pair
from rushlight.devtools.inspector.run_graph import Replaced, Values, run_graph
from rushlight.ir.control_flow import is_control_flow

EXPORTED, EDGE = "exported_program", "edge_dialect_exported_program"


class Reference:
    """The values of a method's graph, computed by torch.

    Args:
        record: the ETRecord with the edge program and the program of torch.export.
        method: the name of the method.
        inputs: the flat inputs of the method.
        graph: the graph that provides the values. EXPORTED is the exported program; an edge node without a
            counterpart in the exported program has its value in the edge program. EDGE is the edge program
            alone. Any other name is a key of the record's `graph_map`. None is EXPORTED if the record has an
            exported program, else EDGE.

    Attributes:
        values: the reference values of each edge node, one for each execution of the node.

    Raises:
        ValueError: the record has no such graph.
    """

    def __init__(self, record: ETRecord, method: str, inputs: Sequence[Any], graph: str | None) -> None:
        program = record.edge_programs.get(method)
        if graph not in (None, EXPORTED, EDGE):
            program = (record.graph_map or {}).get(str(graph))
        exported = record.exported_of(method) if graph in (None, EXPORTED) else None
        if program is None or (graph == EXPORTED and exported is None):
            known = [EXPORTED, EDGE, *(record.graph_map or {})]
            raise ValueError(
                f"the ETRecord has no graph {graph!r} of method {method!r}; its graphs are {known}"
            )
        self._program, self._exported, self._inputs = program, exported, list(inputs)
        self._counterparts = {} if exported is None else find_counterparts(program, exported)
        self.values = self._run({})
        self._candidates = Candidates(record, method, self.values, program.graph)

    def _run(self, replaced: Replaced) -> Values:
        """Returns the values of each edge node, or of its exported counterpart if it has one."""
        values = run_graph(self._program, self._inputs, replaced)
        if self._exported is not None:
            replaced_exported = {
                other: replaced[node] for node, other in self._counterparts.items() if node in replaced
            }
            if replaced:
                replaced_exported |= self._results_of_control_flow(values)
            exported = run_graph(self._exported, self._inputs, replaced_exported)
            # Names may be equal by chance. A node with another shape or dtype is not a counterpart.
            self._counterparts = {
                node: other
                for node, other in self._counterparts.items()
                if node in values and other in exported and is_like(exported[other][0], values[node][0])
            }
            values.update((node, exported[other]) for node, other in self._counterparts.items())
        return values

    def _results_of_control_flow(self, values: Values) -> Replaced:
        """Returns the results that replace those of control flow in the exported program.

        Values of the runtime are only known for the operators in the bodies of the edge program.

        Args:
            values: the values of the edge program, computed from values of the runtime.
        """
        replaced: dict[Node, dict[tuple[int, int], torch.Tensor]] = {}
        for node, other in self._counterparts.items():
            source = node.args[0] if node.target is operator.getitem else None
            if isinstance(source, Node) and is_control_flow(source) and node in values:
                replaced[other] = {(0, 0): values[node][0]}
        return replaced

    def isolated(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Returns the pairs with new references, computed from values of the runtime.

        The inputs of each node are the values that the runtime computed for earlier nodes. An error of a step
        then appears only at this step, and not at the steps that read its result.

        Args:
            pairs: the pairs of a run.
        """
        replaced: dict[Node, dict[tuple[int, int], torch.Tensor]] = {}
        for pair in pairs:
            value = torch.empty_like(pair.reference).copy_(pair.runtime)
            replaced.setdefault(pair.node, {})[pair.execution, pair.leaf] = value
        values = self._run(replaced)
        return [
            replace(pair, reference=pytree.tree_leaves(values[pair.node][pair.execution])[pair.leaf])
            for pair in pairs
            if pair.execution < len(values.get(pair.node, ()))
        ]

    def pairs(self, places: Sequence[Sequence[Event]]) -> Iterator[Pair]:
        """Yields the pairs of a run in order. Values without a reference have no pair.

        Args:
            places: the events of the run that have values. The events of an instruction or of a step are one
                item: one event, or several if a loop repeats the instruction or step, or if a backend
                computes one operator in several steps. The last of these steps computes the value.
        """
        matchings: dict[int, Matching] = {}
        by_last = {id(events[-1]): events for events in places}
        for last, nodes in self._candidates.of_events([events[-1] for events in places]):
            events = by_last[id(last)]
            count = len(self.values[nodes[0]]) if nodes else 1
            if len(events) % count:
                continue  # the runtime executed the body of a loop more or less often than the model
            for execution, event in enumerate(events[len(events) // count - 1 :: len(events) // count]):
                if execution not in matchings:
                    known = {
                        node: found[execution]
                        for node, found in self.values.items()
                        if execution < len(found)
                    }
                    matchings[execution] = Matching(known, execution)
                if event.name == "DELEGATE_CALL":
                    yield from matchings[execution].of_delegate_call(
                        event, self._candidates.outputs_of(event)
                    )
                else:
                    yield from matchings[execution].of_step(event, nodes)
