"""Options that several benchmarks have on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from benchmarks.process import ROOT


def add_turns(parser: argparse.ArgumentParser, rounds: int, seconds: float, what: str = "system") -> None:
    """Adds --rounds and --seconds, which say how often and how long programs run in turn.

    Args:
        parser: the parser.
        rounds: the default number of rounds.
        seconds: the default time of a program in a round.
        what: what has a turn in a round.
    """
    parser.add_argument(
        "--rounds",
        type=int,
        default=rounds,
        help=f"rounds; every {what} has a turn in each (default: {rounds})",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=seconds,
        help=f"measured seconds of a {what} in a round (default: {seconds})",
    )


def add_patience(parser: argparse.ArgumentParser, seconds: float) -> None:
    """Adds --patience with this default."""
    parser.add_argument(
        "--patience",
        type=float,
        default=seconds,
        help=f"time limit in seconds for preparing a network (default: {seconds:.0f})",
    )


def add_files(parser: argparse.ArgumentParser, name: str) -> None:
    """Adds --keep, and --json with the default build/NAME.json."""
    parser.add_argument("--keep", type=Path, help="a folder that keeps prepared programs for later runs")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / f"{name}.json", help="the figures file")


def printer(console: Console) -> Callable[[str], None]:
    """Returns a function that prints what a benchmark does at the moment."""
    return lambda text: console.print(f"[dim]{text}[/dim]")
