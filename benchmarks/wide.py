"""python -m benchmarks.wide [--models ...] [--systems ...] [--threads 1 2]

Ours at "highest" beside the peers over the networks of `models.field`, which nothing is tuned for. Systems
take turns. The JSON file holds what was measured: a later run measures only what it lacks.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

from models.catalog import MODELS, import_field
from rich.console import Console
from rich.table import Table

from benchmarks import latency
from benchmarks.latency import TOLERANCE, Row
from benchmarks.process import ROOT
from benchmarks.results import Results, describe_machine
from benchmarks.systems import PEER_NAMES_FIELD, SYSTEMS

OURS = "rushlight"
LIMIT = 0.90
"""The largest ratio of our time to that of the fastest peer that the table does not mark."""


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    field = import_field()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument(
        "--models",
        nargs="+",
        metavar="model",
        help="networks of models.catalog or models.field, or groups of the latter "
        f"({', '.join(dict.fromkeys(field.values()))}), each perhaps with a batch: resnet18@4; "
        "all of models.field by default",
    )
    parser.add_argument(
        "--systems",
        nargs="+",
        metavar="system",
        default=[OURS, *PEER_NAMES_FIELD],
        help=f"of {', '.join(SYSTEMS)}; {OURS} and the peers by default",
    )
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=12, help="turns of every system (default: 12)")
    parser.add_argument("--seconds", type=float, default=0.25, help="of a system in a turn (default: 0.25)")
    parser.add_argument(
        "--patience", type=float, default=600, help="seconds for a system to prepare a network (default: 600)"
    )
    parser.add_argument("--keep", type=Path, help="a folder for prepared programs, taken from there again")
    parser.add_argument("--again", action="store_true", help="measure also what the JSON file has")
    parser.add_argument("--show", action="store_true", help="measure nothing, print the JSON file's table")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "wide.json")
    options = parser.parse_args(arguments)
    for name in options.systems:
        if name not in SYSTEMS or SYSTEMS[name].int8:
            parser.error(f"there is no float32 system {name}; there are {', '.join(SYSTEMS)}")
    chosen: list[str] = []
    for given in options.models or field:
        name, at, batch = given.partition("@")
        members = [name] if name in MODELS else [model for model, group in field.items() if group == name]
        members = [member + at + batch for member in members]
        if not members or (at and not batch.isdecimal()):
            parser.error(f"there is no network or group {given}; there are {', '.join(field)}")
        chosen += members
    options.models = list(dict.fromkeys(chosen))
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(arguments)
    console = Console()
    results = Results.read(options.json)
    results.machine = describe_machine()
    for model in [] if options.show else options.models:
        missing = [
            count
            for count in options.threads
            if options.again or not set(options.systems) <= results.block(model, count, False).keys()
        ]
        if not missing:
            continue
        plan = latency.Plan(
            options.systems,
            missing,
            options.rounds,
            options.seconds,
            cold_rounds=0,
            patience=options.patience,
            keep=options.keep,
        )
        try:
            for rows in latency.measure(model, plan, lambda text: console.print(f"[dim]{text}[/dim]")):
                results.add(rows)
                results.write(options.json)
                console.print(line(results, model, rows[0].threads), highlight=False)
        except RuntimeError as error:
            console.print(str(error), style="red", markup=False)
    for threads in options.threads:
        console.print(table(results, options.models, threads))


def ratios(block: dict[str, Row]) -> tuple[float, float, float, str] | None:
    """Our median, tenth percentile and processor time, each divided by the least of the peers' correct
    results, and the peer with the least median. None without our time or a peer's.
    """
    ours = block.get(OURS)
    peers = [
        row
        for name, row in block.items()
        if not name.startswith("rushlight")
        and row.milliseconds is not None
        and row.error is not None
        and row.error <= TOLERANCE
    ]
    if ours is None or ours.milliseconds is None or ours.best is None or ours.cpu is None or not peers:
        return None
    fastest = min(peers, key=lambda row: row.milliseconds or 0.0)
    best, cpu = min(row.best or 0.0 for row in peers), min(row.cpu or 0.0 for row in peers)
    return (
        ours.milliseconds / (fastest.milliseconds or 1.0),
        ours.best / best,
        ours.cpu / cpu,
        fastest.system,
    )


def line(results: Results, model: str, threads: int) -> str:
    """The result of a network in a line."""
    block = results.block(model, threads, False)
    times = ", ".join(
        f"{name} {row.milliseconds:.2f}" if row.milliseconds is not None else f"{name}: {row.reason}"
        for name, row in block.items()
    )
    found = ratios(block)
    head = "no ratio" if found is None else " ".join(f"{value:.2f}" for value in found[:3])
    return f"{model}, threads: {threads}: {head} ({times})"


def table(results: Results, models: Sequence[str], threads: int) -> Table:
    """All networks of a number of threads, the largest ratio first."""
    rows = [(ratios(results.block(model, threads, False)), model) for model in models]
    found = sorted(((row, model) for row, model in rows if row is not None), reverse=True)
    wrong = [
        model
        for model in models
        if (ours := results.block(model, threads, False).get(OURS)) is not None
        and not (ours.error is not None and ours.error <= TOLERANCE)
    ]
    title = f"threads: {threads}, networks: {len(found)}"
    if found:
        title += f", median of the ratios: {statistics.median(row[0] for row, _ in found):.2f}"
        title += f", above {LIMIT:.2f}: {sum(row[0] > LIMIT for row, _ in found)}"
    result = Table(title=title, title_justify="left", title_style="bold")
    result.add_column("network")
    for name in ("ratio", "of 10th percentiles", "of processor time", "ours, ms"):
        result.add_column(name, justify="right")
    result.add_column("fastest peer")
    for (median, best, cpu, peer), model in found:
        time = results.block(model, threads, False)[OURS].milliseconds or 0.0
        style = "red" if median > LIMIT else None
        cells = (f"{value:.2f}" for value in (median, best, cpu))
        result.add_row(model, *cells, f"{time:.2f}", SYSTEMS[peer].label, style=style)
    if wrong:
        result.caption = f"wrong or without a result: {', '.join(wrong)}"
    return result


if __name__ == "__main__":
    main()
