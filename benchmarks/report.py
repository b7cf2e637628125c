"""Writes docs/benchmarks.md, its chart and the figures in README.md from the figures files.

`make bench`, `make bench-avx2` and `python -m benchmarks.wide` write these files.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import shapes as shapes_benchmark
from benchmarks import texts
from benchmarks import throughput as throughput_benchmark
from benchmarks.chart import chart, range_of_bars
from benchmarks.latency import TOLERANCE, Row
from benchmarks.process import ROOT
from benchmarks.results import RATIOS, Figures, Results, ratio
from benchmarks.shapes import OURS as OURS_ALONE
from benchmarks.show import COMPILE, LOWERING, compile_cells, lowering_cells, number, planned_cells
from benchmarks.systems import PEER_NAMES, SYSTEMS
from benchmarks.wide import FLOAT
from benchmarks.wide import OURS as OURS_OF
from benchmarks.wide import ratios as field_ratios
from benchmarks.worker import SAMPLES

FIGURES = ROOT / "benchmarks" / "figures"
DOCS = ROOT / "docs"
README = ROOT / "README.md"


@dataclass
class Measurements:
    """The contents of the figures files. A file that does not exist is None."""

    avx512: Results
    """A processor with all its instructions (avx512.json)."""
    avx2: Results | None = None
    """The same processor without AVX-512 (avx2.json)."""
    field: Results | None = None
    """Networks that Rushlight is not tuned for, in float32 (field.json)."""
    field_amx: Results | None = None
    """Such networks on a processor with AMX, with one and two threads (field_amx.json)."""
    field_int8: Results | None = None
    """Such networks in int8 (field_int8.json)."""
    int8_amx: Results | None = None
    """Networks in int8 on a processor with AMX (field_int8_amx.json)."""
    families: Results | None = None
    """Small networks of further families of timm, in float32 and int8 (families.json)."""
    shapes: Figures[shapes_benchmark.Row] | None = None
    """Programs with a dynamic size (shapes.json)."""
    throughput: Figures[throughput_benchmark.Row] | None = None
    """Networks that several threads call at once (throughput.json)."""

    @classmethod
    def read(cls, folder: Path) -> Measurements:
        """Reads the figures files of a folder. avx512.json must exist."""

        def results(name: str) -> Results | None:
            path = folder / f"{name}.json"
            return Results.read(path) if path.exists() else None

        shapes, throughput = folder / "shapes.json", folder / "throughput.json"
        return cls(
            Results.read(folder / "avx512.json"),
            results("avx2"),
            results("field"),
            results("field_amx"),
            results("field_int8"),
            results("field_int8_amx"),
            results("families"),
            Figures.read(shapes, shapes_benchmark.Row) if shapes.exists() else None,
            Figures.read(throughput, throughput_benchmark.Row) if throughput.exists() else None,
        )


def page(measurements: Measurements) -> str:
    """Makes the text of docs/benchmarks.md."""
    results = measurements.avx512
    parts = [texts.HEAD.format(tolerance=TOLERANCE, machine=_machine(results))]
    for threads in results.threads():
        for int8 in (False, True):
            parts += _latency(results, threads, int8)
    parts += _others(results)
    if measurements.avx2 is not None:
        parts += [
            texts.WITHOUT_AVX512.format(machine=_machine(measurements.avx2)),
            *_ratios(measurements.avx2),
        ]
    if measurements.field is not None:
        parts += _field(measurements.field)
    if measurements.field_amx is not None:
        parts += _field_by_threads(measurements.field_amx, texts.FIELD_AMX)
    if measurements.field_int8 is not None:
        parts += _int8_field(measurements.field_int8, texts.INT8_FIELD)
    if measurements.int8_amx is not None:
        parts += _int8_field(measurements.int8_amx, texts.INT8_AMX)
    if measurements.families is not None:
        parts += _families(measurements.families)
    if measurements.shapes is not None:
        parts += _shapes(measurements.shapes)
    if measurements.throughput is not None:
        parts += _throughput(measurements.throughput)
    parts += _errors(results) + _quantized_networks(results) + _same_library(results)
    parts += _starts(results) + _compile(results) + _lowering(results) + _calls(results) + _reasons(results)
    return "\n".join(parts).rstrip("\n") + "\n"


def readme(text: str, results: Results, field: Results) -> str:
    """Updates the figures in the text of README.md.

    The figures are in two places: the alternative text of the chart, and the paragraph about further networks
    between two comments.

    Args:
        text: the text of README.md.
        results: the figures of the chart.
        field: the figures of networks that Rushlight is not tuned for.

    Returns:
        The new text.

    Raises:
        ValueError: the text does not have each place exactly once.
    """
    low, high = range_of_bars(results)
    ratios = [found[2] for _, found in _field_ratios(field)]
    instructions = "AVX-512" if "AVX-512" in field.machine.get("instructions", "") else "AVX2"
    places = (
        (r"(?<=fastest other runtime: )between [\d.]+ and [\d.]+", f"between {low:.2f} and {high:.2f}"),
        (
            f"(?<={re.escape(texts.BEGIN)}).*?(?={re.escape(texts.END)})",
            texts.FURTHER.format(
                count=len(ratios), instructions=instructions, low=min(ratios), high=max(ratios)
            ),
        ),
    )
    for pattern, new in places:
        text, count = re.subn(pattern, new, text, flags=re.S)
        if count != 1:
            raise ValueError(f"README.md has {count} places for the figures {new!r}; it must have one")
    return text


def _machine(results: Results) -> str:
    return ", ".join(f"{key}: {value}" for key, value in results.machine.items())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return [*lines, ""]


def _columns(results: Results, int8: bool) -> list[str]:
    """Returns the systems of a table, without Rushlight's float32 beside int8, which has its own tables."""
    used = {row.system for row in results.rows} - {"rushlight_float"}
    return [name for name, system in SYSTEMS.items() if name in used and system.int8 == int8]


def _main(results: Results, int8: bool) -> list[str]:
    """Returns the networks that have a table of all systems: those with a limit of the ratio."""
    return [model for model in results.models(int8) if model in RATIOS]


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def _latency(results: Results, threads: int, int8: bool) -> list[str]:
    systems = _columns(results, int8)
    body = []
    for model in _main(results, int8):
        block = results.block(model, threads, int8)
        if block:
            body.append([model, *(_time(block.get(name), int8) for name in systems), *_both(block, int8)])
    if not body:
        return []
    title = f"## Time in ms, {'int8' if int8 else 'float32'}, {_threads(threads)}\n"
    heads = ["ratio"] if int8 else ["ratio, highest", "ratio, high"]
    return [title, *_table(["", *(SYSTEMS[name].label for name in systems), *heads], body)]


def _both(block: dict[str, Row], int8: bool) -> list[str]:
    """Returns the ratio of int8, or the ratios of both precisions of float32."""
    found = [ratio(block, int8), *([] if int8 else [ratio(block, int8, "rushlight_high")])]
    return [f"{item[0]:.2f}" if item else "" for item in found]


def _time(row: Row | None, int8: bool) -> str:
    if row is None:
        return ""
    if row.milliseconds is None:
        return "-"
    text = number(row.milliseconds)
    if not int8 and row.error is not None and row.error > TOLERANCE:
        text += f" (error {row.error:.0e})"
    return text


def _ratios(results: Results) -> list[str]:
    """Makes a table of the ratios of all networks, without times."""
    head = [""]
    for threads in results.threads():
        head += [f"highest, {_threads(threads)}", f"high, {_threads(threads)}"]
    body = []
    for model in results.models(False):
        cells = [_both(results.block(model, threads, False), False) for threads in results.threads()]
        body.append([model, *sum(cells, [])])
    rows = [row for row in body if any(row[1:])]
    for model in results.models(True):
        cells = [_both(results.block(model, threads, True), True) for threads in results.threads()]
        rows.append([f"{model}, int8", *sum([[*cell, ""] for cell in cells], [])])
    return _table(head, rows)


def _quantized_networks(results: Results) -> list[str]:
    """Makes a table of the top-1 agreement with float32, and of the file size relative to the smallest
    float32 file.
    """
    systems = _columns(results, True)
    body = []
    for model in results.models(True):
        block = results.block(model, results.threads()[-1], True) or results.block(model, 1, True)
        files = [
            row.file
            for row in results.rows
            if row.model == model and row.file and not row.system.endswith("_int8")
            if row.system != "rushlight_high"  # which may have weights of int16
        ]
        cells = [_accuracy(block.get(name), min(files, default=None)) for name in systems]
        if any(cells):
            body.append([model, *cells])
    if not body:
        return []
    return [
        "## Accuracy and file size of int8 networks\n",
        f"The first value of a cell is the share of {SAMPLES} inputs for which the index of the largest "
        "output is that of the float32 network. The second value is the size of the file divided by the size "
        "of the smallest float32 file. [Quantization](quantization.md#measured-accuracy) has more figures.\n",
        *_table(["", *(SYSTEMS[name].label for name in systems)], body),
    ]


def _accuracy(row: Row | None, plain: int | None) -> str:
    if row is None or row.agreement is None:
        return ""
    size = f", {row.file / plain:.3f}" if plain and row.file else ""
    return f"{row.agreement:.1%}{size}"


def _starts(results: Results) -> list[str]:
    lines: list[str] = []
    systems = _columns(results, False)
    blocks = {model: results.block(model, results.threads()[-1], False) for model in _main(results, False)}
    for title, key, scale, digits in (
        ("Time from the start of a process to its first result, in s", "cold", 1.0, 2),
        ("Time to prepare a program ahead of time, with the export, in s", "write", 1.0, 1),
        ("Size of the files, in MB", "file", 1e-6, 1),
        ("Peak memory of the process after the first call, in MB", "resident", 1e-6, 0),
    ):
        body = [
            [model, *(number(getattr(block.get(name), key, None), scale, digits) for name in systems)]
            for model, block in blocks.items()
        ]
        if any(cell for row in body for cell in row[1:]):
            lines += [f"## {title}, float32\n"]
            lines += _table(["", *(SYSTEMS[name].label for name in systems)], body)
    return lines


def _compile(results: Results) -> list[str]:
    if not results.compile:
        return []
    body = [[model, *compile_cells(systems)] for model, systems in results.compile.items() if model in RATIOS]
    return [
        "## Compile time and planned memory\n",
        "The table shows the time to compile an exported program, without the export, and the planned memory "
        "for inputs and intermediate tensors. *Kernels alone* means without a backend.\n",
        *_table(COMPILE, body),
    ]


def _field(results: Results) -> list[str]:
    """Makes the table of the networks that Rushlight is not tuned for, the largest ratio first."""
    found = _field_ratios(results)

    def body(batches: bool) -> list[list[str]]:
        return [
            [model.replace("@", ", batch "), f"{cpu:.2f}", f"{median:.2f}", SYSTEMS[peer].label]
            for model, (median, _, cpu, peer) in sorted(found, key=lambda row: row[1][2], reverse=True)
            if ("@" in model) == batches
        ]

    head = ["", "ratio of processor times", "ratio of times", "fastest other system"]
    text = texts.FIELD.format(machine=_machine(results), systems=_other_systems(results))
    parts = [text, *_table(head, body(batches=False))]
    if batches := body(batches=True):
        parts += [texts.BATCHES, *_table(head, batches)]
    return parts


def _field_by_threads(results: Results, text: str) -> list[str]:
    """Makes a table of float32 networks with one and two threads, the largest ratio of one thread first."""
    rows = []
    for model in results.models(False):
        one, two = (field_ratios(results.block(model, threads, False), False) for threads in (1, 2))
        if one:
            cells = [f"{two[0]:.2f}", SYSTEMS[two[3]].label] if two else ["", ""]
            rows.append([model, f"{one[2]:.2f}", SYSTEMS[one[3]].label, *cells])
    rows.sort(key=lambda row: row[1], reverse=True)
    head = ["", "1 thread", "fastest other system", "2 threads", "fastest other system"]
    return [text.format(machine=_machine(results), systems=_other_systems(results)), *_table(head, rows)]


def _other_systems(results: Results) -> str:
    """Returns the labels of the float32 systems other than Rushlight."""
    found = {row.system for row in results.rows if not row.system.startswith("rushlight")}
    return ", ".join(SYSTEMS[name].label for name in SYSTEMS if name in found and not SYSTEMS[name].int8)


def _families(results: Results) -> list[str]:
    """Makes the table of further families of timm, the largest ratio of a network first."""
    body = []
    for model in dict.fromkeys([*results.models(False), *results.models(True)]):
        found = [field_ratios(results.block(model, 1, int8), int8) for int8 in (False, True)]
        cells = [cell for ratios in found for cell in _family_cells(ratios)]
        largest = max((ratios[2] for ratios in found if ratios), default=0.0)
        body.append((largest, [model.removeprefix("timm:"), *cells]))
    body.sort(key=lambda row: row[0], reverse=True)
    head = ["", "float32", "fastest other system", "int8", "fastest other system"]
    return [texts.FAMILIES.format(machine=_machine(results)), *_table(head, [row for _, row in body])]


def _family_cells(ratios: tuple[float, float, float, str] | None) -> list[str]:
    """Returns the ratio of processor times and the fastest other system, or empty cells."""
    return [f"{ratios[2]:.2f}", SYSTEMS[ratios[3]].label] if ratios else ["", ""]


def _field_ratios(results: Results) -> list[tuple[str, tuple[float, float, float, str]]]:
    """Returns each float32 network with the ratios of `benchmarks.wide.ratios` for one thread."""
    found = ((model, field_ratios(results.block(model, 1, False), False)) for model in results.models(False))
    return [(model, ratios) for model, ratios in found if ratios]


def _int8_field(results: Results, text: str) -> list[str]:
    """Makes the table of int8 networks with one thread, the largest ratio first, after a text."""
    body = []
    for model in results.models(True):
        block = results.block(model, 1, True)
        if found := field_ratios(block, True):
            median, _, cpu, peer = found
            ours, theirs, float32 = block[OURS_OF[True]], block[peer], block.get(FLOAT)
            alone = number((ours.cpu or 0.0) / float32.cpu) if float32 and float32.cpu else ""
            shares = ["" if row.agreement is None else f"{row.agreement:.1%}" for row in (ours, theirs)]
            body.append([model, f"{cpu:.2f}", f"{median:.2f}", SYSTEMS[peer].label, alone, *shares])
    if not body:
        return []
    head = ["", "ratio of processor times", "ratio of times", "fastest other system", "to float32"]
    head += ["same result", "same result, other"]
    body.sort(key=lambda row: row[1], reverse=True)
    return [text.format(machine=_machine(results), samples=SAMPLES), *_table(head, body)]


def _shapes(figures: Figures[shapes_benchmark.Row]) -> list[str]:
    """Makes the table of programs with a dynamic size."""
    systems = list(dict.fromkeys(name for row in figures.rows for name in row.ratios if name != OURS_ALONE))
    head = ["", "threads", "size", "time in ms", "ratio to one size", *(SYSTEMS[s].label for s in systems)]
    body = [
        [row.model, str(row.threads), str(row.size), f"{row.milliseconds:.2f}"]
        + [f"{row.ratios[name]:.2f}" if name in row.ratios else "" for name in (OURS_ALONE, *systems)]
        for row in figures.rows
    ]
    machine = ", ".join(f"{key}: {value}" for key, value in figures.machine.items())
    return [texts.SHAPES.format(machine=machine), *_table(head, body)]


def _throughput(figures: Figures[throughput_benchmark.Row]) -> list[str]:
    """Makes the table of networks that several threads call at once."""
    systems = list(dict.fromkeys(name for row in figures.rows for name in row.ratios))
    head = ["", "threads", "calls per second", *(SYSTEMS[name].label for name in systems)]
    body = [
        [row.model, str(row.callers), f"{row.rate:.1f}"]
        + [f"{row.ratios[name]:.2f}" if name in row.ratios else "" for name in systems]
        for row in figures.rows
    ]
    machine = ", ".join(f"{key}: {value}" for key, value in figures.machine.items())
    return [texts.THROUGHPUT.format(machine=machine), *_table(head, body)]


def _others(results: Results) -> list[str]:
    """Makes a table of the networks outside the main tables: our time, that of the fastest peer, and planned
    memory.
    """
    models = [model for model in results.models(False) if model not in RATIOS]
    if not models:
        return []
    head = [""]
    for threads in results.threads():
        count = _threads(threads)
        head += [f"Rushlight, {count}", f"fastest other, {count}", "highest", "high"]
    head += ["planned MB", "ExecuTorch's planned MB", "ratio"]
    body = []
    for model in models:
        cells = [model]
        for threads in results.threads():
            cells += _beside(results.block(model, threads, False))
        if any(cells[1:]):
            body.append([*cells, *planned_cells(results.compile.get(model, {}))])
    used = {row.system for row in results.rows if row.model in models and row.milliseconds}
    peers = ", ".join(SYSTEMS[name].label for name in PEER_NAMES if name in used)
    return [
        "## More networks, float32\n",
        f"Times are in ms. The fastest other system is one of {peers}, as far as they support the network. "
        "The columns *highest* and *high* are ratios. The time of Rushlight is that of *highest* if it is "
        "measured, else that of *high*. Planned memory includes the inputs. The planned memory of ExecuTorch "
        "is without a backend.\n",
        *_table(head, body),
    ]


def _beside(block: dict[str, Row]) -> list[str]:
    """Returns our time, the fastest peer's, and the ratios of both precisions."""
    found = ratio(block, False) or ratio(block, False, "rushlight_high")
    if not found:
        return ["", "", "", ""]
    _, ours, theirs = found
    label = SYSTEMS[theirs.system].label
    return [
        number(ours.milliseconds),
        f"{number(theirs.milliseconds)} ({label})",
        *_both(block, False),
    ]


def _errors(results: Results) -> list[str]:
    systems = _columns(results, False)
    threads = results.threads()[0]
    body = [
        [model, *(_error(results.block(model, threads, False).get(name)) for name in systems)]
        for model in results.models(False)
    ]
    return [
        "## Error against eager PyTorch, float32\n",
        "The error is the largest difference from the outputs of eager PyTorch in float32, divided by the "
        "largest magnitude of these outputs. [Conformance](conformance.md#precision-of-float32) compares "
        "with float64 instead.\n",
        *_table(["", *(SYSTEMS[name].label for name in systems)], body),
    ]


def _error(row: Row | None) -> str:
    return "" if row is None or row.error is None else f"{row.error:.0e}"


def _same_library(results: Results) -> list[str]:
    """Makes a table of the time of our XnnpackBackend divided by that of ExecuTorch's, in float32."""
    head = ("", *(_threads(threads) for threads in results.threads()))
    body = []
    for model in _main(results, False):
        ratios = []
        for threads in results.threads():
            block = results.block(model, threads, False)
            times = [block.get(name) for name in ("rushlight_xnnpack", "executorch_xnnpack")]
            both = [row.milliseconds for row in times if row is not None and row.milliseconds]
            ratios.append(number(both[0] / both[1]) if len(both) == 2 else "")
        if any(ratios):
            body.append([model, *ratios])
    if not body:
        return []
    return [
        "## The XNNPACK backend beside ExecuTorch's, float32\n",
        "The ratio is the time of Rushlight with its [XNNPACK backend](xnnpack.md) divided by the time of "
        "ExecuTorch with XNNPACK.\n",
        *_table(head, body),
    ]


def _lowering(results: Results) -> list[str]:
    if not results.lowering:
        return []
    return [
        "## CPU time of `edge.to_backend(XnnpackPartitioner())` for 4,000 operators\n",
        "In the row *islands*, 50 operators without XNNPACK support lie between the others. In the row "
        "*one*, there are none.\n",
        *_table(LOWERING, lowering_cells(results)),
    ]


def _calls(results: Results) -> list[str]:
    if not results.call:
        return []
    body = [
        [what, f"{value:.2f} us" if what.startswith("call") else f"{value:.3f} s"]
        for what, value in results.call.items()
    ]
    return [
        "## Calls from Python\n",
        "The table shows the time of a call of a program that adds two scalars, and the time to import the "
        "package.\n",
        *_table(["", ""], body),
    ]


def _reasons(results: Results) -> list[str]:
    said = dict.fromkeys(
        f"- {row.model}, {SYSTEMS[row.system].label}{texts.KIND[SYSTEMS[row.system].int8]}: {row.reason}"
        for row in results.rows
        if row.reason
    )
    return ["## Networks that a system cannot run\n", *said, ""] if said else []


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--figures", type=Path, default=FIGURES, help="the folder of the figures files")
    parser.add_argument("--docs", type=Path, default=DOCS, help="the folder of the page and the chart")
    parser.add_argument("--readme", type=Path, default=README, help="the file with a part of the figures")
    options = parser.parse_args()
    path = options.figures / "avx512.json"
    if not path.exists():
        parser.error(f"{path} does not exist: `make bench` writes it")
    measurements = Measurements.read(options.figures)
    results = measurements.avx512
    (options.docs / "benchmarks.md").write_text(page(measurements))
    (options.docs / "benchmarks.svg").write_text(chart(results))
    if measurements.field is not None:
        options.readme.write_text(readme(options.readme.read_text(), results, measurements.field))


if __name__ == "__main__":
    main()
