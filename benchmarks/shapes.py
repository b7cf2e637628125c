"""python -m benchmarks.shapes [--models ...] [--threads 1 2]

Measures networks with a dynamic size. For each size it compares the program for all sizes with a program that
was compiled for this size only, and with the programs of the peers for all sizes. All of them run in turn.
Times are processor times with one thread, and elapsed times with more threads.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.latency import TOLERANCE, last_line
from benchmarks.options import add_files, add_turns
from benchmarks.process import MAIN, Process, serve
from benchmarks.results import Figures, describe_machine
from benchmarks.systems import SYSTEMS
from benchmarks.worker import module_of, not_loaded

if TYPE_CHECKING:
    from models.catalog import Case

OURS = "rushlight"
PEERS = ("onnxruntime", "openvino")
ANY = 0
"""A value for `size` that means a program for all sizes."""


@dataclass(frozen=True)
class Sweep:
    """The dynamic size of a network, and the sizes to measure."""

    sizes: tuple[int, ...]
    dimensions: tuple[int, ...]
    """The dimensions of the only input that have this size."""
    least: int
    largest: int
    multiple: int = 1


SWEEPS = {
    "bert": Sweep((17, 64, 100, 128, 256, 384, 512), (1,), 2, 512),
    "mobilenet_v2": Sweep((160, 224, 320, 480, 640), (2, 3), 160, 640, 32),
    "resnet18": Sweep((160, 224, 320, 480, 640), (2, 3), 160, 640, 32),
    "mobilenet_v3_small": Sweep((160, 224, 320, 480, 640), (2, 3), 160, 640, 32),
}
"""The measured networks of `models.catalog`. Each has one input."""


@dataclass
class Row:
    """The figures of a network for one size."""

    model: str
    threads: int
    size: int
    milliseconds: float
    ratios: dict[str, float]
    """Our time divided by that of our program for this size only ("rushlight"), or of a peer's program."""

    @property
    def key(self) -> tuple[object, ...]:
        return self.model, self.threads, self.size


def case_of(model: str, size: int) -> Case:
    """Returns the network for inputs of `size`, or for all sizes of its sweep if `size` is ANY."""
    import torch
    from models.catalog import build

    sweep, case = SWEEPS[model], build(model)
    if size == ANY:
        count = torch.export.Dim(
            "size", min=max(sweep.least // sweep.multiple, 2), max=sweep.largest // sweep.multiple
        )
        dynamic = {dimension: sweep.multiple * count for dimension in sweep.dimensions}
        return dataclasses.replace(case, dynamic_shapes=(dynamic,))
    return dataclasses.replace(case, inputs=(resized(case.inputs[0], size, sweep),))


def resized(example: Any, size: int, sweep: Sweep) -> Any:
    """Returns an input of `size`, which repeats or truncates the values of the example."""
    for dimension in sweep.dimensions:
        example = example.repeat_interleave(-(-size // example.shape[dimension]), dim=dimension)
        example = example.narrow(dimension, 0, size)
    return example.contiguous()


def write(system: str, model: str, size: str, folder: str) -> None:
    """Runs a worker process that prepares a program."""

    def prepare() -> bool:
        import logging

        case = case_of(model, int(size))
        logging.disable(logging.WARNING)
        module_of(system).write(case, Path(folder), SYSTEMS[system].options)
        return True

    serve(lambda _: None, hello=prepare)


def reference(model: str, folder: str) -> None:
    """Runs a worker process that saves the inputs and the outputs of eager PyTorch."""

    def prepare() -> bool:
        import torch

        for size in SWEEPS[model].sizes:
            case = case_of(model, size)
            with torch.no_grad():
                output = case.module(*case.inputs)
            np.save(Path(folder) / f"input_{size}.npy", case.inputs[0].numpy())
            np.save(Path(folder) / f"output_{size}.npy", output.numpy())
        return True

    serve(lambda _: None, hello=prepare)


def run(system: str, files: str, folder: str, threads: str) -> None:
    """Runs a worker process that executes a program.

    It answers {"size", "seconds"} with times in ms, and {"check": size} with the error against eager PyTorch.
    """
    import time

    call: Callable[[Sequence[Any]], Any] = not_loaded

    def load() -> bool:
        nonlocal call
        call = module_of(system).load(Path(files), int(threads))
        return True

    def answer(request: dict[str, Any]) -> Any:
        if "check" in request:
            expected = np.load(Path(folder) / f"output_{request['check']}.npy")
            found = np.asarray(call([np.load(Path(folder) / f"input_{request['check']}.npy")])[0])
            if found.shape != expected.shape:
                return float("inf")
            return float(np.abs(found - expected).max() / np.abs(expected).max())
        inputs = [np.load(Path(folder) / f"input_{request['size']}.npy")]
        call(inputs)
        times: list[float] = []
        end = time.perf_counter() + request["seconds"]
        clock = time.process_time if int(threads) == 1 else time.perf_counter
        while not times or time.perf_counter() < end:
            start = clock()
            call(inputs)
            times.append((clock() - start) * 1e3)
        return times

    serve(answer, hello=load)


def measure(model: str, threads: int, options: argparse.Namespace, console: Console) -> list[Row]:
    """Measures a network for all sizes of its sweep, and prints the reasons of failures."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep / model if options.keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        eager = Process(MAIN, "benchmarks.shapes", "reference", model, str(folder), log=folder / "log")
        if eager.answer() is None:
            console.print(f"{model}, eager: {last_line(folder / 'log')}", style="red", markup=False)
            return []
        eager.close()
        sizes = SWEEPS[model].sizes
        programs = [
            (OURS, ANY),
            *((name, ANY) for name in options.systems),
            *((OURS, size) for size in sizes),
        ]
        workers: dict[tuple[str, int], Process] = {}
        for system, size in programs:
            process = _worker(system, model, size, folder, threads)
            if process is None:
                console.print(f"{model}, {system}: {last_line(folder / 'log')}", style="red", markup=False)
            else:
                workers[system, size] = process
        rows = [Row(model, threads, size, *_ratios(workers, size, options, console)) for size in sizes]
        for process in workers.values():
            process.close()
    return rows


def _worker(system: str, model: str, size: int, folder: Path, threads: int) -> Process | None:
    """Prepares a program unless `folder` has it, and starts a process that executes it.

    Returns:
        The process; None if it failed. The reason is in the last line of the log file.
    """

    def start(command: str, *arguments: str) -> Process | None:
        python, log = SYSTEMS[system].python, folder / "log"
        process = Process(python, "benchmarks.shapes", command, *arguments, log=log, threads=threads)
        return None if process.answer() is None else process

    files = folder / f"{system}-{size}"
    if not (files / "done").exists():
        files.mkdir(exist_ok=True)
        process = start("write", system, model, str(size), str(files))
        if process is None:
            return None
        process.close()
        (files / "done").touch()
    return start("run", system, str(files), str(folder), str(threads))


def table(rows: Sequence[Row]) -> Table:
    """Returns a table of the rows of one network and number of threads."""
    systems = list(dict.fromkeys(name for row in rows for name in row.ratios))
    result = Table(title=f"{rows[0].model}, threads: {rows[0].threads}", title_justify="left")
    for name in ("size", "ours, ms", *("/ one size" if name == OURS else f"/ {name}" for name in systems)):
        result.add_column(name, justify="right")
    for row in rows:
        cells = (f"{row.ratios[name]:.2f}" if name in row.ratios else "" for name in systems)
        result.add_row(str(row.size), f"{row.milliseconds:.2f}", *cells)
    return result


def _ratios(
    workers: dict[tuple[str, int], Process], size: int, options: argparse.Namespace, console: Console
) -> tuple[float, dict[str, float]]:
    """Returns our time in ms for a size, and its ratio to the time of each program with correct results."""
    chosen = [(OURS, ANY), (OURS, size), *((name, ANY) for name in options.systems)]
    errors = {key: workers[key].ask({"check": size}) for key in chosen if key in workers}
    times: dict[tuple[str, int], list[float]] = {key: [] for key in errors}
    for turn in range(options.rounds):
        for key in list(times)[:: 1 if turn % 2 else -1]:
            found = workers[key].ask({"size": size, "seconds": options.seconds})
            times[key].append(statistics.median(found))
    ours = times[OURS, ANY]
    ratios = {}
    for key, error in errors.items():
        if error is None or not error <= TOLERANCE:
            console.print(f"{key[0]} has wrong results for size {size}", style="red", markup=False)
        elif key != (OURS, ANY):
            ratios[key[0]] = statistics.median(a / b for a, b in zip(ours, times[key], strict=True))
    return statistics.median(ours), ratios


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shapes", description=__doc__)
    parser.add_argument("--models", nargs="+", choices=tuple(SWEEPS), default=tuple(SWEEPS))
    parser.add_argument("--systems", nargs="*", choices=PEERS, default=PEERS, help="peers")
    parser.add_argument("--threads", nargs="+", type=int, default=[1])
    add_turns(parser, rounds=7, seconds=0.2, what="program")
    add_files(parser, "shapes")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    figures = Figures.read(options.json, Row)
    figures.machine = describe_machine()
    for model in options.models:
        for threads in options.threads:
            rows = measure(model, threads, options, console)
            if rows:
                figures.add(rows)
                figures.write(options.json)
                console.print(table(rows))


if __name__ == "__main__":
    workers: dict[str, Callable[..., None]] = {"write": write, "reference": reference, "run": run}
    if sys.argv[1:2] and sys.argv[1] in workers:
        workers[sys.argv[1]](*sys.argv[2:])
    else:
        main()
