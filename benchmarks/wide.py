"""python -m benchmarks.wide [--int8] [--models ...] [--systems ...] [--threads 1 2]

Compares Rushlight with precision "highest" with the peers on the networks of `models.field`, for which
Rushlight is not tuned. With --int8, it compares int8 networks of `models.catalog.INT8_FIELD`. Systems run in
turn. Figures are stored in a JSON file. A later run measures only networks and systems that the file does not
contain.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence

from models.catalog import INT8_FIELD, find
from models.field import FIELD
from rich.console import Console
from rich.table import Table

from benchmarks import latency
from benchmarks.latency import TOLERANCE, Row
from benchmarks.options import add_files, add_patience, add_turns, printer
from benchmarks.results import Results, describe_machine
from benchmarks.systems import PEER_NAMES_FIELD, PEER_NAMES_INT8, SYSTEMS

OURS = {False: "rushlight", True: "rushlight_int8"}
"""Our system that is compared with the peers, in float32 (False) and int8 (True)."""
FLOAT = "rushlight_float"
"""Our system in float32 with the weights of the int8 systems."""
LIMIT = 0.90
"""The table marks networks whose ratio of our time to that of the fastest peer is above this limit."""


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument(
        "--models",
        nargs="+",
        metavar="model",
        help="networks of models.catalog or models.field, any network of timm as timm:NAME, or groups of "
        f"models.field ({', '.join(dict.fromkeys(n.group for n in FIELD.values()))}); "
        "NAME@4 means batches of 4; "
        "by default, all of models.field, or with --int8 those of models.catalog.INT8_FIELD",
    )
    parser.add_argument(
        "--systems",
        nargs="+",
        metavar="system",
        help=f"systems: {', '.join(SYSTEMS)}; by default ours and the peers",
    )
    parser.add_argument("--int8", action="store_true", help="measure int8 networks")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    add_turns(parser, rounds=12, seconds=0.25)
    add_patience(parser, 600)
    parser.add_argument("--again", action="store_true", help="measure again what the JSON file contains")
    parser.add_argument(
        "--show", action="store_true", help="print the table of the JSON file without measuring"
    )
    add_files(parser, "wide")
    options = parser.parse_args(arguments)
    try:
        options.systems = _systems(options.systems, options.int8)
        options.models = _networks(options.models, options.int8)
    except ValueError as error:
        parser.error(str(error))
    return options


def _systems(names: Sequence[str] | None, int8: bool) -> list[str]:
    """Returns the systems of these names, by default ours and the peers.

    Raises:
        ValueError: there is no such system in float32, or in int8.
    """
    systems = [name for name, system in SYSTEMS.items() if system.int8 == int8]
    for name in names or ():
        if name not in systems:
            kind = "int8" if int8 else "float32"
            raise ValueError(f"unknown {kind} system {name}; choose from {', '.join(systems)}")
    return list(
        names or ((OURS[True], FLOAT, *PEER_NAMES_INT8) if int8 else (OURS[False], *PEER_NAMES_FIELD))
    )


def _networks(names: Sequence[str] | None, int8: bool) -> list[str]:
    """Returns the networks of these names, without repetitions. By default, all networks of a list.

    A name is that of a network or of a group of `models.field`, and may end with `@` and a batch size.

    Raises:
        ValueError: there is no such network or group, or the batch size is not a number.
    """
    networks: list[str] = []
    for given in names or (INT8_FIELD if int8 else FIELD):
        name, at, batch = given.partition("@")
        members = [name] if find(name) is not None else [m for m, n in FIELD.items() if n.group == name]
        if not members or (at and not batch.isdecimal()):
            raise ValueError(
                f"unknown network or group {given}; choose from {', '.join(FIELD)}, or timm:NAME"
            )
        networks += [member + at + batch for member in members]
    return list(dict.fromkeys(networks))


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    results = Results.read(options.json)
    results.machine = describe_machine()
    for model in [] if options.show else options.models:
        missing = [
            count
            for count in options.threads
            if options.again or not set(options.systems) <= results.block(model, count, options.int8).keys()
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
            for rows in latency.measure(model, plan, printer(console)):
                results.add(rows)
                results.write(options.json)
                console.print(line(results, model, rows[0].threads, options.int8), highlight=False)
        except RuntimeError as error:
            console.print(str(error), style="red", markup=False)
    for threads in options.threads:
        console.print(table(results, options.models, threads, options.int8))


def is_correct(row: Row) -> bool:
    """Whether a result is compared: in float32 if its error is within TOLERANCE, in int8 always."""
    return SYSTEMS[row.system].int8 or (row.error is not None and row.error <= TOLERANCE)


def ratios(block: dict[str, Row], int8: bool) -> tuple[float, float, float, str] | None:
    """Compares our figures with the smallest figures of the peers' correct results.

    Returns:
        The ratios of median, tenth percentile and processor time, and the peer with the smallest median. None
        if our time or all times of peers are missing.
    """
    ours = block.get(OURS[int8])
    peers = [
        row
        for name, row in block.items()
        if not name.startswith("rushlight") and row.milliseconds is not None and is_correct(row)
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


def line(results: Results, model: str, threads: int, int8: bool) -> str:
    """Returns the result of a network as one line."""
    block = results.block(model, threads, int8)
    times = ", ".join(
        f"{name} {row.milliseconds:.2f}" if row.milliseconds is not None else f"{name}: {row.reason}"
        for name, row in block.items()
    )
    found = ratios(block, int8)
    head = "no ratio" if found is None else " ".join(f"{value:.2f}" for value in found[:3])
    return f"{model}, threads: {threads}: {head} ({times})"


def table(results: Results, models: Sequence[str], threads: int, int8: bool) -> Table:
    """Returns a table of all networks for a number of threads, the largest ratio first."""
    blocks = {model: results.block(model, threads, int8) for model in models}
    found = sorted(
        ((row, model) for model, block in blocks.items() if (row := ratios(block, int8)) is not None),
        reverse=True,
    )
    wrong = [
        model for model, block in blocks.items() if (ours := block.get(OURS[int8])) and not is_correct(ours)
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
    if int8:
        for name in ("to our float32", "agreement", "of the peer"):
            result.add_column(name, justify="right")
    for (median, best, cpu, peer), model in found:
        block = blocks[model]
        ours = block[OURS[int8]]
        cells = [f"{value:.2f}" for value in (median, best, cpu)]
        cells += [f"{ours.milliseconds or 0.0:.2f}", SYSTEMS[peer].label]
        if int8:
            float32 = block[FLOAT].milliseconds if FLOAT in block else None
            cells.append("" if float32 is None else f"{(ours.milliseconds or 0.0) / float32:.2f}")
            cells += ["" if row.agreement is None else f"{row.agreement:.1%}" for row in (ours, block[peer])]
        result.add_row(model, *cells, style="red" if median > LIMIT else None)
    if wrong:
        result.caption = f"wrong or without a result: {', '.join(wrong)}"
    return result


if __name__ == "__main__":
    main()
