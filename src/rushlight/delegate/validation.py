"""Lowering with partitioners that are allowed to change graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rushlight.delegate.partitioner import Partitioner


def disable_validation() -> None:
    """Lets every partitioner change graphs from now on."""
    Partitioner.changes_graph = True


@contextmanager
def validation_disabled() -> Iterator[None]:
    """Lets every partitioner change graphs within the context.

    A partitioner can allow this for itself with `changes_graph = True`.
    """
    before = Partitioner.changes_graph
    disable_validation()
    try:
        yield
    finally:
        Partitioner.changes_graph = before
