"""Measures compile time and planned memory (with inputs) of exported programs.

The compilers run in turn: Rushlight for CpuBackend, Rushlight without a backend, ExecuTorch without a
backend.
"""

from __future__ import annotations

import importlib
import logging
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.process import MAIN, PEERS, Process, serve

SYSTEMS = {
    "rushlight": "Rushlight",
    "rushlight_kernels": "Rushlight, kernels alone",
    "executorch": "ExecuTorch, kernels alone",
}


def worker(system: str, model: str) -> None:
    """Compiles once for every request, and answers with seconds, planned bytes and file bytes."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import torch
    from models.catalog import build

    compile_program = _compiler(system)
    case = build(model)

    def compile_once(_: Any) -> dict[str, float]:
        exported = torch.export.export(case.module, case.inputs)
        start = time.perf_counter()
        manager, data = compile_program(exported)
        seconds = time.perf_counter() - start
        planned = sum(manager.executorch_program.execution_plan[0].non_const_buffer_sizes)
        return {"seconds": seconds, "planned": planned + _arenas(system, data), "file": len(data)}

    serve(compile_once)


def _compiler(system: str) -> Callable[[Any], tuple[Any, bytes]]:
    """Returns a function from an exported program to its manager and the bytes of its file."""
    if system == "rushlight":
        import rushlight

        def with_backend(exported: Any) -> tuple[Any, bytes]:
            program = rushlight.compile(exported)
            return program.manager, program.buffer

        return with_backend
    exir = importlib.import_module(f"{system.removesuffix('_kernels')}.exir")

    def with_kernels(exported: Any) -> tuple[Any, bytes]:
        manager = exir.to_edge_transform_and_lower(exported).to_executorch()
        return manager, manager.buffer

    return with_kernels


def _arenas(system: str, data: bytes) -> int:
    """Returns bytes to add to the planned memory, so that it is comparable with that of other systems.

    These are the arenas of CpuBackend's plans, and inputs that the program reads without a copy.
    """
    if system != "rushlight":
        return 0
    from rushlight.backends.cpu.plan.payload import read_plan
    from rushlight.format.elements import tensor_nbytes
    from rushlight.format.program import Tensor
    from rushlight.format.pte import read_pte

    file = read_pte(data)
    plan = file.program.execution_plan[0]
    payloads = (file.delegate_data[delegate.processed.index] for delegate in plan.delegates)
    inputs = [plan.values[index].val for index in plan.inputs]
    elsewhere = [x for x in inputs if isinstance(x, Tensor) and x.allocation_info is None]
    return sum(read_plan(bytes(payload)).arena_bytes for payload in payloads) + sum(
        tensor_nbytes(x.scalar_type, x.sizes) or 0 for x in elsewhere
    )


def measure(model: str, rounds: int = 3) -> dict[str, dict[str, float]]:
    """Returns the medians by system."""
    processes = {
        system: Process(PEERS if system == "executorch" else MAIN, "benchmarks.compile_time", system, model)
        for system in SYSTEMS
    }
    answers: dict[str, list[dict[str, float]]] = {system: [] for system in processes}
    for _ in range(rounds):
        for system, process in processes.items():
            answer = process.ask({})
            answers[system] += [answer] if answer else []
    for process in processes.values():
        process.close()
    return {
        system: {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        for system, rows in answers.items()
        if rows
    }


if __name__ == "__main__":
    worker(*sys.argv[1:3])
