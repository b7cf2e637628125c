"""The measured figures as one JSON file, to which later runs add."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from benchmarks.latency import TOLERANCE, Row
from benchmarks.systems import OURS, OURS_INT8, PEER_NAMES, PEER_NAMES_INT8, SYSTEMS

RATIOS = {
    **dict.fromkeys(("mobilenet_v2", "mobilenet_v3_small"), 0.90),
    "resnet18": 0.60,
    "resnet50": 0.80,
    **dict.fromkeys(("deit_tiny", "vit_b_16", "gpt2_step"), 0.85),
    **dict.fromkeys(("bert", "lstm"), 0.80),
}
"""The largest allowed ratio of our time to that of the fastest peer, in float32."""
INT8_RATIO = 0.90


@dataclass
class Results:
    machine: dict[str, str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    compile: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)  # model, system, quantity
    lowering: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)  # kind, package, quantity
    quantization: list[list[list[str]]] = field(default_factory=list)  # tables: head, rows
    call: dict[str, float] = field(default_factory=dict)  # what: microseconds, or seconds of an import

    @staticmethod
    def read(path: Path) -> Results:
        """Reads a file. If it does not exist, the result is empty."""
        if not path.exists():
            return Results()
        values = json.loads(path.read_text())
        values["rows"] = [Row(**row) for row in values["rows"]]
        return Results(**values)

    def write(self, path: Path) -> None:
        """Writes a file with one measured row in each line. Fields without a value are left out."""
        path.parent.mkdir(parents=True, exist_ok=True)
        values = dataclasses.asdict(self)
        rows = [
            json.dumps({key: value for key, value in row.items() if value not in (None, "")})
            for row in values.pop("rows")
        ]
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in values.items()]
        lines.append('"rows": [\n' + ",\n".join(rows) + "\n]")
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")

    def add(self, rows: Iterable[Row]) -> None:
        """Adds rows. They replace rows with the same model, thread count and system."""
        new = {(row.model, row.threads, row.system): row for row in rows}
        self.rows = [row for row in self.rows if (row.model, row.threads, row.system) not in new]
        self.rows += new.values()

    def block(self, model: str, threads: int, int8: bool) -> dict[str, Row]:
        """Returns the rows of a model and thread count by system, in the order of the systems."""
        rows = {r.system: r for r in self.rows if r.model == model and r.threads == threads}
        return {name: rows[name] for name, s in SYSTEMS.items() if name in rows and s.int8 == int8}

    def models(self, int8: bool) -> list[str]:
        return list(dict.fromkeys(r.model for r in self.rows if SYSTEMS[r.system].int8 == int8))

    def threads(self) -> list[int]:
        return sorted({row.threads for row in self.rows})


class KeyedRow(Protocol):
    """A measured row, a dataclass."""

    @property
    def key(self) -> tuple[object, ...]:
        """What was measured. A file has one row for each key."""


R = TypeVar("R", bound=KeyedRow)


@dataclass
class Figures(Generic[R]):
    """Measured rows of one kind, as stored in a JSON file."""

    machine: dict[str, str] = field(default_factory=dict)
    rows: list[R] = field(default_factory=list)

    @staticmethod
    def read(path: Path, kind: Callable[..., R]) -> Figures[R]:
        """Reads a file with rows of the class `kind`. If it does not exist, the result is empty."""
        if not path.exists():
            return Figures()
        values = json.loads(path.read_text())
        return Figures(values["machine"], [kind(**row) for row in values["rows"]])

    def write(self, path: Path) -> None:
        """Writes a file with one row in each line."""
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = ",\n".join(json.dumps(dataclasses.asdict(row)) for row in self.rows)  # type: ignore[call-overload]
        path.write_text(f'{{\n"machine": {json.dumps(self.machine)},\n"rows": [\n{rows}\n]\n}}\n')

    def add(self, rows: Iterable[R]) -> None:
        """Adds rows in place of those with the same keys."""
        new = {row.key: row for row in rows}
        self.rows = [row for row in self.rows if row.key not in new] + list(new.values())


def fastest(block: dict[str, Row], names: Sequence[str], int8: bool) -> Row | None:
    """Returns the row with the least time of the named systems, or None.

    Float32 results count only if they are correct.
    """
    able = [
        row
        for name in names
        if (row := block.get(name)) is not None
        and row.milliseconds is not None
        and (int8 or (row.error is not None and row.error <= TOLERANCE))
    ]
    return min(able, key=lambda row: row.milliseconds or 0.0, default=None)


def ratio(block: dict[str, Row], int8: bool, system: str | None = None) -> tuple[float, Row, Row] | None:
    """Returns our time divided by the fastest peer's, and the two rows.

    Args:
        block: the rows of a model and thread count.
        int8: whether the rows are int8.
        system: the system that counts as ours; None means rushlight.compile with its defaults.
    """
    ours = fastest(block, [system or (OURS_INT8 if int8 else OURS)[0]], int8)
    theirs = fastest(block, PEER_NAMES_INT8 if int8 else PEER_NAMES, int8)
    if ours is None or theirs is None or not ours.milliseconds or not theirs.milliseconds:
        return None
    return ours.milliseconds / theirs.milliseconds, ours, theirs


WITHHELD = "disabled in every system"
"""The key of the instruction set that a run did not use."""
_INSTRUCTIONS = {
    "avx2": "AVX2",
    "avx_vnni": "AVX-VNNI",
    "avx512f": "AVX-512",
    "avx512_vnni": "VNNI",
    "avx512_bf16": "BF16",
    "amx_int8": "AMX",
    "asimd": "NEON",
    "asimddp": "dot products",
    "i8mm": "i8mm",
}
"""The processor features that select microkernels, by their names in Linux."""


def describe_machine(without_avx512: bool = False) -> dict[str, str]:
    lines = [line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line]
    names = [text.strip() for key, text in lines if key.strip() == "model name"]
    flags = next((text.split() for key, text in lines if key.strip() in ("flags", "Features")), [])
    used = [flag for flag in _INSTRUCTIONS if flag in flags and not (without_avx512 and "avx512" in flag)]
    return {
        "processor": names[0] if names else platform.machine(),
        "instructions": ", ".join(_INSTRUCTIONS[flag] for flag in used),
        **({WITHHELD: "AVX-512"} if without_avx512 else {}),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "torch": importlib.metadata.version("torch"),
    }
