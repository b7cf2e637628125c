"""Tables of results for a terminal."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from benchmarks.compile_time import SYSTEMS as COMPILERS
from benchmarks.latency import TOLERANCE, Row
from benchmarks.results import INT8_RATIO, RATIOS, Results, ratio
from benchmarks.systems import SYSTEMS


def number(value: float | None, scale: float = 1.0, digits: int = 2) -> str:
    return "" if value is None else f"{value * scale:.{digits}f}"


def block(results: Results, model: str, threads: int, int8: bool) -> Group:
    """Makes a table of all systems for one network and thread count, with the reasons of those without a
    time.
    """
    rows = results.block(model, threads, int8)
    found = ratio(rows, int8)
    title = f"{model}, {'int8' if int8 else 'float32'}, {threads} thread{'s' if threads > 1 else ''}"
    if found is not None:
        value, ours, theirs = found
        aim = INT8_RATIO if int8 else RATIOS.get(model)
        against = "" if aim is None else f" (aim: {aim:.2f})"
        title += f": {SYSTEMS[ours.system].label} / {SYSTEMS[theirs.system].label} = {value:.2f}{against}"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("system")
    for name in (
        "median ms",
        "best ms",
        "first ms",
        "cold s",
        "prepare s",
        "file MB",
        "resident MB",
        "error",
    ):
        table.add_column(name, justify="right")
    if int8:
        table.add_column("agrees", justify="right")
    for row in rows.values():
        table.add_row(*cells(row, int8))
    reasons = [f"{SYSTEMS[row.system].label} {row.reason}" for row in rows.values() if row.reason]
    return Group(table, *(Text(reason, style="dim") for reason in reasons))


def cells(row: Row, int8: bool) -> list[str]:
    label = SYSTEMS[row.system].label
    if row.milliseconds is None:
        return [label, "-"]
    wrong = not int8 and row.error is not None and row.error > TOLERANCE
    error = "" if row.error is None else f"{row.error:.0e}"
    return [
        label,
        number(row.milliseconds, digits=3),
        number(row.best, digits=3),
        number(row.first),
        number(row.cold),
        number(row.write, digits=1),
        number(row.file, 1e-6, 1),
        number(row.resident, 1e-6, 0),
        f"[red]{error}[/red]" if wrong else error,
    ] + ([number(row.agreement)] if int8 else [])


def compile_time(results: Results) -> Table:
    table = Table(
        title="Compiling an exported program",
        title_justify="left",
        title_style="bold",
    )
    for name in COMPILE:
        table.add_column(name, justify="right" if name else "left")
    for model, systems in results.compile.items():
        table.add_row(model, *compile_cells(systems))
    return table


COMPILE = (
    "",
    *(f"{label}, s" for label in COMPILERS.values()),
    *(f"{label}, planned MB" for label in COMPILERS.values()),
    "planned, Rushlight / ExecuTorch",
)


def compile_cells(systems: dict[str, dict[str, float]]) -> list[str]:
    """Returns the seconds and the planned megabytes of each system, and the ratio of the planned memory."""
    ours, theirs, share = planned_cells(systems)
    return [
        *(number(systems.get(system, {}).get("seconds")) for system in COMPILERS),
        ours,
        number(systems.get("rushlight_kernels", {}).get("planned"), 1e-6),
        theirs,
        share,
    ]


def planned_cells(systems: dict[str, dict[str, float]]) -> list[str]:
    """Returns the planned megabytes of rushlight.compile and of ExecuTorch without a delegate, and their
    ratio.
    """
    ours, theirs = (systems.get(system, {}).get("planned") for system in ("rushlight", "executorch"))
    return [number(ours, 1e-6), number(theirs, 1e-6), number(ours / theirs) if ours and theirs else ""]


LOWERING = ("", "Rushlight, s", "ExecuTorch, s", "ratio", "Rushlight delegates", "ExecuTorch delegates")


def lowering_cells(results: Results) -> list[list[str]]:
    """Returns rows of: kind, seconds of Rushlight and of ExecuTorch, their ratio, delegates of both."""
    rows = []
    for kind, by_package in results.lowering.items():
        seconds, delegates = (
            [by_package.get(package, {}).get(key) for package in ("rushlight", "executorch")]
            for key in ("seconds", "delegates")
        )
        ratio = seconds[0] / seconds[1] if seconds[0] and seconds[1] else None
        rows.append(
            [
                kind,
                *(number(value, digits=3) for value in (*seconds, ratio)),
                *(number(item, digits=0) for item in delegates),
            ]
        )
    return rows


def lowering(results: Results) -> Table:
    table = Table(
        title="edge.to_backend(XnnpackPartitioner()), CPU seconds", title_justify="left", title_style="bold"
    )
    for name in LOWERING:
        table.add_column(name, justify="right" if name else "left")
    for row in lowering_cells(results):
        table.add_row(*row)
    return table


def calls(results: Results) -> Table:
    table = Table(title="Python's side", title_justify="left", title_style="bold")
    table.add_column("what")
    table.add_column("", justify="right")
    for what, value in results.call.items():
        table.add_row(what, f"{value:.2f} us" if what.startswith("call") else f"{value:.3f} s")
    return table
