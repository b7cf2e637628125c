"""Ctrl-C while native code runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

_T = TypeVar("_T")
_PERIOD = 0.1
"""Seconds between two looks for a signal."""


class Cancellable(Protocol):
    """What another thread can end: a method, or a runner of a language model."""

    def cancel(self) -> None:
        """Ends the call that runs."""


def cancellable(target: Cancellable, work: Callable[[Callable[[], None]], _T]) -> _T:
    """Does work that runs a method on another thread, since native code does not see Ctrl-C.

    Args:
        target: the method or runner that Ctrl-C cancels.
        work: a function, which executes the method once or many times. Its argument is a function that raises
            KeyboardInterrupt after Ctrl-C; work calls it between two executions, which `cancel` does not end.

    Returns:
        What `work` returned.

    Raises:
        KeyboardInterrupt: after Ctrl-C, when the method has ended.
        BaseException: what `work` raised.
    """
    results: list[_T] = []
    errors: list[BaseException] = []
    begun, cancelled, done = threading.Event(), threading.Event(), threading.Event()

    def check() -> None:
        if cancelled.is_set():
            raise KeyboardInterrupt

    def run() -> None:
        begun.set()
        try:
            check()
            results.append(work(check))
        except BaseException as error:  # raised again below
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, name="rushlight-run")
    try:
        thread.start()
        # Thread.join forgets the thread after Ctrl-C in Python 3.12 and before. A wait without a time limit
        # misses a signal that arrives just before it.
        while not done.wait(_PERIOD):
            pass
    except KeyboardInterrupt:
        cancelled.set()  # a thread that begins later does nothing
        while begun.is_set() and not done.is_set():
            target.cancel()
            done.wait(0.05)
        raise
    if errors:
        raise errors[0]
    return results[0]
