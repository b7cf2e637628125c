"""Encodes runs as a Perfetto trace, which is a protobuf message `perfetto.protos.Trace`.

The schema is at https://perfetto.dev/docs/reference/trace-packet-proto. This module writes fields by number,
so that it needs no protobuf package.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_VARINT, _FIXED64, _BYTES = 0, 1, 2  # wire types of protobuf

_SEQUENCE = 1  # all packets belong to one writer
_STATE_CLEARED = 1  # SEQ_INCREMENTAL_STATE_CLEARED: the packet begins a sequence
_BEGIN, _END = 1, 2  # TrackEvent.Type


def perfetto_trace(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Returns the bytes of a trace.

    Args:
        events: trace events in Chrome's format: "X" for slices, which may be nested within a thread, and "M"
            for thread names. Times are in microseconds.
    """
    packets = [_descriptor(_track(event["pid"], 0), process=event) for event in events[:1]]
    packets += [
        _descriptor(_track(event["pid"], event["tid"]), thread=event)
        for event in events
        if event["ph"] == "M"
    ]
    threads = dict.fromkeys((event["pid"], event["tid"]) for event in events if event["ph"] == "X")
    for pid, tid in threads:
        slices = [
            event for event in events if event["ph"] == "X" and (event["pid"], event["tid"]) == (pid, tid)
        ]
        packets += list(_slices(_track(pid, tid), slices))
    if packets:
        packets[0] += _number(13, _STATE_CLEARED)
    return b"".join(_message(1, packet + _number(10, _SEQUENCE)) for packet in packets)


def _track(pid: int, tid: int) -> int:
    """Returns the identifier of the track of a thread. Thread 0 stands for the process."""
    return pid << 32 | tid


def _descriptor(
    track: int, process: Mapping[str, Any] | None = None, thread: Mapping[str, Any] | None = None
) -> bytes:
    """Returns a packet that defines the name of a track."""
    parts = _number(1, track)
    if process is not None:
        parts += _message(3, _number(1, process["pid"]) + _text(6, "program"))
    if thread is not None:
        facts = _number(1, thread["pid"]) + _number(2, thread["tid"]) + _text(5, thread["args"]["name"])
        parts += _number(5, _track(thread["pid"], 0)) + _message(4, facts)
    return _message(60, parts)


def _slices(track: int, events: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yields begin and end packets of slices, ordered by time. Nested slices end before their outer slice."""
    ends: list[int] = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        start, end = (round(time * 1000) for time in (event["ts"], event["ts"] + event["dur"]))
        while ends and ends[-1] <= start:
            yield _event(ends.pop(), track, _number(9, _END))
        facts = _number(9, _BEGIN) + _text(22, event["cat"]) + _text(23, event["name"])
        for name, value in event["args"].items():
            facts += _message(4, _annotation(name, value))
        yield _event(start, track, facts)
        # after rounding, a slice must not end after its outer slice
        ends.append(min(end, ends[-1]) if ends else end)
    while ends:
        yield _event(ends.pop(), track, _number(9, _END))


def _event(nanoseconds: int, track: int, facts: bytes) -> bytes:
    return _number(8, nanoseconds) + _message(11, _number(11, track) + facts)


def _annotation(name: str, value: object) -> bytes:
    """Returns a named value. The entries of a list have no names."""
    label = _text(10, name) if name else b""
    if isinstance(value, (list, tuple)):
        return label + b"".join(_message(12, _annotation("", item)) for item in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return label + _number(4, value)
    if isinstance(value, float):
        return label + _key(5, _FIXED64) + struct.pack("<d", value)
    return label + _text(6, str(value))


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _number(field: int, value: int) -> bytes:
    return _key(field, _VARINT) + _varint(value)


def _text(field: int, text: str) -> bytes:
    return _message(field, text.encode())


def _message(field: int, data: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Encodes a number in groups of seven bits, lowest first. Negative numbers have 64 bits."""
    value &= (1 << 64) - 1
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
