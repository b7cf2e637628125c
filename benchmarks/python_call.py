"""What a call costs from Python: a program that adds two scalars, and the import."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time

from benchmarks.latency import INTEROP, MAIN, ROOT


def worker(package: str) -> None:
    """Answers every line on standard input with the median microseconds of one call of method.execute."""
    import importlib
    import warnings

    warnings.filterwarnings("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import torch

    class Add(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x + y

    inputs = (torch.ones(1), torch.ones(1))
    buffer = (
        importlib.import_module(f"{package}.exir")
        .to_edge(torch.export.export(Add(), inputs))
        .to_executorch()
        .buffer
    )
    program = importlib.import_module(f"{package}.runtime").Runtime.get().load_program(buffer)
    method = program.load_method("forward")
    assert method.execute(inputs)[0].item() == 2
    for _ in sys.stdin:
        times = []
        for _ in range(200):
            start = time.perf_counter()
            for _ in range(50):
                method.execute(inputs)
            times.append((time.perf_counter() - start) / 50 * 1e6)
        answers.write(json.dumps(statistics.median(times)) + "\n")
        answers.flush()


def measure(rounds: int = 5) -> dict[str, float]:
    """Median microseconds of a call, by package."""
    workers = {}
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for package, python in (("rushlight", MAIN), ("executorch", INTEROP)):
        workers[package] = subprocess.Popen(
            [str(python), "-m", "benchmarks.python_call", package],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=ROOT,
        )  # fmt: skip
    answers: dict[str, list[float]] = {package: [] for package in workers}
    for _ in range(rounds):
        for package, process in workers.items():
            assert process.stdin and process.stdout
            process.stdin.write("\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if line:
                answers[package].append(json.loads(line))
    for process in workers.values():
        process.communicate()
    return {package: statistics.median(values) for package, values in answers.items() if values}


def import_seconds(statement: str, python: str, rounds: int = 7) -> float:
    """Median seconds of a statement in a fresh process, less an empty process."""

    def run(code: str) -> float:
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            subprocess.run([python, "-c", code], check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    return run(statement) - run("pass")


def table() -> str:
    calls = measure()
    lines = [
        f"call of a program that adds two scalars: {package:12}{value:8.2f} us"
        for package, value in calls.items()
    ]
    if len(calls) == 2:
        lines.append(f"  ours/theirs {calls['rushlight'] / calls['executorch']:.3f}")
    for statement, python in (
        ("import numpy", MAIN),
        ("import rushlight", MAIN),
        ("import rushlight.runtime", MAIN),
        ("import executorch.runtime", INTEROP),
    ):
        lines.append(f"{statement:30}{import_seconds(statement, str(python)):8.3f} s")
    return "\n".join(lines)


if __name__ == "__main__":
    worker(sys.argv[1])
