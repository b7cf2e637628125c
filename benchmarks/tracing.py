"""Measures the cost of event traces: `python -m benchmarks.tracing [--rounds N]` prints a table of ratios.

Each variant runs in its own process, and all of them run in turn. A ratio compares neighbouring turns of a
variant and of "off": a build with event tracing that records nothing. The variant "compiled out" needs the
build of `make untraced` with the target `_native`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.process import MAIN, ROOT, Process, serve

UNTRACED = ROOT / "build" / "untraced" / "runtime" / "python"
NETWORKS = ("digits", "mobilenet_v2")
# The number of calls in a turn. A turn starts with empty buffers, which store the events and values of its
# calls.
CALLS = {"digits": 300, "mobilenet_v2": 12}
VALUES = {"digits": 1 << 26, "mobilenet_v2": 1 << 30}
VARIANTS = {
    "off": {},
    "events": {"enable_etdump": True},
    "events and values": {"enable_etdump": True, "values": True},
    "compiled out": {},
}


def worker(variant: str) -> None:
    """Answers each request, the name of a network, with the median microseconds of a call."""
    if variant == "compiled out":
        from tests import native

        native.use(str(next(UNTRACED.glob("_native*.so"))))
    import torch
    from tests.interop.cases import build

    import rushlight
    from rushlight.runtime import Runtime

    torch.set_num_threads(1)
    options: dict[str, Any] = dict(VARIANTS[variant])
    records_values = options.pop("values", False)
    networks = {}
    for name in NETWORKS:
        module, inputs = build(name)
        networks[name] = rushlight.compile(module, inputs).buffer, inputs

    def measure(name: str) -> float:
        buffer, inputs = networks[name]
        size = VALUES[name] if records_values else 0
        program = Runtime.get().load_program(buffer, debug_buffer_size=size, threads=1, **options)
        method = program.load_method("forward")
        times = []
        for _ in range(CALLS[name]):
            start = time.perf_counter()
            method.execute(inputs)
            times.append((time.perf_counter() - start) * 1e6)
        return statistics.median(times[1:])

    serve(measure)


def measure(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Returns the microseconds of a call in each round, by network and variant."""
    variants = [name for name in VARIANTS if name != "compiled out" or any(UNTRACED.glob("_native*.so"))]
    processes = {name: Process(MAIN, "benchmarks.tracing", "--worker", name) for name in variants}
    found: dict[str, dict[str, list[float]]] = {network: {v: [] for v in variants} for network in NETWORKS}
    for round_ in range(rounds + 1):
        for network, times in found.items():
            for variant in variants if round_ % 2 == 0 else reversed(variants):
                answer = processes[variant].ask(network)
                if answer is None:
                    raise RuntimeError(f"the process of {variant!r} has ended")
                if round_ > 0:  # the first round warms the caches
                    times[variant].append(answer)
    for process in processes.values():
        process.close()
    return found


def table(found: dict[str, dict[str, list[float]]]) -> str:
    """Returns the medians as a table in Markdown."""
    lines = ["| network | variant | time, us | ratio to off |", "| --- | --- | --- | --- |"]
    for network, times in found.items():
        for variant, values in times.items():
            ratios = [mine / off for mine, off in zip(values, times["off"], strict=True)]
            time_, ratio = statistics.median(values), statistics.median(ratios)
            lines.append(f"| {network} | {variant} | {time_:.1f} | {ratio:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracing", description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=15, help="rounds; every variant has a turn in each (default: 15)"
    )
    parser.add_argument("--worker", choices=VARIANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        worker(options.worker)
    else:
        print(table(measure(options.rounds)))
