"""Progress of long tasks. Stages report progress, and `show_progress` displays it on a terminal."""

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
    """Receives progress reports about tasks. A task may contain other tasks."""

    def begin(self, what: str, total: int | None) -> Work:
        """Reports that a task begins. Returns an identifier for the task.

        Args:
            what: a description, such as "calibrate".
            total: the number of steps; None if it is not known.
        """

    def advance(self, work: Work) -> None:
        """Reports that one step is done."""

    def end(self, work: Work) -> None:
        """Reports that the task ended or failed."""


_listener: ContextVar[Listener[Any] | None] = ContextVar("listener", default=None)


@contextmanager
def reports_to(listener: Listener[Any]) -> Iterator[None]:
    """Sends all reports of this thread to a listener while the context is active."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Reports the body of the with statement as the task `what`."""
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
    """Yields the items, and reports one finished step of the task after each item."""
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
    """Displays each task as a line with a progress bar."""

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
    """Displays the progress of `rushlight.compile` and `rushlight.quantize` on standard error.

    The display is active while the context lasts, and only if standard error is a terminal.

    Args:
        delay: the seconds before the display appears, so that short tasks display nothing.
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
    # Standard output is not redirected, because it may be a file.
    progress = Progress(*columns, console=Console(file=sys.stderr), transient=True, redirect_stdout=False)
    timer = threading.Timer(delay, progress.start)
    timer.daemon = True
    timer.start()
    try:
        with reports_to(_Bars(progress)):
            yield
    finally:
        timer.cancel()
        timer.join()
        progress.stop()
