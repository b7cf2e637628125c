"""What executor_runner prints, compared with what a program gave here."""

from __future__ import annotations

import re

# Of a value, or of the largest for int8 programs, whose steps may round another way.
TOLERANCE = 1e-5
QUANTIZED = 0.02


def arguments(program: str) -> list[str]:
    """Of executor_runner, for a program NAME-TARGET.pte that lies beside its input NAME.in."""
    given = {"model_path": program, "inputs": f"{program.partition('-')[0]}.in", "num_threads": "1"}
    return [word for name, value in given.items() for word in (f"--{name}", value)] + [
        "--print_output",
        "all",
    ]


def numbers(text: str) -> list[float]:
    """Values that executor_runner printed for its output."""
    listed = re.search(r"output 0: [^{]*\{([^}]*)\}", text)
    return [float(value) for value in listed[1].split(",")] if listed else []


def check(name: str, said: str, want: list[float]) -> str | None:
    """What is wrong with the results of a program."""
    got = numbers(said)
    if len(got) != len(want):
        return f"{len(got)} results instead of {len(want)}"
    scale = max(abs(value) for value in want)
    worst = max(abs(a - b) for a, b in zip(got, want, strict=True)) / scale
    return f"results are off by {worst:.2g}" if worst > (QUANTIZED if "_int" in name else TOLERANCE) else None
