"""Latency of whole networks, all systems interleaved."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.process import INTEROP, MAIN, Process

PYTHON_OF = dict.fromkeys(("executorch_portable", "executorch_xnnpack", "executorch_xnnpack_int8"), INTEROP)
# Systems too slow to be run as often as the others.
SLOW = {"executorch_portable"}


@dataclass
class Worker:
    system: str
    process: Process
    folder: Path
    first: float
    outputs: int
    milliseconds: list[float] = field(default_factory=list)


def start(system: str, model: str, threads: int, folder: Path) -> Worker | None:
    """None, after a line that says why, if the system cannot run the model."""
    folder.mkdir(parents=True)
    arguments = (system, model, str(threads), str(folder))
    log = folder / "log"
    process = Process(PYTHON_OF.get(system, MAIN), "benchmarks.worker", *arguments, log=log, threads=threads)
    ready = process.answer()
    if ready is None:
        process.close()
        print(f"{system} cannot run {model}: {' '.join(log.read_text().strip().splitlines()[-1:])}")
        return None
    return Worker(system, process, folder, ready["first"], ready["outputs"])


def relative_error(folder: Path, reference: Path, outputs: int) -> float:
    """Largest difference over the largest magnitude, over all outputs."""
    worst = 0.0
    for i in range(outputs):
        expected = np.load(reference / f"output_{i}.npy").astype(np.float64)
        got = np.load(folder / f"output_{i}.npy").astype(np.float64)
        worst = max(worst, float(np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-30)))
    return worst


@dataclass
class Row:
    model: str
    threads: int
    system: str
    milliseconds: float  # median
    first: float  # the first call
    error: float  # against eager, relative to the largest magnitude


def measure(
    model: str, systems: list[str], threads: int, rounds: int = 12, seconds: float = 0.25
) -> list[Row]:
    """Rows in the order of `systems`; `eager` is always run, as the reference of the outputs."""
    if "eager" not in systems:
        systems = [*systems, "eager"]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        started = (start(system, model, threads, Path(scratch) / system) for system in systems)
        workers = [worker for worker in started if worker is not None]
        for turn in range(rounds):
            for worker in workers:
                if worker.system not in SLOW or turn == 0:
                    worker.milliseconds += worker.process.ask({"run": seconds}) or []
        reference = Path(scratch) / "eager"
        for worker in workers:
            median = statistics.median(worker.milliseconds)
            error = relative_error(worker.folder, reference, worker.outputs)
            rows.append(Row(model, threads, worker.system, median, worker.first, error))
            worker.process.close()
    return rows


def table(rows: list[Row], base: str = "rushlight_kernels") -> str:
    """One block a model and thread count: median, ratio of our time to theirs, error against eager."""
    lines = []
    for key in dict.fromkeys((row.model, row.threads) for row in rows):
        block = [row for row in rows if (row.model, row.threads) == key]
        ours = next((row.milliseconds for row in block if row.system == base), None)
        lines.append(f"{key[0]}, {key[1]} thread{'s' if key[1] > 1 else ''}")
        for row in block:
            ratio = f"{ours / row.milliseconds:8.3f}" if ours else f"{'':8}"
            lines.append(
                f"  {row.system:22}{row.milliseconds:10.3f} ms   ours/theirs {ratio}   error {row.error:.1e}"
            )
    return "\n".join(lines)
