"""Measures whole networks in all systems.

Each system prepares a network once. The systems then run in turn, and their outputs are compared with those
of eager PyTorch.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.process import MAIN, ROOT, Process
from benchmarks.systems import SYSTEMS
from benchmarks.worker import arrays_of

# The tolerance of float32 systems: the largest difference from eager PyTorch, relative to the largest
# magnitude.
TOLERANCE = 1e-3


@dataclass
class Row:
    """The figures of a system with a model. If there is no time, `reason` contains the cause."""

    model: str
    threads: int
    system: str
    milliseconds: float | None = None  # median
    best: float | None = None  # milliseconds, the tenth percentile, which other programs disturb least
    cpu: float | None = None  # milliseconds of processor time of all threads, the tenth percentile
    first: float | None = None  # milliseconds of the first run
    load: float | None = None  # seconds to load, imports included
    cold: float | None = None  # seconds from the start of a process to its first result, median
    write: float | None = None  # seconds to prepare the program ahead of time, export included
    file: int | None = None  # bytes
    resident: int | None = None  # peak memory in bytes after the first run
    error: float | None = None  # difference from eager PyTorch, relative to the largest magnitude
    agreement: float | None = (
        None  # int8 only: share of samples with the same index of the largest output as eager PyTorch
    )
    reason: str = ""


@dataclass(frozen=True)
class Plan:
    """Which systems are measured, and how often."""

    systems: Sequence[str]
    threads: Sequence[int] = (1, 2)
    rounds: int = 12
    seconds: float = 0.25  # measured time of a system in a round
    cold_rounds: int = 5
    patience: float = 1800  # time limit in seconds for preparing a model
    keep: Path | None = None  # the folder that keeps prepared programs for later runs


@dataclass
class _Worker:
    row: Row
    process: Process
    times: list[tuple[float, float]] = field(default_factory=list)
    """Elapsed and processor time of each run, in milliseconds."""


def measure(model: str, plan: Plan, tell: Callable[[str], None] = print) -> Iterator[list[Row]]:
    """Yields, for each thread count, the rows in the order of `plan.systems`."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = plan.keep / model if plan.keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        int8 = any(SYSTEMS[system].int8 for system in plan.systems)
        prepare_reference(model, folder, int8)
        written = []
        for system in plan.systems:
            tell(f"{model}: preparing {system}")
            written.append(prepare(system, model, folder, plan.patience))
        for threads in plan.threads:
            block = [dataclasses.replace(row, threads=threads) for row in written]
            tell(f"{model}: {threads} thread{'s' if threads > 1 else ''}")
            _run(block, folder, plan)
            if threads == plan.threads[-1] and plan.cold_rounds:
                tell(f"{model}: fresh processes")
                _start_cold(block, folder, plan.cold_rounds)
            yield block


def prepare_reference(model: str, folder: Path, int8: bool) -> None:
    """Saves inputs of a network and the outputs of eager PyTorch in `folder`.

    Raises:
        RuntimeError: the network does not run in eager PyTorch.
    """
    log = folder / "log"
    kind = "int8" if int8 else "float"
    process = Process(MAIN, "benchmarks.worker", "reference", model, str(folder), kind, log=log)
    if process.answer() is None:
        raise RuntimeError(f"{model} does not run: {last_line(log)}")
    process.close()


def prepare(system: str, model: str, folder: Path, patience: float) -> Row:
    """Prepares a network for a system in `folder`, unless the folder already has the files.

    Returns:
        A row with the time and the size of the files, or with the reason of the failure.
    """
    row = Row(model, 0, system)
    files, log, done = folder / system, folder / f"{system}.log", folder / f"{system}.json"
    if done.exists():
        answer = json.loads(done.read_text())
    else:
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir()
        arguments = ("write", system, model, str(files))
        process = Process(SYSTEMS[system].python, "benchmarks.worker", *arguments, log=log)
        answer = process.answer(patience)
        process.close()
        if answer is None:
            row.reason = f"cannot prepare it: {last_line(log)}"
            if process.was_late:
                row.reason = f"has not prepared it in {patience:.0f} s"
            return row
        done.write_text(json.dumps(answer))
    row.write, row.file = answer["seconds"], answer["bytes"]
    return row


def _start(row: Row, folder: Path) -> Process | None:
    """Starts a process and waits for its first result. On failure it returns None and sets `row.reason`."""
    files, log = folder / row.system, folder / f"{row.system}.log"
    python, threads = SYSTEMS[row.system].python, row.threads
    arguments = ("run", row.system, str(folder), str(files), str(threads))
    process = Process(python, "benchmarks.worker", *arguments, log=log, threads=threads)
    answer = process.answer()
    if answer is None:
        process.close()
        row.reason = f"cannot run it: {last_line(log)}"
        return None
    row.load, row.first, row.resident = answer["load"], answer["first"], answer["resident"]
    return process


def _run(block: list[Row], folder: Path, plan: Plan) -> None:
    workers = []
    for row in _able(block):
        process = _start(row, folder)
        if process is not None:
            row.error = relative_error(folder / row.system, folder)
            workers.append(_Worker(row, process))
    for turn in range(plan.rounds):
        for worker in workers:
            if not SYSTEMS[worker.row.system].is_slow or turn == 0:
                worker.times += worker.process.ask({"run": plan.seconds, "cpu": True}) or []
    for worker in workers:
        row = worker.row
        if worker.times:
            passed, used = zip(*worker.times, strict=True)
            row.milliseconds = statistics.median(passed)
            row.best, row.cpu = float(np.percentile(passed, 10)), float(np.percentile(used, 10))
        else:
            row.reason = "ended while it was running"
        if SYSTEMS[row.system].int8:
            row.agreement = worker.process.ask({"agree": True})
        worker.process.close()


def _start_cold(block: list[Row], folder: Path, rounds: int) -> None:
    """Measures the time from the start of a fresh process to its first result, all systems in turn."""
    times: dict[str, list[float]] = {row.system: [] for row in _able(block)}
    for _ in range(rounds):
        for row in _able(block):
            start = time.perf_counter()
            process = _start(dataclasses.replace(row), folder)
            if process is not None:
                times[row.system].append(time.perf_counter() - start)
                process.close()
    for row in block:
        if times.get(row.system):
            row.cold = statistics.median(times[row.system])


def _able(block: list[Row]) -> Iterator[Row]:
    return (row for row in block if not row.reason)


def relative_error(folder: Path, reference: Path) -> float:
    """Returns the largest difference divided by the largest magnitude, or infinity if shapes differ."""
    worst = 0.0
    outputs, expectations = arrays_of(folder, "output"), arrays_of(reference, "output")
    if [x.shape for x in outputs] != [x.shape for x in expectations]:
        return float("inf")
    for output, expected in zip(outputs, expectations, strict=True):
        difference = np.abs(output.astype(np.float64) - expected).max()
        worst = max(worst, float(difference / max(np.abs(expected).max(), 1e-30)))
    return worst


def last_line(log: Path) -> str:
    """Returns the last line of a log, which contains the exception. Paths are relative to the repository."""
    text = log.read_text(errors="replace").replace(f"{ROOT}/", "")
    lines = [line.strip() for line in text.splitlines()]
    said = [
        line for line in lines if line and not line.startswith(("Set TORCH", "For more", "Failed to load"))
    ]
    errors = [line for line in said if "Error" in line.split(":")[0] or "Exception" in line.split(":")[0]]
    chosen = list(dict.fromkeys([*errors[:1], *errors[-1:]])) or said[-1:]  # the cause, and what came of it
    return "; ".join(chosen)[:300] or "no message"
