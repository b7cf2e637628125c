"""Writes docs/benchmarks.md, the page of what was measured, from the JSON file of python -m benchmarks."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.latency import TOLERANCE, Row
from benchmarks.process import ROOT
from benchmarks.results import INT8_RATIO, RATIOS, WITHHELD, Results, ratio
from benchmarks.show import COMPILE, LOWERING, compile_cells, lowering_cells, number, planned_cells
from benchmarks.systems import PEER_NAMES, SYSTEMS
from benchmarks.worker import SAMPLES

_HEAD = """# Benchmarks{title}

Written by `make {command}`. {how}All systems run in turn in one run, each in a process of its own; times are
medians of single runs in milliseconds, batch 1. Weights are random; pictures are scikit-learn's digits,
enlarged. For int8 and its float32 beside it the networks for pictures have been trained to tell digits apart
(`python -m benchmarks.training`): of random ones every rounding changes the largest result. Different digits
train, calibrate and test them, the same ones for every system. A float32 system counts as a peer if its
outputs are eager's to within {tolerance:.0e} of the largest magnitude. The ratio is our time over that of
the fastest peer: ExecuTorch with XNNPACK, ONNX Runtime, OpenVINO, LiteRT, torch.compile; "highest" is
`rushlight.compile` as it is, in full float32; "high" is with `float32_matmul_precision="high"`
([docs/cpu-backend.md](cpu-backend.md)). OpenVINO is asked for float32: its default here is bfloat16.

{machine}. On a machine that others use too, read the ratios, not the times.
"""
_WITHOUT_AVX512 = """No system uses AVX-512, which the processor has: ours and torch are asked not to, the
other libraries are copies to which it is not shown (benchmarks/without_avx512.py). """
_KIND = {False: "", True: " int8"}


def page(results: Results) -> str:
    machine = ", ".join(f"{key}: {value}" for key, value in results.machine.items())
    names = (
        {"title": " without AVX-512", "command": "bench-avx2", "how": _WITHOUT_AVX512}
        if WITHHELD in results.machine
        else {"title": "", "command": "bench", "how": ""}
    )
    parts = [_HEAD.format(tolerance=TOLERANCE, machine=machine, **names)]
    for threads in results.threads():
        for int8 in (False, True):
            parts += _latency(results, threads, int8)
    parts += _others(results)
    parts += _errors(results)
    parts += _same_library(results)
    parts += _quantized_networks(results)
    for head, *rows in results.quantization:
        parts += [f"## Quantized: {head[0]}\n", *_table(["", *head[1:]], rows)]
    parts += _starts(results) + _compile(results) + _lowering(results) + _calls(results) + _reasons(results)
    return "\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return [*lines, ""]


def _columns(results: Results, int8: bool) -> list[str]:
    used = {row.system for row in results.rows}
    return [name for name, system in SYSTEMS.items() if name in used and system.int8 == int8]


def _main(results: Results, int8: bool) -> list[str]:
    """The networks with a table of all systems: those with an aim."""
    return [model for model in results.models(int8) if model in RATIOS]


def _latency(results: Results, threads: int, int8: bool) -> list[str]:
    systems = _columns(results, int8)
    body = []
    for model in _main(results, int8):
        block = results.block(model, threads, int8)
        if not block:
            continue
        ratios = [ratio(block, int8), *([] if int8 else [ratio(block, int8, "rushlight_high")])]
        aim = INT8_RATIO if int8 else RATIOS.get(model)
        body.append(
            [
                model,
                *(_time(block.get(name), int8) for name in systems),
                *(f"{found[0]:.2f}" if found else "" for found in ratios),
                number(aim),
            ]
        )
    if not body:
        return []
    kind = "int8" if int8 else "float32"
    title = f"## {kind}, {threads} thread{'s' if threads > 1 else ''}\n"
    heads = ["ratio", "aim"] if int8 else ["ratio, highest", "ratio, high", "aim"]
    return [title, *_table(["", *(SYSTEMS[name].label for name in systems), *heads], body)]


def _time(row: Row | None, int8: bool) -> str:
    if row is None:
        return ""
    if row.milliseconds is None:
        return "-"
    text = number(row.milliseconds)
    if not int8 and row.error is not None and row.error > TOLERANCE:
        text += f" (error {row.error:.0e})"
    if row.agreement is not None:
        text += f" ({row.agreement:.0%} agree)"
    return text


def _quantized_networks(results: Results) -> list[str]:
    """Top-1 agreement with float32, and the size of the file beside the smallest of float32."""
    systems = [name for name in _columns(results, True) if name != "rushlight_float"]
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
    what = "file / smallest float32 file"
    title = f"## int8 networks: top-1 agreement with float32 over {SAMPLES} inputs, {what}\n"
    return [title, *_table(["", *(SYSTEMS[name].label for name in systems)], body)]


def _accuracy(row: Row | None, plain: int | None) -> str:
    if row is None or row.agreement is None:
        return ""
    size = f", {row.file / plain:.3f}" if plain and row.file else ""
    return f"{row.agreement:.1%}{size}"


def _starts(results: Results) -> list[str]:
    lines: list[str] = []
    for title, key, scale, digits in (
        ("First run, ms", "first", 1.0, 1),
        ("From the start of a process to its first result, s", "cold", 1.0, 2),
        ("Preparing the program ahead of time, export included, s", "write", 1.0, 1),
        ("Files, MB", "file", 1e-6, 1),
        ("Memory of the process at most after the first run, MB", "resident", 1e-6, 0),
    ):
        for int8 in (False, True):
            systems = _columns(results, int8)
            threads = results.threads()[-1:]
            blocks = [(m, results.block(m, t, int8)) for m in _main(results, int8) for t in threads]
            body = [
                [model, *(number(getattr(block.get(name), key, None), scale, digits) for name in systems)]
                for model, block in blocks
            ]
            if any(cell for row in body for cell in row[1:]):
                kind = "int8" if int8 else "float32"
                lines += [f"## {title} ({kind})\n"]
                lines += _table(["", *(SYSTEMS[name].label for name in systems)], body)
    return lines


def _compile(results: Results) -> list[str]:
    if not results.compile:
        return []
    body = [[model, *compile_cells(systems)] for model, systems in results.compile.items() if model in RATIOS]
    return [
        "## Compiling an exported program, and the memory planned, inputs included\n",
        *_table(COMPILE, body),
    ]


def _others(results: Results) -> list[str]:
    """Networks without an aim of their own: ours beside the fastest peer, and the memory planned."""
    models = [model for model in results.models(False) if model not in RATIOS]
    if not models:
        return []
    head = [""]
    for threads in results.threads():
        count = f"{threads} thread{'s' if threads > 1 else ''}"
        head += [f"Rushlight, {count}, ms", "fastest peer, ms", "ratio"]
    head += ["planned MB", "ExecuTorch's", "ours / ExecuTorch's"]
    body = []
    for model in models:
        cells = [model]
        for threads in results.threads():
            found = ratio(results.block(model, threads, False), False)
            cells += _beside(found) if found else ["", "", ""]
        body.append([*cells, *planned_cells(results.compile.get(model, {}))])
    used = {row.system for row in results.rows if row.model in models and row.milliseconds}
    peers = ", ".join(SYSTEMS[name].label for name in PEER_NAMES if name in used)
    return [
        "## Other networks, float32\n",
        f"The fastest of {peers}, where prepared. Memory planned includes inputs: ExecuTorch's without a "
        "delegate.\n",
        *_table(head, body),
    ]


def _beside(found: tuple[float, Row, Row]) -> list[str]:
    value, ours, theirs = found
    label = SYSTEMS[theirs.system].label
    return [number(ours.milliseconds), f"{number(theirs.milliseconds)} ({label})", f"{value:.2f}"]


def _errors(results: Results) -> list[str]:
    systems = _columns(results, False)
    threads = results.threads()[0]
    body = [
        [model, *(_error(results.block(model, threads, False).get(name)) for name in systems)]
        for model in results.models(False)
    ]
    return [
        "## Largest difference from eager's results over their largest magnitude, float32\n",
        *_table(["", *(SYSTEMS[name].label for name in systems)], body),
    ]


def _error(row: Row | None) -> str:
    return "" if row is None or row.error is None else f"{row.error:.0e}"


def _same_library(results: Results) -> list[str]:
    """Ours through XnnpackBackend over ExecuTorch's through its own, float32."""
    head = ("", *(f"{threads} thread{'s' if threads > 1 else ''}" for threads in results.threads()))
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
    return ["## float32, Rushlight + XNNPACK / ExecuTorch + XNNPACK\n", *_table(head, body)] if body else []


def _lowering(results: Results) -> list[str]:
    if not results.lowering:
        return []
    return [
        "## `edge.to_backend(XnnpackPartitioner())` of 4,000 operators, CPU seconds\n",
        "islands: 50 operators that stay on kernels lie between the others. one: none do.\n",
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
        "## From Python: a call of a program that adds two scalars, and imports\n",
        *_table(["", ""], body),
    ]


def _reasons(results: Results) -> list[str]:
    said = dict.fromkeys(
        f"- {row.model}, {SYSTEMS[row.system].label}{_KIND[SYSTEMS[row.system].int8]}: {row.reason}"
        for row in results.rows
        if row.reason
    )
    return ["## What has no time, and why\n", *said, ""] if said else []


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("results", type=Path, nargs="?", default=ROOT / "build" / "bench.json")
    parser.add_argument("page", type=Path, nargs="?", default=ROOT / "docs" / "benchmarks.md")
    options = parser.parse_args()
    if not options.results.exists():
        parser.error(f"{options.results} is not there: `make bench` writes it")
    options.page.write_text(page(Results.read(options.results)))


if __name__ == "__main__":
    main()
