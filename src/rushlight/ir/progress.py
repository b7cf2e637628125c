"""Progress of long work: stages say what they do, and `show_progress` shows it on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")
Work = TypeVar("Work")


class Listener(Protocol[Work]):
    """What is told of work. Work may contain other work."""

    def begin(self, what: str, total: int | None) -> Work:
        """Work begins; returns what identifies it.

        Args:
            what: a description, such as "calibrate".
            total: the number of its parts; None if it has no parts that can be counted.
        """

    def advance(self, work: Work) -> None:
        """A part is done."""

    def end(self, work: Work) -> None:
        """The work ended, or failed."""


_listener: ContextVar[Listener[Any] | None] = ContextVar("listener", default=None)


@contextmanager
def told_to(listener: Listener[Any]) -> Iterator[None]:
    """Tells a listener of the work of this thread while the context lasts."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Says that the body of the context does this work."""
    listener = _listener.get()
    if listener is None:
        yield
        return
    work = listener.begin(what, None)
    try:
        yield
    finally:
        listener.end(work)


def counted(what: str, items: Iterable[T]) -> Iterator[T]:
    """Gives the items, and says after each that a part of the work is done."""
    listener = _listener.get()
    if listener is None:
        yield from items
        return
    work = listener.begin(what, len(items) if isinstance(items, Sized) else None)
    try:
        for item in items:
            yield item
            listener.advance(work)
    finally:
        listener.end(work)


class _Bars:
    """Shows each piece of work as a line with a bar."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def begin(self, what: str, total: int | None) -> TaskID:
        return self._progress.add_task(what, total=total)

    def advance(self, work: TaskID) -> None:
        self._progress.advance(work)

    def end(self, work: TaskID) -> None:
        self._progress.remove_task(work)


@contextmanager
def show_progress(delay: float = 2.0) -> Iterator[None]:
    """Shows on standard error what `rushlight.compile` and `rushlight.quantize` do while the context lasts.

    Nothing is shown if standard error is no terminal.

    Args:
        delay: the seconds after which the display appears, so that short work shows nothing.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    what, elapsed = TextColumn("{task.description}"), TimeElapsedColumn()
    columns = (SpinnerColumn(), what, BarColumn(), MofNCompleteColumn(), elapsed)
    # Standard output is left alone: it may go to a file.
    progress = Progress(*columns, console=Console(file=sys.stderr), transient=True, redirect_stdout=False)
    timer = threading.Timer(delay, progress.start)
    timer.daemon = True
    timer.start()
    try:
        with told_to(_Bars(progress)):
            yield
    finally:
        timer.cancel()
        timer.join()
        progress.stop()
