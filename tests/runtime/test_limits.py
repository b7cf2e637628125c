"""Limits of instructions and memory, and cancellation of calls from another thread."""

from __future__ import annotations

import copy
import threading
from typing import Any

import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop

import rushlight
from rushlight.exir import to_edge
from rushlight.runtime import Runtime
from rushlight.runtime.errors import CancelledError, LimitError


class Endless(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        count = torch.zeros((), dtype=torch.int64)
        return while_loop(lambda i, x: i >= 0, lambda i, x: (i * 0, x + 1), (count, x))


class Rows(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sort(x @ x)[0]


def compiled(module: torch.nn.Module, *inputs: torch.Tensor) -> bytes:
    return to_edge(torch.export.export(module, inputs)).to_executorch().buffer


X = torch.ones(2)


@pytest.fixture(scope="module")
def endless() -> bytes:
    return compiled(Endless(), X)


@pytest.mark.damage
def test_an_endless_loop_ends(endless: bytes) -> None:
    module = rushlight.load(endless, max_instructions=5000)
    for loaded in (module, module, copy.copy(module)):
        with pytest.raises(
            LimitError, match=r"the limit of 5000 instructions \(Limits::instructions\)"
        ) as caught:
            loaded(X)
        assert isinstance(caught.value, MemoryError)
    program = Runtime.get().load_program(endless, max_instructions=1)
    with pytest.raises(LimitError, match="the limit of 1 instructions"):
        program.load_method("forward").execute([X])


@pytest.mark.parametrize("limit", [0, 1000, 100_000])
def test_more_memory_than_the_limit(limit: int) -> None:
    data = compiled(Rows(), torch.ones(200, 200))
    with pytest.raises(LimitError, match=rf"the limit of {limit} bytes \(Limits::memory\)"):
        rushlight.load(data, max_memory=limit)(torch.ones(200, 200))


def test_enough_memory() -> None:
    data = compiled(Rows(), torch.ones(20, 20))
    method = Runtime.get().load_program(data, max_memory=1 << 20).load_method("forward")
    method.execute([torch.ones(20, 20)])
    assert sum(method.memory()) <= 1 << 20


@pytest.mark.threads
def test_another_thread_cancels_a_call(endless: bytes) -> None:
    module = rushlight.load(endless, max_instructions=None)
    method = module.method("forward")
    for _ in range(3):
        done = threading.Event()

        def cancel(done: threading.Event = done) -> None:
            while not done.wait(0.001):
                method.cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(CancelledError, match="the call was cancelled"):
            module(X)
        done.set()
        canceller.join()
