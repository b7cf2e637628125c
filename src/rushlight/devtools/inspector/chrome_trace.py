"""Converts runs to trace events of Chrome's JSON format, which Perfetto also reads.

The format is described at https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

from collections.abc import Sequence

from rushlight.devtools.inspector.events import Event, EventBlock
from rushlight.devtools.inspector.perf import TimeScale, ratio
from rushlight.ir.json_types import JsonObject

_PROCESS = 1
# The threads of the trace. Steps of delegates have a separate thread, because a backend may use another
# clock.
_RUNTIME, _DELEGATE = 1, 2


def trace_events(blocks: Sequence[EventBlock]) -> list[JsonObject]:
    """Returns the trace events of all runs.

    Args:
        blocks: the blocks of events.

    Returns:
        The events. Times are in microseconds since the first event of the thread.
    """
    found: list[tuple[EventBlock, Event, int, float]] = []
    for block in blocks:
        for event in block.events:
            found += [(block, event, run, float(start)) for run, start in enumerate(event.start_time or ())]
    if not found:
        return []
    to_microseconds, shown = (
        _microseconds(blocks[0].source_time_scale),
        _microseconds(blocks[0].target_time_scale),
    )
    starts: dict[int, float] = {}
    for _, event, _, start in found:
        thread = _thread(event)
        starts[thread] = min(start, starts.get(thread, start))
    events: list[JsonObject] = [
        {"name": "thread_name", "ph": "M", "pid": _PROCESS, "tid": thread, "args": {"name": name}}
        for thread, name in ((_RUNTIME, "instructions"), (_DELEGATE, "steps inside delegates"))
        if thread in starts
    ]
    for block, event, run, start in found:
        assert event.perf_data is not None
        events.append(
            {
                "name": ", ".join(event.op_types) if event.is_delegated_op and event.op_types else event.name,
                "cat": event.delegate_backend_name or ("runtime" if event.is_framework else "kernel"),
                "ph": "X",
                "ts": (start - starts[_thread(event)]) / to_microseconds,
                "dur": event.perf_data.raw[run] / shown,
                "pid": _PROCESS,
                "tid": _thread(event),
                "args": _arguments(block, event, run),
            }
        )
    return events


def _microseconds(unit: TimeScale) -> float:
    """Returns the number of units in a microsecond. Cycles are not converted."""
    return 1.0 if unit is TimeScale.CYCLES else ratio(unit, TimeScale.US)


def _thread(event: Event) -> int:
    return _DELEGATE if event.is_delegated_op else _RUNTIME


def _arguments(block: EventBlock, event: Event, run: int) -> JsonObject:
    facts = {
        "block": block.name,
        "run": run,
        "instruction": event.instruction,
        "identifier": event.delegate_debug_identifier,
        "step": event.step_name if event.is_delegated_op else None,
        "operators": event.op_types,
        "modules": event.module_paths,
        "lines": event.lines,
    }
    return {name: value for name, value in facts.items() if value not in (None, [], "")}
