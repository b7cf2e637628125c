"""Makes Ctrl-C end native code that runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

_T = TypeVar("_T")
_PERIOD = 0.1
"""The time between two checks for a signal, in seconds."""


class Cancellable(Protocol):
    """An object whose running call another thread can end: a method, or a runner of a language model."""

    def cancel(self) -> None:
        """Ends the running call."""


def cancellable(target: Cancellable, work: Callable[[Callable[[], None]], _T]) -> _T:
    """Runs `work` on another thread, because Python cannot handle Ctrl-C while native code runs.

    Args:
        target: the method or runner that Ctrl-C cancels.
        work: a function that executes the method once or many times. Its argument is a function `check` that
            raises KeyboardInterrupt after Ctrl-C. `work` calls `check` between two executions, because
            `cancel` ends only a running execution.

    Returns:
        The result of `work`.

    Raises:
        KeyboardInterrupt: after Ctrl-C, when the method has ended.
        BaseException: the exception that `work` raised.
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
        # In Python 3.12 and earlier, Thread.join treats the thread as ended after Ctrl-C. A wait without a
        # timeout misses a signal that arrives just before it.
        while not done.wait(_PERIOD):
            pass
    except KeyboardInterrupt:
        cancelled.set()  # a thread that starts after this does nothing
        while begun.is_set() and not done.is_set():
            target.cancel()
            done.wait(0.05)
        raise
    if errors:
        raise errors[0]
    return results[0]
