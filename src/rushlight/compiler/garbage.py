"""Excludes objects that exist before a compilation from garbage collection, to compile faster."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_frozen: ContextVar[bool] = ContextVar("is_frozen", default=False)


@contextmanager
def heap_frozen() -> Iterator[None]:
    """A context manager or decorator that excludes all existing objects from garbage collection.

    A full collection scans all objects of torch. This takes longer than the compilation of a small model. New
    objects are collected normally. Nothing changes if the caller has already frozen the heap (`gc.freeze`).
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
