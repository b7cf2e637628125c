"""ETRecords: the compiler's information about a program, for tools that run later."""

from __future__ import annotations

from rushlight.devtools.etrecord.record import (
    ETRecord,
    ETRecordReservedFileNames,
    generate_etrecord,
    parse_etrecord,
)

__all__ = ["ETRecord", "ETRecordReservedFileNames", "generate_etrecord", "parse_etrecord"]
