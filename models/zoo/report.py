"""Writes docs/model-zoo.md from what a run of the zoo measured.

python -m models.zoo.report results.json docs/model-zoo.md
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Results = Mapping[str, Mapping[str, Any]]

WHAT = {
    "modules": "state, kinds of inputs and outputs, recurrent layers, seldom used operators",
    "control_flow": "`cond`, loops, `map`, `scan`; dynamic shapes; shapes that depend on data",
    "domains": "generation, audio, graphs, detection, recommendation, control",
    "torchvision": "classification, segmentation, parts of detectors, video, optical flow",
    "timm": "one or two networks of a family",
    "transformers": "text, vision, speech, several modes, caches; two small layers each",
}

_HEAD = """# Model zoo

Networks and modules that are exported by `torch.export`, compiled by `rushlight.compile`, loaded, and run
beside eager torch. This page is written by

    python -m models.zoo.run --out results.json
    python -m models.zoo.report results.json docs/model-zoo.md

`--models 'timm/*,modules/kv_*'` measures some of them, `--backend kernels` or `xnnpack` compiles for these
instead of the default CPU backend, `--resume` goes on with a run. Each model is measured in a process of its
own.

## What is measured

A model agrees if every one of its calls does: further inputs of other sizes where shapes are dynamic,
later steps where there is state, several methods where there are several. Number, dtype and shape of the
outputs are eager's; integers and bools are equal; real and complex numbers differ by at most 1e-3 of an
output's largest magnitude (5e-3 for optical flow). Weights are random and networks reduced: few layers,
small images.
"""


def page(results: Results) -> str:
    """The page: agreement by group, figures, and what remains."""
    lines = [_HEAD, "## Agreement", "", "| group | what | models | agree |", "|---|---|---|---|"]
    for group, what in WHAT.items():
        rows = [row for name, row in results.items() if name.startswith(f"{group}/")]
        if rows:
            lines.append(f"| {group} | {what} | {len(rows)} | {_agreeing(rows)} |")
    lines.append(f"| all | | {len(results)} | {_agreeing(list(results.values()))} |")
    lines += ["", *_figures(results), "", "## What remains", "", *_remaining(results)]
    return "\n".join(lines) + "\n"


def _agreeing(rows: list[Mapping[str, Any]]) -> int:
    return sum(row["outcome"] == "ok" for row in rows)


def _figures(results: Results) -> list[str]:
    rows = {name: row for name, row in results.items() if row["outcome"] == "ok"}
    if not rows:
        return []
    ratios = [row["compile_s"] / row["export_s"] for row in rows.values()]
    errors = sorted(rows, key=lambda name: rows[name]["error"], reverse=True)[:5]
    calls = sum(row["calls"] for row in rows.values())
    return [
        f"Over {calls:,} calls. Compiling takes {statistics.median(ratios):.2f} times as long as exporting "
        "(median).",
        "",
        "| largest differences | of the largest magnitude |",
        "|---|---|",
        *[f"| `{name}` | {rows[name]['error']:.1e} |" for name in errors],
    ]


def _remaining(results: Results) -> list[str]:
    failed = {name: row for name, row in results.items() if row["outcome"] != "ok"}
    if not failed:
        return ["Nothing."]
    lines = ["| model | stage | reason |", "|---|---|---|"]
    for name, row in failed.items():
        reason = " ".join(str(row.get("reason", "")).split())[:200].replace("|", "\\|")
        lines.append(f"| `{name}` | {row['outcome']} | {reason} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m models.zoo.report", description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("page", type=Path)
    options = parser.parse_args()
    options.page.write_text(page(json.loads(options.results.read_text())))


if __name__ == "__main__":
    main()
