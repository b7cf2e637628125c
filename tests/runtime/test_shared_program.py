"""One program on several threads and in a forked process, and memory after many calls."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from rushlight.runtime import Runtime

GOLDEN = Path(__file__).parents[1] / "golden" / "programs" / "0.1.0"
NAMES = [
    "rows-kernels",
    "rows-cpu-avx2",
    "rows-xnnpack",
    "loops-kernels",
    "image-int8-cpu",
    "image-int8-xnnpack",
]


def example(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    arrays = np.load(GOLDEN / f"{name}.npz")
    inputs = [arrays[key] for key in sorted(arrays) if key.startswith("0.input.")]
    return inputs, arrays["0.output.0"]


@pytest.mark.threads
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pool", [1, 3])
def test_methods_of_one_program_at_once(name: str, pool: int) -> None:
    """Each thread loads, runs and frees its own methods. All share the program and the pool."""
    program = Runtime.get().load_program(GOLDEN / f"{name}.pte", threads=pool)
    inputs, wanted = example(name)
    failures: list[str] = []

    def work() -> None:
        for _ in range(5):
            method = program.load_method("forward")
            for _ in range(10):
                if not np.allclose(np.asarray(method.execute(inputs)[0]), wanted, rtol=1e-4, atol=1e-4):
                    failures.append(threading.current_thread().name)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("name", NAMES)
def test_a_fork_after_a_load(name: str) -> None:
    """Child and parent run the method of the parent. In the child, the pool has no threads."""
    method = Runtime.get().load_program(GOLDEN / f"{name}.pte", threads=2).load_method("forward")
    inputs, wanted = example(name)
    method.execute(inputs)
    child = os.fork()
    if child == 0:
        equal = np.allclose(np.asarray(method.execute(inputs)[0]), wanted, rtol=1e-4, atol=1e-4)
        os._exit(0 if equal else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_allclose(np.asarray(method.execute(inputs)[0]), wanted, rtol=1e-4, atol=1e-4)
