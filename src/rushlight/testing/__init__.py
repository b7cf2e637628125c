"""Tools that test backends: a tester that runs stages, and a suite of operator tests for any backend.

See docs/testing-a-backend.md.
"""

from __future__ import annotations

from rushlight.testing.error_statistics import ErrorStatistics, TensorStatistics
from rushlight.testing.tester import Tester

__all__ = ["ErrorStatistics", "TensorStatistics", "Tester"]
