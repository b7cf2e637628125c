"""Keeps the garbage collector from scanning objects that existed before a compile."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_frozen: ContextVar[bool] = ContextVar("is_frozen", default=False)


@contextmanager
def heap_frozen() -> Iterator[None]:
    """Excludes all objects that exist now from garbage collection; also works as a decorator.

    A full collection scans all objects of torch, which takes longer than the compile of a small model. New
    objects are collected normally. If the caller has already frozen the heap (`gc.freeze`), this changes
    nothing.
    """
    if _is_frozen.get():
        yield
        return
    token = _is_frozen.set(True)
    freezes = gc.get_freeze_count() == 0
    if freezes:
        gc.freeze()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()
        _is_frozen.reset(token)
