"""Stores which bytes of a memory are in use during ranges of steps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

Ranges = list[int]
"""Disjoint byte ranges in increasing order, as start, end, start, end, ..."""


class Occupancy:
    """A segment tree over the steps at which buffers begin or end.

    Each node of the tree has two sets of byte ranges: `cover` has the bytes in use during all of its steps,
    and `touch` the bytes in use during at least one of its steps. Adjacent ranges are merged, so that there
    are few ranges even if many buffers are alive together. Each operation visits O(log n) nodes.

    Args:
        spans: the lifetimes [lower, upper) of all buffers.
    """

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._steps = sorted({step for span in spans for step in span})
        self._size = 1
        while self._size < len(self._steps):
            self._size *= 2
        self._cover: list[Ranges | None] = [None] * (2 * self._size)
        self._touch: list[Ranges | None] = [None] * (2 * self._size)

    def take(self, lower: int, upper: int, start: int, end: int) -> None:
        """Marks the bytes [start, end) as in use during the steps [lower, upper).

        Both steps must be bounds of spans that were passed to the constructor.
        """
        nodes, ancestors = self._split(lower, upper)
        for node in nodes:
            self._cover[node] = _with_range(self._cover[node], start, end)
            self._touch[node] = _with_range(self._touch[node], start, end)
        for node in ancestors:
            self._touch[node] = _with_range(self._touch[node], start, end)

    def taken(self, lower: int, upper: int) -> list[tuple[int, int]]:
        """Returns the (start, end) ranges in use during at least one of the steps [lower, upper).

        The ranges are sorted by start, and may overlap.
        """
        nodes, ancestors = self._split(lower, upper)
        found: list[tuple[int, int]] = []
        for ranges in [*(self._touch[n] for n in nodes), *(self._cover[n] for n in ancestors)]:
            if ranges:
                found.extend(zip(ranges[::2], ranges[1::2], strict=True))
        found.sort()
        return found

    def _split(self, lower: int, upper: int) -> tuple[list[int], set[int]]:
        """Returns the nodes that together cover the steps [lower, upper), and all ancestors of them."""
        left = self._size + bisect_left(self._steps, lower)
        right = self._size + bisect_left(self._steps, upper)
        nodes: list[int] = []
        while left < right:
            if left & 1:
                nodes.append(left)
                left += 1
            if right & 1:
                right -= 1
                nodes.append(right)
            left //= 2
            right //= 2
        ancestors: set[int] = set()
        for node in nodes:
            node //= 2
            while node and node not in ancestors:
                ancestors.add(node)
                node //= 2
        return nodes, ancestors


def _with_range(ranges: Ranges | None, start: int, end: int) -> Ranges:
    """Merges [start, end) into `ranges`, in place if `ranges` is not None."""
    if ranges is None:
        return [start, end]
    # An even index is between two ranges, and an odd index is inside a range.
    first = bisect_left(ranges, start)
    last = bisect_right(ranges, end)
    ranges[first:last] = ([] if first & 1 else [start]) + ([] if last & 1 else [end])
    return ranges
