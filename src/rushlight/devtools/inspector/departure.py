"""Finds the first operator whose recorded value differs from the model's value by more than the tolerance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from rushlight.devtools.inspector.alignment import Reference
from rushlight.devtools.inspector.gaps import inputs_of, pairs_of
from rushlight.devtools.inspector.matching import Pair, differences, wide
from rushlight.devtools.inspector.numerical_comparator import (
    MaxComparator,
    NumericalComparatorBase,
    comparator_of,
)
from rushlight.devtools.inspector.operators import Operator, look_up, operators_of, without_conversions
from rushlight.ir.json_types import JsonObject
from rushlight.ir.text_table import text_table

if TYPE_CHECKING:
    from rushlight.devtools.inspector.inspector import Inspector

TOLERANCES = {torch.float16: 2e-2, torch.bfloat16: 5e-2}
"""The default tolerance by dtype: the allowed error, divided by the largest value of the reference."""

DEFAULT_TOLERANCE = 1e-3
"""The default tolerance of all other dtypes."""

_MAX_NAMES = 4  # the maximum number of operators of a step that a message lists


@dataclass(frozen=True, eq=False)
class Step:
    """A recorded value, compared with the model's value.

    Attributes:
        pair: the two values.
        operators: the operators that the step computes, with module path and source line.
        error: the largest absolute difference; infinite if only one of two elements is NaN.
        scale: the largest finite absolute value of the reference.
        allowed: the allowed absolute error.
        distance: the distance that the chosen comparator computes.
        departs: whether the value is wrong: the distance exceeds the distance that the allowed error causes.
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
        if len(names) <= _MAX_NAMES:
            return ", ".join(names)
        return f"{names[0]} ... {getattr(self.pair.node.target, '__name__', names[-1])}"

    @property
    def _backend(self) -> str:
        """The backend of the step. An output of a delegate call repeats the result of one of its steps."""
        name = self.pair.event.delegate_backend_name or ""
        return f"output of {name}" if self.pair.event.name == "DELEGATE_CALL" else name

    @property
    def _place(self) -> tuple[str, str]:
        """The module and the source line of the last operator; empty texts if there is no operator."""
        last = without_conversions(self.operators)[-1:]
        return (last[0].module, last[0].line) if last else ("", "")

    def describe(self) -> str:
        """Describes the step by its operators, module and source line."""
        event = self.pair.event
        names = self._names
        place = f"instruction {event.instruction}"
        if event.delegate_backend_name:
            place = f"{event.delegate_backend_name}, {place}"
            if event.is_delegated_op:
                place += f", step {event.step_name or event.name}"
        if self.pair.execution:
            place += f", iteration {self.pair.execution + 1} of a loop"
        text = (
            f"{names} ({place}): the largest error is {self.error:.3g}, the largest value is {self.scale:.3g}"
        )
        computed = without_conversions(self.operators)
        for module, line, code in dict.fromkeys((own.module, own.line, own.code) for own in computed):
            text += f"\n  {line or 'unknown line'}: {code}" + (f"  [module {module}]" if module else "")
        return text

    def asdict(self) -> JsonObject:
        """Returns the fields as plain data."""
        event = self.pair.event
        return {
            "event": event.name,
            "instruction": event.instruction,
            "execution": self.pair.execution,
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
        """The first step with a wrong value, or None."""
        return next((step for step in self.steps if step.departs), None)

    def table(self) -> str:
        """Returns a table of all compared values. It marks the first wrong value by "<<", others by "*"."""
        rows = [
            [
                "<<" if step is self.first else "*" if step.departs else "",
                step._names,
                step._backend,
                f"{step.error:.3g}",
                f"{step.scale:.3g}",
                f"{step.distance:.3g}",
                *step._place,
            ]
            for step in self.steps
        ]
        return text_table(
            ["", "operators", "backend", "error", "largest value", "distance", "module", "line"], rows
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
        inspector: an inspector with an ETDump with values, and with the ETRecord of the program.
        inputs: the flat inputs of the run; None means the inputs in the ETRecord.
        graph: the graph that provides the model's values: "exported_program" (the program of torch.export),
            "edge_dialect_exported_program", or another name in the `graph_map` of the ETRecord. None is the
            exported program if the ETRecord has it, else the edge program.
        tolerance: the allowed error divided by the largest absolute value; None means the default of the
            dtype.
        absolute: an additional allowed absolute error. Quantized values (8-bit integers) may always differ
            by 1.
        comparator: the comparator, or its name: "MSE", "L1", "SNR", "COSINE" or "MAX". It also computes the
            distance that the allowed error causes.
        accumulate: run the model on its own values instead; errors then add up along the program.

    Raises:
        ValueError: there is no ETRecord, no input, or no recorded value with a reference value.
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
        if all(event.is_framework for event in inspector.events()):
            raise ValueError("the method runs no operator whose value could be compared")
        raise ValueError(
            "no recorded value has a reference value in the model; record values (with a debug buffer), "
            "and use the ETRecord of the same program"
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
    allowed = max(allowed, _quantization_step(pair))
    distance = error
    departs = error > allowed
    if not isinstance(measure, MaxComparator):
        distance = measure.distances(pair.reference, pair.runtime)[0]
        # The distance of equal values may be NaN (0 / 0). If only one of two elements is NaN, the distance is
        # not meaningful.
        departs = error > 0 and (error == math.inf or measure.departs(distance, pair.reference, allowed))
    return Step(pair, operators, error, scale, allowed, distance, departs)


def _quantization_step(pair: Pair) -> float:
    """Returns the quantization step of a quantized or dequantized value; 0 for other values."""
    if pair.reference.dtype in (torch.int8, torch.uint8):
        return 1.0
    node = pair.node
    is_dequantized = getattr(node.target, "__name__", "").endswith("dequantize_per_tensor.default")
    scale = node.args[1] if is_dequantized else 0.0
    return 1.0001 * scale if isinstance(scale, float) else 0.0


def _computed(pair: Pair, operators: Mapping[int, list[Operator]]) -> list[Operator]:
    """Returns the operators that a step computes; for a delegate call, the operators of its result."""
    if pair.event.name != "DELEGATE_CALL":
        return pair.event.operators
    found = look_up(operators, pair.handles)
    return [operator for operator in found if operator.node == pair.node.name] or found


def _errors(reference: torch.Tensor, value: torch.Tensor) -> tuple[float, float]:
    """Returns the largest absolute difference, and the largest finite absolute value of the reference."""
    if not reference.numel():
        return 0.0, 0.0
    a, b = wide(reference), wide(value)
    error, scale = float(differences(a, b).max()), float(a.abs().max())
    if not math.isfinite(scale):
        finite = a[a.isfinite()].abs()
        scale = float(finite.max()) if finite.numel() else 0.0
    return error, scale
