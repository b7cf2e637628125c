"""Ctrl-C while native code runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from rushlight.runtime import Method

_T = TypeVar("_T")


def cancellable(method: Method, work: Callable[[], _T]) -> _T:
    """Does work that runs a method on another thread, since native code does not see Ctrl-C.

    Args:
        method: the method that Ctrl-C cancels.
        work: a function, which executes the method once or many times.

    Returns:
        What `work` returned.

    Raises:
        KeyboardInterrupt: after Ctrl-C, when the method has ended.
        BaseException: what `work` raised.
    """
    results: list[_T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again below
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="rushlight-run").start()
    try:
        done.wait()  # Thread.join forgets the thread after Ctrl-C in Python 3.12 and before
    except KeyboardInterrupt:
        while not done.is_set():
            method.cancel()  # only a call that is running ends
            done.wait(0.05)
        raise
    if errors:
        raise errors[0]
    return results[0]
