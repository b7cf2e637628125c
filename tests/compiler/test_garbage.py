"""The garbage collector during a compile."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
import torch
from torch import nn

import rushlight
from rushlight.compiler.garbage import heap_frozen


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


class Cycle:
    def __init__(self) -> None:
        self.me = self


def cycles() -> int:
    return sum(isinstance(item, Cycle) for item in gc.get_objects())


def test_old_objects_are_left_out_and_new_ones_collected() -> None:
    with heap_frozen():
        assert gc.get_freeze_count() > 0
        Cycle()
        assert cycles() == 1
        gc.collect()
        assert cycles() == 0
    assert gc.get_freeze_count() == 0


def test_the_heap_is_thawed_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), heap_frozen():
        raise ZeroDivisionError
    assert gc.get_freeze_count() == 0


def test_a_nested_use_does_not_thaw() -> None:
    with heap_frozen():
        with heap_frozen():
            pass
        assert gc.get_freeze_count() > 0


def test_what_the_caller_has_frozen_stays_frozen() -> None:
    gc.freeze()
    with heap_frozen():
        pass
    assert gc.get_freeze_count() > 0


def test_a_compile_freezes_the_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []

    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            counts.append(gc.get_freeze_count())
            return x + 1

    rushlight.compile(Model(), (torch.ones(2),))
    assert counts and all(counts)
    assert gc.get_freeze_count() == 0
