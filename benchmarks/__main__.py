"""python -m benchmarks [float] [int8] [quantization] [compile] [lowering] [chains] [call]

Compares Rushlight with other systems (the peers), which run in turn. It prints tables and writes the figures
to a JSON file. A later run of other models or systems adds its figures to this file.
`python -m benchmarks.report` writes docs/benchmarks.md from such files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from models.catalog import INT8, MODELS, WIDE
from rich.console import Console

from benchmarks import chains, compile_time, latency, lowering, python_call, quantization, show
from benchmarks.process import ROOT
from benchmarks.results import Results, describe_machine
from benchmarks.systems import DEFAULT, DEFAULT_INT8, SYSTEMS
from benchmarks.without_avx512 import keep_from_avx512

KINDS = ("float", "int8", "quantization", "compile", "lowering", "chains", "call")
QUICK = ("mobilenet_v2", "bert")


def options_of(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "kinds", nargs="*", metavar="kind", help=f"kinds of measurement: {', '.join(KINDS)}; all by default"
    )
    parser.add_argument(
        "--models",
        nargs="+",
        metavar="model",
        help=f"models: {', '.join(MODELS)}, or the group wide ({', '.join(WIDE)}); "
        "by default all that are not in wide",
    )
    parser.add_argument("--systems", nargs="+", metavar="system", help=f"systems: {', '.join(SYSTEMS)}")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument(
        "--rounds", type=int, default=12, help="rounds; every system has a turn in each (default: 12)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.25, help="measured seconds of a system in a round (default: 0.25)"
    )
    parser.add_argument(
        "--cold-rounds", type=int, default=5, help="fresh processes of every system (default: 5)"
    )
    parser.add_argument(
        "--patience", type=float, default=1800, help="time limit in seconds for preparing a model"
    )
    parser.add_argument("--quick", action="store_true", help=f"{' and '.join(QUICK)}, few rounds")
    parser.add_argument("--keep", type=Path, help="a folder that keeps prepared programs for later runs")
    parser.add_argument(
        "--without-avx512",
        action="store_true",
        help="prevent all systems from using AVX-512; use other names for --json and --keep",
    )
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench.json")
    options = parser.parse_args(arguments)
    if options.models == ["wide"]:
        options.models = list(WIDE)
    for given, known in ((options.kinds, KINDS), (options.models, MODELS), (options.systems, SYSTEMS)):
        for name in given or ():
            if name not in known:
                parser.error(f"unknown {name}; choose from {', '.join(known)}")
    return options


def main(arguments: list[str] | None = None) -> None:
    options = options_of(arguments)
    if options.without_avx512:
        keep_from_avx512(ROOT / "build" / "peers-without-avx512")
    console = Console(width=None if sys.stdout.isatty() else 140)
    kinds = options.kinds or KINDS
    models: Sequence[str] = options.models or (
        QUICK if options.quick else [m for m in MODELS if m not in WIDE]
    )
    plan = latency.Plan(
        (),
        options.threads,
        rounds=3 if options.quick else options.rounds,
        seconds=0.1 if options.quick else options.seconds,
        cold_rounds=1 if options.quick else options.cold_rounds,
        patience=options.patience,
        keep=options.keep,
    )
    results = Results.read(options.json)
    results.machine = describe_machine(options.without_avx512)
    if "float" in kinds:
        _networks(models, False, options.systems or DEFAULT, plan, results, options.json, console)
    if "int8" in kinds:
        chosen = [model for model in models if model in INT8]
        _networks(chosen, True, options.systems or DEFAULT_INT8, plan, results, options.json, console)
    if "quantization" in kinds:
        results.quantization = quantization.measure(folds=1 if options.quick else 5)
        results.write(options.json)
        for head, *rows in results.quantization:
            console.print(quantization.text(head, rows), highlight=False)
    if "compile" in kinds:
        for model in models:
            console.print(f"[dim]{model}: compile time[/dim]")
            results.compile[model] = compile_time.measure(model, 1 if options.quick else 3)
            results.write(options.json)
        console.print(show.compile_time(results))
    if "lowering" in kinds:
        results.lowering = lowering.measure_all(500 if options.quick else lowering.COUNT)
        results.write(options.json)
        console.print(show.lowering(results))
    if "chains" in kinds:
        console.print(chains.table((250, 1000) if options.quick else chains.SIZES), highlight=False)
    if "call" in kinds:
        results.call = python_call.measure_all()
        results.write(options.json)
        console.print(show.calls(results))
    console.print(f"written: {options.json}")


def _networks(
    models: Sequence[str],
    int8: bool,
    systems: Sequence[str],
    plan: latency.Plan,
    results: Results,
    path: Path,
    console: Console,
) -> None:
    chosen = [name for name in systems if SYSTEMS[name].int8 == int8]
    for model in models:
        for rows in latency.measure(model, plan.of(chosen), lambda text: console.print(f"[dim]{text}[/dim]")):
            results.add(rows)
            results.write(path)
            console.print(show.block(results, model, rows[0].threads, int8))


if __name__ == "__main__":
    main()
