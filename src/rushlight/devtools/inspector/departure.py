"""Finds the first operator whose recorded value differs too much from the model's value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from rushlight.devtools.inspector.alignment import Pair, Reference, wide
from rushlight.devtools.inspector.gaps import inputs_of, pairs_of
from rushlight.devtools.inspector.numerical_comparator import (
    MaxComparator,
    NumericalComparatorBase,
    comparator_of,
)
from rushlight.devtools.inspector.operators import Operator, look_up, operators_of
from rushlight.ir.json_types import JsonObject
from rushlight.ir.text_table import text_table

if TYPE_CHECKING:
    from rushlight.devtools.inspector.inspector import Inspector

TOLERANCES = {torch.float16: 2e-2, torch.bfloat16: 5e-2}
"""The allowed error, relative to the largest value of the reference; 1e-3 for other dtypes."""

DEFAULT_TOLERANCE = 1e-3

_MOST_NAMES = 4  # list at most this number of operators of a step


@dataclass(frozen=True, eq=False)
class Step:
    """A recorded value, compared with the model's value.

    Attributes:
        pair: the two values.
        operators: the operators that the step computes, with module path and line.
        error: the largest absolute difference; infinite if one value is NaN and the other is not.
        scale: the largest finite absolute value of the reference.
        allowed: the allowed absolute error.
        distance: the distance by the chosen comparator.
        departs: whether the distance exceeds the distance that the allowed error causes.
    """

    pair: Pair
    operators: list[Operator]
    error: float
    scale: float
    allowed: float
    distance: float
    departs: bool

    @property
    def _names(self) -> str:
        names = list(dict.fromkeys(found.op for found in self.operators)) or [self.pair.event.name]
        if len(names) <= _MOST_NAMES:
            return ", ".join(names)
        return f"{names[0]} ... {getattr(self.pair.node.target, '__name__', names[-1])}"

    def describe(self) -> str:
        """Describes the step by its operators, module and source line."""
        event = self.pair.event
        names = self._names
        place = f"instruction {event.instruction}"
        if event.delegate_backend_name:
            place = f"{event.delegate_backend_name}, {place}"
            if event.is_delegated_op:
                place += f", step {event.step_name or event.name}"
        text = f"{names} ({place}) differs by {self.error:.3g}, where the largest value is {self.scale:.3g}"
        for found in dict.fromkeys((found.module, found.line, found.code) for found in self.operators):
            module, line, code = found
            text += f"\n  {line or 'line unknown'}: {code}" + (f"  [module {module}]" if module else "")
        return text

    def asdict(self) -> JsonObject:
        """Returns the fields as plain data."""
        event = self.pair.event
        return {
            "event": event.name,
            "instruction": event.instruction,
            "backend": event.delegate_backend_name,
            "operators": [found.op for found in self.operators],
            "modules": list(dict.fromkeys(found.module for found in self.operators)),
            "lines": list(dict.fromkeys(found.line for found in self.operators)),
            "error": self.error,
            "scale": self.scale,
            "allowed": self.allowed,
            "distance": self.distance,
            "departs": self.departs,
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """All recorded values of a method, compared with the model's values.

    Attributes:
        steps: the compared values in the order of execution.
    """

    steps: list[Step]

    @property
    def first(self) -> Step | None:
        """The first step that departs, or None."""
        return next((step for step in self.steps if step.departs), None)

    def table(self) -> str:
        """Returns a table with a row for each compared value."""
        rows = [
            [
                "<<" if step is self.first else "*" if step.departs else "",
                step._names,
                step.pair.event.delegate_backend_name or "",
                f"{step.error:.3g}",
                f"{step.scale:.3g}",
                f"{step.distance:.3g}",
                step.operators[-1].module if step.operators else "",
                step.operators[-1].line if step.operators else "",
            ]
            for step in self.steps
        ]
        return text_table(
            ["", "operators", "backend", "error", "largest", "distance", "module", "line"], rows
        )

    def asdict(self) -> JsonObject:
        """Returns the fields as plain data."""
        first = self.first
        return {
            "compared": len(self.steps),
            "first_departure": None if first is None else first.asdict(),
            "steps": [step.asdict() for step in self.steps],
        }


def compare_values(
    inspector: Inspector,
    inputs: Sequence[object] | None = None,
    graph: str | None = None,
    tolerance: float | None = None,
    *,
    absolute: float = 0.0,
    comparator: str | NumericalComparatorBase = "MAX",
    accumulate: bool = False,
) -> Comparison:
    """Compares the recorded values of a run with the model's values for the same inputs.

    Each operator of the model gets the runtime's values as inputs, so that an error appears only at the
    operator that causes it.

    Args:
        inspector: has an ETDump with values and the ETRecord of the program.
        inputs: the flat inputs of the run; None means the inputs in the record.
        graph: "exported_program" (the program of torch.export), "edge_dialect_exported_program", or None for
            the exported program if the record has it, else the edge program.
        tolerance: the allowed error relative to the largest value; None means a default for each dtype.
        absolute: an additional allowed absolute error. Quantized values (8-bit integers) may always differ by
            one.
        comparator: "MSE", "L1", "SNR", "COSINE", "MAX" or a comparator, which also computes the distance that
            the allowed error causes.
        accumulate: run the model on its own values instead; errors then add up along the program.

    Raises:
        ValueError: there is no record, no input, or no recorded value with a reference value.
    """
    record = inspector._etrecord
    if record is None:
        raise ValueError("a comparison needs an ETRecord; give one to the Inspector")
    measure = comparator_of(comparator, inspector)
    steps = []
    for block in inspector.event_blocks:
        if not any(event.debug_data for event in block.events):
            continue
        method = inspector.method_of(block)
        given = inputs_of(record, method) if inputs is None else inputs
        operators = operators_of(record.edge_programs[method])
        reference = Reference(record, method, given, graph)
        pairs = list(pairs_of(block, reference))
        for pair in pairs if accumulate else reference.isolated(pairs):
            steps.append(_compare(pair, _computed(pair, operators), tolerance, absolute, measure))
    if not steps:
        raise ValueError(
            "no recorded value has a counterpart in the model: the run must record values, and the record "
            "must be that of the program"
        )
    return Comparison(steps)


def _compare(
    pair: Pair,
    operators: list[Operator],
    tolerance: float | None,
    absolute: float,
    measure: NumericalComparatorBase,
) -> Step:
    error, scale = _errors(pair.reference, pair.runtime)
    share = TOLERANCES.get(pair.reference.dtype, DEFAULT_TOLERANCE) if tolerance is None else tolerance
    allowed = absolute + share * max(scale, 1e-6)
    allowed = max(allowed, _quantum(pair))
    distance = error
    departs = error > allowed
    if not isinstance(measure, MaxComparator):
        distance = measure.distances(pair.reference, pair.runtime)[0]
        # The distance of equal values may be NaN (0 / 0). If one of two values is NaN, the distance means
        # nothing.
        departs = error > 0 and (error == math.inf or measure.departs(distance, pair.reference, allowed))
    return Step(pair, operators, error, scale, allowed, distance, departs)


def _quantum(pair: Pair) -> float:
    """The smallest difference of two quantized or dequantized values; 0 for other values."""
    if pair.reference.dtype in (torch.int8, torch.uint8):
        return 1.0
    node = pair.node
    is_dequantized = getattr(node.target, "__name__", "").endswith("dequantize_per_tensor.default")
    scale = node.args[1] if is_dequantized else 0.0
    return 1.0001 * scale if isinstance(scale, float) else 0.0


def _computed(pair: Pair, operators: Mapping[int, list[Operator]]) -> list[Operator]:
    """The operators that a step computes; for a delegate call without steps, the operator of its result."""
    if pair.event.name != "DELEGATE_CALL":
        return pair.event.operators
    found = look_up(operators, pair.handles)
    return [operator for operator in found if operator.node == pair.node.name] or found


def _errors(reference: torch.Tensor, value: torch.Tensor) -> tuple[float, float]:
    """The largest absolute difference, and the largest finite absolute value of the reference."""
    if not reference.numel():
        return 0.0, 0.0
    a, b = wide(reference), wide(value)
    error, scale = float((a - b).abs_().max()), float(a.abs().max())
    if math.isfinite(error) and math.isfinite(scale):
        return error, scale
    same = (a == b) | (a.isnan() & b.isnan())
    difference = torch.where(same, 0.0, (a - b).abs()).nan_to_num(nan=torch.inf)
    finite = a[a.isfinite()].abs()
    return float(difference.max()), float(finite.max()) if finite.numel() else 0.0
