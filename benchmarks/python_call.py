"""Measures a call from Python (a program that adds two scalars) and the import of the package."""

from __future__ import annotations

import importlib
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.process import MAIN, PEERS, Process, serve


def worker(package: str) -> None:
    """Answers every request with the median microseconds of a call of method.execute."""
    warnings.filterwarnings("ignore")
    import torch

    class Add(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x + y

    inputs = (torch.ones(1), torch.ones(1))
    exir, runtime = (importlib.import_module(f"{package}.{name}") for name in ("exir", "runtime"))
    buffer = exir.to_edge(torch.export.export(Add(), inputs)).to_executorch().buffer
    program = runtime.Runtime.get().load_program(buffer)
    method = program.load_method("forward")
    assert method.execute(inputs)[0].item() == 2

    def measure(_: Any) -> float:
        times = []
        for _ in range(200):
            start = time.perf_counter()
            for _ in range(50):
                method.execute(inputs)
            times.append((time.perf_counter() - start) / 50 * 1e6)
        return statistics.median(times)

    serve(measure)


def measure(rounds: int = 5) -> dict[str, float]:
    """Returns the median microseconds of a call, by package."""
    processes = {
        package: Process(python, "benchmarks.python_call", package)
        for package, python in (("rushlight", MAIN), ("executorch", PEERS))
    }
    answers: dict[str, list[float]] = {package: [] for package in processes}
    for _ in range(rounds):
        for package, process in processes.items():
            answer = process.ask({})
            answers[package] += [answer] if answer else []
    for process in processes.values():
        process.close()
    return {package: statistics.median(values) for package, values in answers.items() if values}


def import_seconds(statement: str, python: Path, rounds: int = 7) -> float:
    """Returns the median seconds of a statement in a fresh process, minus the time of an empty process."""
    differences = []
    for _ in range(rounds):
        times = []
        for code in ("pass", statement):
            start = time.perf_counter()
            subprocess.run([python, "-c", code], check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        differences.append(times[1] - times[0])
    return statistics.median(differences)


def measure_all() -> dict[str, float]:
    """Returns microseconds by "call, package", and seconds by import statement."""
    results = {f"call, {package}": microseconds for package, microseconds in measure().items()}
    for statement, python in (
        ("import numpy", MAIN),
        ("import rushlight", MAIN),
        ("import rushlight.runtime", MAIN),
        ("import executorch.runtime", PEERS),
    ):
        results[statement] = import_seconds(statement, python)
    return results


if __name__ == "__main__":
    worker(sys.argv[1])
