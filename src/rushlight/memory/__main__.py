"""`python -m rushlight.memory PATH...`: plans instances of the memory planning problem from CSV files.

A file has the columns id, lower, upper (exclusive) and size, as in the benchmark of MiniMalloc.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rushlight.memory.check import check_plan
from rushlight.memory.exact import DEFAULT_SECONDS, ExactPlanner
from rushlight.memory.lower_bound import lower_bound
from rushlight.memory.portfolio import best_first_fit
from rushlight.memory.problem import Buffer, MemorySearch, Plan, Problem
from rushlight.memory.report import MemoryUse


def main(arguments: Sequence[str] | None = None) -> int:
    """Plans the instances and prints a table.

    Args:
        arguments: the command line; None means the arguments of the process.

    Returns:
        1 if there is no instance or an instance cannot be read, else 0.
    """
    options = _parser().parse_args(arguments)
    files = [
        file for path in options.paths for file in (sorted(path.glob("*.csv")) if path.is_dir() else [path])
    ]
    rows, failed = [], not files
    if not files:
        print(
            "error: no CSV files found; give the paths of CSV files, or of folders with CSV files",
            file=sys.stderr,
        )
    for file in files:
        try:
            problem = read_instance(file, options.alignment)
        except (OSError, ValueError) as error:
            print(f"error: {file}: {error}", file=sys.stderr)
            failed = True
            continue
        start = time.perf_counter()
        plan = ExactPlanner(options.seconds)(problem)
        seconds = time.perf_counter() - start
        check_plan(problem, plan)
        rows.append({"instance": file.stem, **_figures(problem, plan), "seconds": round(seconds, 3)})
        if options.out is not None:
            write_plan(options.out / file.name, problem, plan)
        if not options.json:
            _print_row(rows[-1], header=len(rows) == 1)
    if options.json:
        print(json.dumps(rows, indent=2))
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rushlight.memory",
        description="Plans instances of the memory planning problem and checks every plan. An instance is a "
        "CSV file with the columns id, lower, upper (exclusive) and size.",
    )
    parser.add_argument("paths", nargs="+", type=Path, help="CSV files, and folders with CSV files")
    parser.add_argument(
        "--seconds",
        type=float,
        default=DEFAULT_SECONDS,
        help="the limit of the search for each instance, in seconds (default: %(default)s)",
    )
    parser.add_argument(
        "--alignment",
        type=int,
        default=1,
        help="the alignment of all offsets, in bytes (default: %(default)s)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="a folder for the plans; each is a CSV file with the rows of the instance and their offsets",
    )
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    return parser


def _figures(problem: Problem, plan: Plan) -> dict[str, object]:
    """Returns the figures of a plan: its peak, lower bounds and the peak of first fit, in bytes."""
    search = plan.searches.get(1, MemorySearch(0))
    peak = plan.peaks(problem).get(1, 0)
    use = MemoryUse(1, peak, search.bound, len(problem.buffers), search.ended_by)
    return {
        "buffers": len(problem.buffers),
        "live_set": lower_bound(problem).get(1, 0),
        "proven_bound": use.lower_bound,
        "first_fit": best_first_fit(problem).peaks(problem).get(1, 0),
        "peak": peak,
        "optimal": use.optimal,
        "verdict": use.verdict,
    }


def read_instance(path: Path, alignment: int = 1) -> Problem:
    """Reads the buffers of a CSV file.

    Args:
        path: the path of the file.
        alignment: the alignment of all offsets, in bytes.

    Raises:
        ValueError: a column is missing, or a row is not a valid buffer. The message names the line.
    """
    buffers = []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        try:
            rows = [(reader.line_num, row) for row in reader]
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"the file is not a CSV file: {error}") from error
        missing = {"id", "lower", "upper", "size"} - set(reader.fieldnames or ())
        if missing:
            raise ValueError(f"the header lacks the columns {', '.join(sorted(missing))}")
        for index, (line, row) in enumerate(rows):
            try:
                size, lower, upper = int(row["size"]), int(row["lower"]), int(row["upper"])
                buffers.append(Buffer(index, size, lower, upper, alignment=alignment, name=row["id"]))
            except (TypeError, ValueError) as error:
                raise ValueError(f"line {line}: {error}") from error
    return Problem.of(buffers)


def write_plan(path: Path, problem: Problem, plan: Plan) -> None:
    """Writes the rows of an instance with their offsets to a CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "lower", "upper", "size", "offset"])
        for b in problem.buffers:
            writer.writerow([b.name, b.lower, b.upper, b.size, plan.offsets[b.id]])


def _print_row(row: dict[str, object], header: bool) -> None:
    sizes = ("live_set", "proven_bound", "first_fit", "peak")
    columns = [("instance", 20), ("buffers", 8), *((name, 14) for name in sizes), ("seconds", 8)]
    if header:
        print(" ".join(f"{name.replace('_', ' '):>{width}}" for name, width in columns))
    cells = [
        f"{value:>{width},}" if isinstance(value := row[name], (int, float)) else f"{value!s:>{width}}"
        for name, width in columns
    ]
    print(" ".join(cells), "", row["verdict"], flush=True)


if __name__ == "__main__":
    sys.exit(main())
