"""Compares the output of executor_runner on another machine with the results of this machine."""

from __future__ import annotations

import re

# Both are relative to the largest value. Steps of int8 programs may round differently on other processors.
TOLERANCE = 1e-5
QUANTIZED = 0.02


def arguments(program: str) -> list[str]:
    """Returns the arguments of executor_runner for a program NAME-TARGET.pte with the input NAME.in."""
    given = {"model_path": program, "inputs": f"{program.partition('-')[0]}.in", "num_threads": "1"}
    return [word for name, value in given.items() for word in (f"--{name}", value)] + [
        "--print_output",
        "all",
    ]


def numbers(text: str) -> list[float]:
    """Returns the values of the output that executor_runner printed."""
    listed = re.search(r"output 0: [^{]*\{([^}]*)\}", text)
    return [float(value) for value in listed[1].split(",")] if listed else []


def check(name: str, said: str, want: list[float]) -> str | None:
    """Compares the printed results of a program, and returns a description of the error or None."""
    got = numbers(said)
    if len(got) != len(want):
        return f"{len(got)} results instead of {len(want)}"
    scale = max(abs(value) for value in want)
    worst = max(abs(a - b) for a, b in zip(got, want, strict=True)) / scale
    return (
        f"the largest error of the results is {worst:.2g}"
        if worst > (QUANTIZED if "_int" in name else TOLERANCE)
        else None
    )
