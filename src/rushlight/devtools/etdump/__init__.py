"""ETDumps: the event traces that the runtime records."""

from __future__ import annotations

from rushlight.devtools.etdump.schema_flatcc import (
    AllocationEvent,
    Allocator,
    DebugEvent,
    ETDumpFlatCC,
    Event,
    ProfileEvent,
    RunData,
    Value,
    ValueType,
)
from rushlight.devtools.etdump.serialize import deserialize_from_etdump_flatcc, serialize_to_etdump_flatcc

__all__ = [
    "AllocationEvent",
    "Allocator",
    "DebugEvent",
    "ETDumpFlatCC",
    "Event",
    "ProfileEvent",
    "RunData",
    "Value",
    "ValueType",
    "deserialize_from_etdump_flatcc",
    "serialize_to_etdump_flatcc",
]
