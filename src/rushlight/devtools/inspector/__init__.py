"""The Inspector shows times and values of executions by operator, module and source line.

Names that need torch are imported at their first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rushlight.devtools.inspector.events import Event, EventBlock
from rushlight.devtools.inspector.inspector import Inspector
from rushlight.devtools.inspector.perf import PerfData, TimeScale
from rushlight.devtools.inspector.slower import Change, change_table, what_got_slower

if TYPE_CHECKING:
    from rushlight.devtools.inspector.departure import Comparison, compare_values
    from rushlight.devtools.inspector.results import compare_results

__all__ = [
    "Change",
    "Comparison",
    "Event",
    "EventBlock",
    "Inspector",
    "PerfData",
    "TimeScale",
    "change_table",
    "compare_results",
    "compare_values",
    "what_got_slower",
]


_NEED_TORCH = {
    "Comparison": "rushlight.devtools.inspector.departure",
    "compare_values": "rushlight.devtools.inspector.departure",
    "compare_results": "rushlight.devtools.inspector.results",
}


def __getattr__(name: str) -> Any:
    if name not in _NEED_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_NEED_TORCH[name]), name)
