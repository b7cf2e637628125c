"""Latency of whole networks, all systems interleaved."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

ROOT = Path(__file__).parents[1]
MAIN = ROOT / ".venv" / "bin" / "python"
INTEROP = ROOT / ".venv-interop" / "bin" / "python"
PYTHON_OF = {"executorch_portable": INTEROP, "executorch_xnnpack": INTEROP}
# Systems too slow to be run as often as the others.
SLOW = {"executorch_portable"}


@dataclass
class Worker:
    system: str
    process: subprocess.Popen[str]
    folder: Path
    milliseconds: list[float] = field(default_factory=list)
    first: float = 0.0

    def ask(self, seconds: float) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        stdin.write(json.dumps({"run": seconds}) + "\n")
        stdin.flush()

    def answer(self) -> dict[str, object] | None:
        stdout: IO[str] | None = self.process.stdout
        assert stdout is not None
        line = stdout.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


def start(system: str, model: str, threads: int, folder: Path) -> Worker:
    folder.mkdir(parents=True)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(threads)}
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [str(PYTHON_OF.get(system, MAIN)), "-m", "benchmarks.worker", system, model, str(threads), str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, cwd=ROOT,
    )  # fmt: skip
    return Worker(system, process, folder)


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
        workers: list[Worker] = []
        for system in systems:
            worker = start(system, model, threads, Path(scratch) / system)
            ready = worker.answer()
            if ready is None:
                tail = (worker.folder / "log").read_text().strip().splitlines()[-1:]
                print(f"{system} cannot run {model}: {' '.join(tail)}")
                worker.close()
                continue
            worker.first = float(str(ready["first"]))
            outputs = int(str(ready["outputs"]))
            workers.append(worker)
        for turn in range(rounds):
            for worker in workers:
                if worker.system in SLOW and turn >= 1:
                    continue
                worker.ask(seconds)
                answer = worker.answer()
                if answer is not None:
                    worker.milliseconds += answer["milliseconds"]  # type: ignore[operator]
        reference = Path(scratch) / "eager"
        for worker in workers:
            median = statistics.median(worker.milliseconds)
            error = relative_error(worker.folder, reference, outputs)
            rows.append(Row(model, threads, worker.system, median, worker.first, error))
            worker.close()
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
