"""Time to compile: to_edge_transform_and_lower(exported).to_executorch(), ours and ExecuTorch's in turn."""

from __future__ import annotations

import importlib
import logging
import statistics
import sys
import time
import warnings
from typing import Any

from benchmarks.process import MAIN, PEERS, Process, serve


def worker(package: str, model: str) -> None:
    """Answers every request with the seconds, planned bytes and file bytes of one compilation."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import torch

    from benchmarks.models import build

    exir = importlib.import_module(f"{package}.exir")
    case = build(model)

    def compile_once(_: Any) -> dict[str, float]:
        exported = torch.export.export(case.module, case.inputs)
        start = time.perf_counter()
        program = exir.to_edge_transform_and_lower(exported).to_executorch()
        seconds = time.perf_counter() - start
        planned = sum(program.executorch_program.execution_plan[0].non_const_buffer_sizes)
        return {"seconds": seconds, "planned": planned, "file": len(program.buffer)}

    serve(compile_once)


def measure(model: str, rounds: int = 3) -> dict[str, dict[str, float]]:
    """Medians by package."""
    processes = {
        package: Process(python, "benchmarks.compile_time", package, model)
        for package, python in (("rushlight", MAIN), ("executorch", PEERS))
    }
    answers: dict[str, list[dict[str, float]]] = {package: [] for package in processes}
    for _ in range(rounds):
        for package, process in processes.items():
            answer = process.ask({})
            answers[package] += [answer] if answer else []
    for process in processes.values():
        process.close()
    return {
        package: {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        for package, rows in answers.items()
        if rows
    }


if __name__ == "__main__":
    worker(*sys.argv[1:3])
