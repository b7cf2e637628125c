"""Keeps the garbage collector from scanning, during a compile, what was there before."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_frozen: ContextVar[bool] = ContextVar("is_frozen", default=False)


@contextmanager
def heap_frozen() -> Iterator[None]:
    """Leaves the objects that exist now out of garbage collections; also a decorator.

    A full collection scans all objects of torch, which takes longer than the compile of a small model. New
    objects are collected as always. Where the caller has frozen the heap (`gc.freeze`), nothing is changed.
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
