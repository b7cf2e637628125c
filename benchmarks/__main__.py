"""python -m benchmarks [float] [int8] [quantization] [compile] [lowering] [chains] [call]

Compares Rushlight with other systems (the peers), which run in turn. It prints tables and writes the figures
to a JSON file. A later run of other models or systems adds its figures to this file.
`python -m benchmarks.report` writes docs/benchmarks.md from such files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from models.catalog import INT8, MODELS, WIDE
from rich.console import Console

from benchmarks import chains, compile_time, latency, lowering, python_call, quantization, show
from benchmarks.options import add_files, add_patience, add_turns, printer
from benchmarks.process import ROOT
from benchmarks.results import Results, describe_machine
from benchmarks.systems import DEFAULT, DEFAULT_INT8, SYSTEMS
from benchmarks.without_avx512 import keep_from_avx512

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
    add_turns(parser, rounds=12, seconds=0.25)
    parser.add_argument(
        "--cold-rounds", type=int, default=5, help="fresh processes of every system (default: 5)"
    )
    add_patience(parser, 1800)
    parser.add_argument("--quick", action="store_true", help=f"{' and '.join(QUICK)}, few rounds")
    parser.add_argument(
        "--without-avx512",
        action="store_true",
        help="prevent all systems from using AVX-512; use other names for --json and --keep",
    )
    add_files(parser, "bench")
    options = parser.parse_args(arguments)
    if options.models == ["wide"]:
        options.models = list(WIDE)
    for given, known in ((options.kinds, KINDS), (options.models, MODELS), (options.systems, SYSTEMS)):
        for name in given or ():
            if name not in known:
                parser.error(f"unknown {name}; choose from {', '.join(known)}")
    return options


class _Session:
    """One run of the command: measures, and writes the figures file after each model.

    Args:
        options: the options of the command line.
        console: prints tables.
    """

    def __init__(self, options: argparse.Namespace, console: Console) -> None:
        self.options, self.console = options, console
        self.quick: bool = options.quick
        self.results = Results.read(options.json)
        self.results.machine = describe_machine(options.without_avx512)
        self.models: Sequence[str] = options.models or (
            QUICK if self.quick else [model for model in MODELS if model not in WIDE]
        )

    def float32(self) -> None:
        self._networks(self.models, False, self.options.systems or DEFAULT)

    def int8(self) -> None:
        models = [model for model in self.models if model in INT8]
        self._networks(models, True, self.options.systems or DEFAULT_INT8)

    def _networks(self, models: Sequence[str], int8: bool, systems: Sequence[str]) -> None:
        options = self.options
        plan = latency.Plan(
            [name for name in systems if SYSTEMS[name].int8 == int8],
            options.threads,
            rounds=3 if self.quick else options.rounds,
            seconds=0.1 if self.quick else options.seconds,
            cold_rounds=1 if self.quick else options.cold_rounds,
            patience=options.patience,
            keep=options.keep,
        )
        for model in models:
            for rows in latency.measure(model, plan, printer(self.console)):
                self.results.add(rows)
                self._write()
                self.console.print(show.block(self.results, model, rows[0].threads, int8))

    def quantization(self) -> None:
        self.results.quantization = quantization.measure(folds=1 if self.quick else 5)
        self._write()
        for head, *rows in self.results.quantization:
            self.console.print(quantization.text(head, rows), highlight=False)

    def compile_times(self) -> None:
        for model in self.models:
            printer(self.console)(f"{model}: compile time")
            self.results.compile[model] = compile_time.measure(model, 1 if self.quick else 3)
            self._write()
        self.console.print(show.compile_time(self.results))

    def lowering(self) -> None:
        self.results.lowering = lowering.measure_all(500 if self.quick else lowering.COUNT)
        self._write()
        self.console.print(show.lowering(self.results))

    def chains(self) -> None:
        sizes = (250, 1000) if self.quick else chains.SIZES
        self.console.print(chains.table(sizes), highlight=False)

    def call(self) -> None:
        self.results.call = python_call.measure_all()
        self._write()
        self.console.print(show.calls(self.results))

    def _write(self) -> None:
        self.results.write(self.options.json)


KINDS: dict[str, Callable[[_Session], None]] = {
    "float": _Session.float32,
    "int8": _Session.int8,
    "quantization": _Session.quantization,
    "compile": _Session.compile_times,
    "lowering": _Session.lowering,
    "chains": _Session.chains,
    "call": _Session.call,
}
"""The kinds of measurement, in the order in which they run."""


def main(arguments: list[str] | None = None) -> None:
    options = options_of(arguments)
    if options.without_avx512:
        keep_from_avx512(ROOT / "build" / "peers-without-avx512")
    console = Console(width=None if sys.stdout.isatty() else 140)
    session = _Session(options, console)
    for kind, measure in KINDS.items():
        if kind in (options.kinds or KINDS):
            measure(session)
    console.print(f"written: {options.json}")


if __name__ == "__main__":
    main()
