"""The layout of the segments of a file."""

from __future__ import annotations

from rushlight.format.segments import Deduplicator


def test_a_duplicate_leaves_no_trace_for_the_next_buffer() -> None:
    """The buffers have equal lengths, starts and ends, so that only digests distinguish them."""
    ends = bytes(64)
    first, second = (memoryview(ends + bytes([byte]) * 64 + ends) for byte in (1, 2))
    finder = Deduplicator()
    assert finder.find(first, 1) == 1
    assert finder.find(memoryview(bytes(first)), 2) == 1
    assert finder.find(second, 2) == 2
    assert finder.find(memoryview(bytes(second)), 3) == 2
