"""ETRecords: what the compiler knew of a program, kept for the tools that run later."""

from __future__ import annotations

from rushlight.devtools.etrecord.record import (
    ETRecord,
    ETRecordReservedFileNames,
    generate_etrecord,
    parse_etrecord,
)

__all__ = ["ETRecord", "ETRecordReservedFileNames", "generate_etrecord", "parse_etrecord"]
