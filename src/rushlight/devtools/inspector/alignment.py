"""Pairs the values that the runtime recorded with the values that torch computes for the same inputs.

A pair needs three decisions, each in a file of its own:

- counterparts.py: which node of the exported program computes the value of an edge node?
- candidates.py: which edge nodes may an event have computed?
- matching.py: which of their values is the recorded value?
"""

from __future__ import annotations

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
from rushlight.devtools.inspector.run_graph import Replaced, run_graph

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
        values: the reference value of each edge node.

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
        self._candidates = Candidates(record, method, self.values)

    def _run(self, replaced: Replaced) -> dict[Node, Any]:
        """Returns the value of each edge node, or of its exported counterpart if it has one."""
        values = run_graph(self._program, self._inputs, replaced)
        if self._exported is not None:
            replaced_exported = {
                other: replaced[node] for node, other in self._counterparts.items() if node in replaced
            }
            exported = run_graph(self._exported, self._inputs, replaced_exported)
            # Names may be equal by chance. A node with another shape or dtype is not a counterpart.
            self._counterparts = {
                node: other
                for node, other in self._counterparts.items()
                if is_like(exported.get(other), values[node])
            }
            values.update((node, exported[other]) for node, other in self._counterparts.items())
        return values

    def isolated(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Returns the pairs with new references, computed from values of the runtime.

        The inputs of each node are the values that the runtime computed for earlier nodes. An error of a step
        then appears only at this step, and not at the steps that read its result.

        Args:
            pairs: the pairs of a run.
        """
        replaced: dict[Node, dict[int, torch.Tensor]] = {}
        for pair in pairs:
            value = torch.empty_like(pair.reference).copy_(pair.runtime)
            replaced.setdefault(pair.node, {})[pair.leaf] = value
        values = self._run(replaced)
        return [replace(pair, reference=pytree.tree_leaves(values[pair.node])[pair.leaf]) for pair in pairs]

    def pairs(self, events: Sequence[Event]) -> Iterator[Pair]:
        """Yields the pairs of the events of a run in order. Values without a reference have no pair."""
        matching = Matching(self.values)
        for event, nodes in self._candidates.of_events(events):
            if event.name == "DELEGATE_CALL":
                yield from matching.of_delegate_call(event, self._candidates.outputs_of(event))
            else:
                yield from matching.of_step(event, nodes)
