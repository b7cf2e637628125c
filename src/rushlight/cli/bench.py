"""`rushlight bench`: measures how long a method runs."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rushlight.cli.arguments import (
    Commands,
    add_program_options,
    at_least,
    count_text,
    load_method,
    load_program,
    method_name,
    read_inputs,
    size_text,
    time_text,
)
from rushlight.cli.interrupts import cancellable
from rushlight.cli.roofline import roofline
from rushlight.runtime import Method, _native


def add_to(commands: Commands) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "bench",
        help="measure how long a method runs",
        description="Runs a method again and again, and prints the times of loading, of the first run and of "
        "the other runs (median, best and 90th percentile), and the memory: the planned memory, the "
        "structures of the method and of its backends with their intermediate results, and the scratch "
        "memory of kernels.",
        epilog="example: rushlight bench model.pte --threads 4 --roofline",
    )
    add_program_options(parser)
    parser.add_argument(
        "--seconds",
        type=at_least(0.0),
        default=2.0,
        help="the duration of the measurement in seconds (default: 2)",
    )
    parser.add_argument(
        "--warmup",
        type=at_least(0),
        default=3,
        metavar="RUNS",
        help="the number of runs before the measurement (default: 3)",
    )
    parser.add_argument(
        "--roofline",
        action="store_true",
        help="also print the time of every step, and its share of the machine's peak arithmetic and memory "
        "speed",
    )
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> None:
    """Prints the times of loading, of the first run and of the other runs, and the bytes of memory."""
    start = time.perf_counter()
    program = load_program(options)
    method = load_method(program, options)
    loaded = time.perf_counter() - start
    inputs = read_inputs(method.metadata, options.inputs)
    first, runs = cancellable(
        method, lambda check: _measure(method, inputs, options.warmup, options.seconds, check)
    )
    low, median, high = (float(value) for value in np.percentile(runs, [0, 50, 90]))
    planned, structures, scratch = method.memory()
    memory = {"planned": planned, "structures": structures, "scratch": scratch}
    found = None
    if options.roofline:
        name = method_name(program.method_names, options)
        timed = program.load_timed_method(name)
        data = Path(options.program).read_bytes()
        threads = options.threads or _native.get_thread_count()
        found = roofline(data, timed, name, inputs, max(5, min(len(runs), 50)), threads)
    if options.json:
        facts = {
            "load_seconds": loaded,
            "first_run_seconds": first,
            "run_seconds": {"median": median, "best": low, "90th_percentile": high, "runs": len(runs)},
            "memory_bytes": memory,
        }
        print(json.dumps(facts if found is None else {**facts, "roofline": found.to_dict()}, indent=2))
        return
    print(f"load       {time_text(loaded)}")
    print(f"first run  {time_text(first)}")
    count = count_text(len(runs), "run")
    best, slow = time_text(low), time_text(high)
    print(f"run        {time_text(median)} median, {best} best, {slow} 90th percentile of {count}")
    print(f"memory     {', '.join(f'{size_text(size)} {kind}' for kind, size in memory.items())}")
    if found is not None:
        print("\n".join(found.lines()))


def _measure(
    method: Method, inputs: list[object], warmup: int, seconds: float, check: Callable[[], None]
) -> tuple[float, list[float]]:
    """Returns the seconds of the first run and of each run after the warm-up. Calls `check` between runs."""
    first = _timed(method.execute, inputs)
    for _ in range(warmup):
        check()
        method.execute(inputs)
    runs: list[float] = []
    end = time.perf_counter() + seconds
    while not runs or time.perf_counter() < end:
        check()
        runs.append(_timed(method.execute, inputs))
    return first, runs


def _timed(function: Callable[[list[Any]], object], inputs: list[object]) -> float:
    start = time.perf_counter()
    function(inputs)
    return time.perf_counter() - start
