"""ETRecords: files with information of the compiler about a program, for the developer tools."""

from __future__ import annotations

from rushlight.devtools.etrecord.entries import ETRecordReservedFileNames
from rushlight.devtools.etrecord.record import ETRecord, generate_etrecord
from rushlight.devtools.etrecord.saved import parse_etrecord

__all__ = ["ETRecord", "ETRecordReservedFileNames", "generate_etrecord", "parse_etrecord"]
