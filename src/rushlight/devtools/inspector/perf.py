"""The times of an event over all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np


class TimeScale(Enum):
    """Units of time."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"
    CYCLES = "cycles"

    @property
    def per_second(self) -> float:
        """The number of units in a second; 1 for cycles, because their length is unknown."""
        return {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0, "cycles": 1.0}[self.value]


def ratio(source: TimeScale, target: TimeScale) -> float:
    """Returns the number of `target` units in one `source` unit.

    Args:
        source: the unit of the times to convert.
        target: the unit to convert to.

    Returns:
        The factor by which times are multiplied.

    Raises:
        ValueError: only one of the units is cycles.
    """
    if (source is TimeScale.CYCLES) != (target is TimeScale.CYCLES):
        raise ValueError(
            f"times in {source.value} cannot be converted to {target.value}, because the length of a cycle "
            "is not known; use CYCLES for both units"
        )
    return source.per_second / target.per_second


def elapsed(start: int, end: int) -> int:
    """Returns the ticks between two times.

    Args:
        start: the first time, in ticks of the clock of the trace.
        end: the second time. If it is less than `start`, a 32-bit clock has wrapped around once between them.

    Returns:
        The number of ticks.
    """
    return end - start if end >= start else end - start + 2**32


@dataclass(eq=False)
class PerfData:
    """The times of an event, one for each run.

    Attributes:
        raw: the times in the inspector's unit.
    """

    raw: Sequence[float]

    @property
    def p10(self) -> float:
        """The 10th percentile: 10 % of the runs take at most this time."""
        return float(np.percentile(self.raw, 10))

    @property
    def p50(self) -> float:
        """The median."""
        return float(np.percentile(self.raw, 50))

    @property
    def p90(self) -> float:
        """The 90th percentile: 90 % of the runs take at most this time."""
        return float(np.percentile(self.raw, 90))

    @property
    def avg(self) -> float:
        """The mean."""
        return float(np.mean(self.raw))

    @property
    def mean(self) -> float:
        """The mean."""
        return self.avg

    @property
    def min(self) -> float:
        """The shortest time."""
        return float(min(self.raw))

    @property
    def max(self) -> float:
        """The longest time."""
        return float(max(self.raw))

    @property
    def cv(self) -> float:
        """The standard deviation divided by the mean; 0 if the mean is 0."""
        mean = self.avg
        return float(np.std(self.raw)) / mean if mean else 0.0
