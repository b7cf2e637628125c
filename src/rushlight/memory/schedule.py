"""Orders tasks so that few bytes are alive at the same time.

The tasks are divided at barriers. A barrier is a task with the same position in all valid orders: each other
task must come before it, or must come after it. Between two barriers, a beam search extends partial orders
task by task. For each set of finished tasks it keeps the order with the lowest peak. If it drops no partial
order, the result is optimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

BEAM = 64
"""The maximum number of partial orders that are extended at the same time."""

MAX_EXTENSIONS = 40_000
"""The maximum number of partial orders that one call of `order_tasks` creates. This takes about 0.5 s."""


@dataclass(frozen=True, slots=True)
class Task:
    """A node of a graph, or a step of a plan.

    Attributes:
        after: the tasks that must come before this task.
        makes: the values whose lifetimes begin with this task.
        uses: all values that are alive during this task, including `makes`.
    """

    after: frozenset[int]
    makes: tuple[int, ...]
    uses: tuple[int, ...]


def order_tasks(tasks: Sequence[Task], sizes: Sequence[int], kept: Iterable[int] = ()) -> list[int]:
    """Returns an order of the tasks whose peak is not above the peak of the given order.

    Args:
        tasks: the tasks, in a valid order.
        sizes: the size of each value in bytes. A value that no task makes is alive from the start.
        kept: values that stay alive after their last use.
    """
    order = list(range(len(tasks)))
    live = _LiveBytes(tasks, sizes, kept)
    peaks = live.peaks(order)
    least = max((live.need(task) for task in order), default=0)
    budget = MAX_EXTENSIONS
    segments = sorted(_segments(tasks), key=lambda span: -max(peaks[span[0] : span[1]]))
    for begin, end in segments:
        top = max(peaks[begin:end])
        if top <= least or budget <= 0:
            break
        found, spent = live.search(order, begin, end, top, budget)
        budget -= spent
        if found is None:
            break  # No order of the other tasks can lower the peak.
        order[begin:end] = found
        peaks[begin:end] = live.peaks(order)[begin:end]
        least = max(least, max(peaks[begin:end]))
    return order


def is_valid(order: Sequence[int], tasks: Sequence[Task]) -> bool:
    """Whether an order contains each task once, after all tasks that must come before it."""
    place = {task: index for index, task in enumerate(order)}
    complete = len(place) == len(order) == len(tasks)
    return complete and all(place[b] < place[t] for t in place for b in tasks[t].after)


def _segments(tasks: Sequence[Task]) -> list[tuple[int, int]]:
    """Divides the given order into ranges. Each range ends with a barrier or with the last task."""
    before = [0] * len(tasks)
    for index, task in enumerate(tasks):
        for other in task.after:
            before[index] |= before[other] | 1 << other
    below = [0] * len(tasks)
    for index in reversed(range(len(tasks))):
        for other in tasks[index].after:
            below[other] |= below[index] | 1 << index
    spans, begin = [], 0
    everything = (1 << len(tasks)) - 1
    for index in range(len(tasks)):
        if before[index] | below[index] | 1 << index == everything or index == len(tasks) - 1:
            spans.append((begin, index + 1))
            begin = index + 1
    return spans


_Path = tuple["_Path | None", int]
"""The order without its last task, and the last task. This shares the memory of common beginnings."""


class _Partial(NamedTuple):
    """A partial order.

    Attributes:
        peak: the largest number of bytes that are alive during one of its tasks.
        live: the bytes that are alive after it.
        ready: the tasks that may come next.
        path: its tasks; None if it has none.
    """

    peak: int
    live: int
    ready: tuple[int, ...]
    path: _Path | None

    def tasks(self) -> list[int]:
        """Returns the tasks in their order."""
        found: list[int] = []
        path = self.path
        while path is not None:
            path, task = path
            found.append(task)
        return found[::-1]


class _Dependencies:
    """The dependencies among some of the tasks.

    Args:
        tasks: all tasks.
        inside: the indices of the tasks whose dependencies on each other count, in a valid order.

    Attributes:
        needs: by task: the set of tasks that must come before it, as a bit mask.
        followers: by task: the tasks that must come after it.
        ready: the tasks that may come first.
    """

    def __init__(self, tasks: Sequence[Task], inside: Sequence[int]) -> None:
        members = set(inside)
        self.needs = {task: sum(1 << other for other in tasks[task].after & members) for task in members}
        self.followers: Mapping[int, list[int]] = {task: [] for task in members}
        for task in members:
            for other in tasks[task].after & members:
                self.followers[other].append(task)
        self.ready = tuple(task for task in inside if not self.needs[task])


class _LiveBytes:
    """Computes the bytes that are alive while tasks run in some order."""

    def __init__(self, tasks: Sequence[Task], sizes: Sequence[int], kept: Iterable[int]) -> None:
        self.tasks = tasks
        self.sizes = sizes
        self.users: dict[int, int] = {}  # by value: the set of tasks that use it, as a bit mask
        for index, task in enumerate(tasks):
            for value in dict.fromkeys((*task.uses, *task.makes)):
                self.users[value] = self.users.get(value, 0) | 1 << index
        self.kept = set(kept)
        made = {value for task in tasks for value in task.makes}
        self.start = sum(
            size for value, size in enumerate(sizes) if value in self.users and value not in made
        )

    def need(self, task: int) -> int:
        """Returns the bytes that are alive during the task in all orders."""
        return sum(self.sizes[value] for value in set(self.tasks[task].uses) | set(self.tasks[task].makes))

    def step(self, task: int, done: int, live: int) -> tuple[int, int]:
        """Returns the live bytes during and after the task; `done` is the set of finished tasks."""
        during = live + sum(self.sizes[value] for value in self.tasks[task].makes)
        now, after = done | 1 << task, during
        for value in set(self.tasks[task].uses) | set(self.tasks[task].makes):
            if value not in self.kept and not self.users[value] & ~now:
                after -= self.sizes[value]
        return during, after

    def peaks(self, order: Sequence[int]) -> list[int]:
        """Returns the live bytes during each task of the order."""
        found, done, live = [], 0, self.start
        for task in order:
            during, live = self.step(task, done, live)
            done |= 1 << task
            found.append(during)
        return found

    def search(
        self, order: Sequence[int], begin: int, end: int, top: int, budget: int
    ) -> tuple[list[int] | None, int]:
        """Searches for an order of the tasks `order[begin:end]` whose peak is below `top`.

        This is the beam search that the text at the top of this file describes.

        Args:
            order: a valid order of all tasks.
            begin: the position of the first task that may move.
            end: the position after the last task that may move.
            top: the peak, in bytes, that the new order must not reach.
            budget: the number of partial orders after which the search ends without a result.

        Returns:
            The order, or None if none was found; and the number of partial orders that were created.
        """
        done, live = 0, self.start
        for task in order[:begin]:
            _, live = self.step(task, done, live)
            done |= 1 << task
        dependencies = _Dependencies(self.tasks, order[begin:end])
        states = {done: _Partial(0, live, dependencies.ready, None)}  # by the set of finished tasks
        spent = 0
        for _ in range(begin, end):
            spent += sum(len(partial.ready) for partial in states.values())
            extended = self._extended(states, dependencies, top)
            if spent > budget or not extended:
                return None, spent
            best = sorted(extended.items(), key=lambda item: (item[1].peak, item[1].live))
            states = dict(best[:BEAM])
        return min(states.values(), key=lambda partial: partial.peak).tasks(), spent

    def _extended(
        self, states: Mapping[int, _Partial], dependencies: _Dependencies, top: int
    ) -> dict[int, _Partial]:
        """Extends partial orders by one task in all ways.

        Args:
            states: the partial orders, by their sets of finished tasks as bit masks.
            dependencies: the dependencies among the tasks that may move.
            top: the peak, in bytes, that no result reaches.

        Returns:
            For each set of finished tasks, the order with the lowest peak.
        """
        extended: dict[int, _Partial] = {}
        for finished, partial in states.items():
            for task in partial.ready:
                during, after = self.step(task, finished, partial.live)
                peak = max(partial.peak, during)
                now = finished | 1 << task
                known = extended.get(now)
                if peak >= top or (known is not None and known.peak <= peak):
                    continue
                freed = [f for f in dependencies.followers[task] if not dependencies.needs[f] & ~now]
                rest = [other for other in partial.ready if other != task]
                extended[now] = _Partial(peak, after, (*rest, *freed), (partial.path, task))
        return extended
