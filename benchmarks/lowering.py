"""Measures the time to lower 4,000 operators to XnnpackBackend, in Rushlight and in ExecuTorch.

In the program "islands", an operator that the backend does not support follows every 80 nodes. In the program
"one", the backend runs all nodes in one part. Times are CPU seconds, which other programs disturb less.
"""

from __future__ import annotations

import importlib
import logging
import statistics
import sys
import time
import warnings
from typing import Any

from benchmarks.process import INTEROP, MAIN, Process, serve

COUNT = 4000
PACKAGES = {
    "rushlight": (MAIN, "rushlight.backends.xnnpack.partitioner"),
    "executorch": (INTEROP, "executorch.backends.xnnpack.partition.xnnpack_partitioner"),
}


def worker(package: str, kind: str, count: int) -> None:
    """Lowers the program once per request, and answers with CPU seconds and number of delegates."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import torch

    class Chain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.ParameterList([torch.randn(8) for _ in range(count // 8)])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x
            for i, weight in enumerate(self.weights):
                x = torch.sigmoid(x * weight + y)
                y = torch.tanh(y)
                x = torch.relu(x - y)
                x = torch.cumsum(x, 0) if kind == "islands" and i % 10 == 9 else torch.abs(x)
                x = x * y
            return x

    exir = importlib.import_module(f"{package}.exir")
    partitioner = importlib.import_module(PACKAGES[package][1]).XnnpackPartitioner
    exported = torch.export.export(Chain(), (torch.randn(4, 8),))

    def lower(_: Any) -> dict[str, float]:
        edge = exir.to_edge(exported)
        start = time.process_time()
        lowered = edge.to_backend(partitioner())
        seconds = time.process_time() - start
        nodes = lowered.exported_program().graph.nodes
        return {"seconds": seconds, "delegates": sum("lowered_module" in str(n.target) for n in nodes)}

    serve(lower)


def measure(kind: str, count: int, rounds: dict[str, int]) -> dict[str, dict[str, float]]:
    """Returns the medians by package."""
    processes = {
        package: Process(python, "benchmarks.lowering", package, kind, str(count))
        for package, (python, _) in PACKAGES.items()
        if python.exists()
    }
    answers: dict[str, list[dict[str, float]]] = {package: [] for package in processes}
    for turn in range(max(rounds.values())):
        for package, process in processes.items():
            answer = process.ask({}) if turn < rounds[package] else None
            answers[package] += [answer] if answer else []
    for process in processes.values():
        process.close()
    return {
        package: {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        for package, rows in answers.items()
        if rows
    }


def measure_all(count: int = COUNT) -> dict[str, dict[str, dict[str, float]]]:
    """Returns the medians by kind and package.

    ExecuTorch needs minutes for 4,000 operators, and runs once.
    """
    return {kind: measure(kind, count, {"rushlight": 3, "executorch": 1}) for kind in ("islands", "one")}


if __name__ == "__main__":
    worker(sys.argv[1], sys.argv[2], int(sys.argv[3]))
