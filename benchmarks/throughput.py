"""python -m benchmarks.throughput [--models ...] [--callers 2]

Measures the calls per second of a network that several threads call at the same time. Each thread has its own
method (in other systems: session or interpreter), which uses one thread. All systems run in turn.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.catalog import MODELS
from models.field import FIELD
from rich.console import Console
from rich.table import Table

from benchmarks.latency import TOLERANCE, last_line, prepare, prepare_reference, relative_error
from benchmarks.options import add_files, add_patience, add_turns
from benchmarks.process import Process, serve
from benchmarks.results import Figures, describe_machine
from benchmarks.systems import SYSTEMS

OURS = "rushlight"
PEERS = ("onnxruntime", "openvino", "litert")
"""Peers that run several calls from Python at once. ExecuTorch holds the global interpreter lock."""
NETWORKS = ("mobilenet_v2", "resnet18", "bert", "deit_tiny")


@dataclass
class Row:
    """The calls per second of a network that several threads call at once."""

    model: str
    callers: int
    rate: float
    ratios: dict[str, float]
    """The calls per second of a peer divided by ours."""

    @property
    def key(self) -> tuple[object, ...]:
        return self.model, self.callers


def run(system: str, folder: str, files: str, callers: str) -> None:
    """Runs a worker process that answers {"seconds"} with the calls per second of all callers together."""
    from benchmarks.worker import arrays_of, module_of, save_outputs

    calls: list[Callable[[Sequence[Any]], Any]] = []
    inputs = arrays_of(Path(folder), "input")

    def load() -> bool:
        module, count = module_of(system), int(callers)
        if hasattr(module, "load_many"):
            calls.extend(module.load_many(Path(files), count))
        else:
            calls.extend(module.load(Path(files), 1) for _ in range(count))
        for call in calls:
            save_outputs(call(inputs), Path(files))
        return True

    def answer(request: dict[str, float]) -> float:
        start = threading.Barrier(len(calls) + 1)
        end = 0.0
        rates = [0.0] * len(calls)

        def work(index: int) -> None:
            start.wait()
            began, count = time.perf_counter(), 0
            while time.perf_counter() < end:
                calls[index](inputs)
                count += 1
            rates[index] = count / (time.perf_counter() - began)

        threads = [threading.Thread(target=work, args=(index,)) for index in range(len(calls))]
        for thread in threads:
            thread.start()
        end = time.perf_counter() + request["seconds"]
        start.wait()
        for thread in threads:
            thread.join()
        return sum(rates)

    serve(answer, hello=load)


def measure(model: str, options: argparse.Namespace, console: Console) -> Row | None:
    """Measures a network, and prints the reasons of failures."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep / model if options.keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        prepare_reference(model, folder, int8=False)
        workers: dict[str, Process] = {}
        for system in (OURS, *options.systems):
            row = prepare(system, model, folder, options.patience)
            if row.reason:
                console.print(f"{model}, {system}: {row.reason}", style="red", markup=False)
                continue
            log, files = folder / f"{system}.log", folder / system
            process = Process(
                SYSTEMS[system].python,
                "benchmarks.throughput",
                "run",
                system,
                str(folder),
                str(files),
                str(options.callers),
                log=log,
                threads=options.callers,
            )
            if process.answer() is None:
                console.print(f"{model}, {system}: {last_line(log)}", style="red", markup=False)
            elif (error := relative_error(files, folder)) > TOLERANCE:
                console.print(f"{model}: {system} has an error of {error:.1e}", style="red", markup=False)
            else:
                workers[system] = process
        rates: dict[str, list[float]] = {system: [] for system in workers}
        for turn in range(options.rounds):
            for system in list(workers)[:: 1 if turn % 2 else -1]:
                rates[system].append(workers[system].ask({"seconds": options.seconds}))
        for process in workers.values():
            process.close()
    if OURS not in rates:
        return None
    ratios = {
        system: statistics.median(peer / ours for peer, ours in zip(values, rates[OURS], strict=True))
        for system, values in rates.items()
        if system != OURS
    }
    return Row(model, options.callers, statistics.median(rates[OURS]), ratios)


def table(figures: Figures[Row]) -> Table:
    """Returns a table of all networks in the file."""
    result = Table(title="calls per second, and those of a peer divided by ours", title_justify="left")
    systems = list(dict.fromkeys(name for row in figures.rows for name in row.ratios))
    for name in ("network", "callers", "ours", *systems):
        result.add_column(name, justify="right")
    for row in figures.rows:
        cells = (f"{row.ratios[name]:.2f}" if name in row.ratios else "" for name in systems)
        result.add_row(row.model, str(row.callers), f"{row.rate:.1f}", *cells)
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__)
    parser.add_argument("--models", nargs="+", choices=(*MODELS, *FIELD), default=NETWORKS, metavar="model")
    parser.add_argument("--systems", nargs="*", choices=PEERS, default=PEERS, help="peers")
    parser.add_argument("--callers", type=int, default=2, help="threads that call at once (default: 2)")
    add_turns(parser, rounds=9, seconds=0.5)
    add_patience(parser, 600)
    add_files(parser, "throughput")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    figures = Figures.read(options.json, Row)
    figures.machine = describe_machine()
    for model in options.models:
        row = measure(model, options, console)
        if row is not None:
            figures.add([row])
            figures.write(options.json)
    console.print(table(figures))


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(*sys.argv[2:])
    else:
        main()
