"""Writes docs/model-zoo.md from the results of a run of the zoo.

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
    "timm": "one or two networks of each family",
    "transformers": "text, vision, speech, multimodal models, caches; two small layers each",
}

_HEAD = """# Model zoo

This page shows for how many networks and modules of well-known libraries the results of Rushlight agree
with eager PyTorch. For each model, a separate process calls `torch.export` and `rushlight.compile`, executes
the program, and compares the results with eager PyTorch. These commands write this page, in a checkout of
the repository:

    python -m models.zoo.run --out results.json
    python -m models.zoo.report results.json docs/model-zoo.md

`--models 'timm/*,modules/kv_*'` selects models, `--backend kernels` or `--backend xnnpack` replaces the CPU
backend, and `--resume` continues an interrupted run.

## What is measured

A model *agrees* if all of its calls agree with eager PyTorch. A model with dynamic shapes is called with
inputs of several sizes, a model with state is called several times, and a model with several methods is
called through each method. The outputs must have the same number, dtypes and shapes. Integers and bools
must be equal. Real and complex numbers may differ by at most 1e-3 of the largest magnitude of the output
(5e-3 for optical flow). Weights are random. Networks have few layers and small images.
"""

_GROUPS = (
    "The table shows how many models of each group there are, and how many of them agree.",
    "",
    "| group | content | models | agree |",
    "|---|---|---|---|",
)


def page(results: Results) -> str:
    """Returns the text of the page: agreement by group, figures, and models that do not agree."""
    lines = [_HEAD, "## Results", "", *_GROUPS]
    for group, what in WHAT.items():
        rows = [row for name, row in results.items() if name.startswith(f"{group}/")]
        if rows:
            lines.append(f"| {group} | {what} | {len(rows)} | {_agreeing(rows)} |")
    lines.append(f"| all | | {len(results)} | {_agreeing(list(results.values()))} |")
    lines += ["", *_figures(results), "", "## Models that do not agree", "", *_remaining(results)]
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
        f"The runs made {calls:,} calls. In the median, compiling takes {statistics.median(ratios):.2f} "
        "times as long as exporting. These models have the largest differences:",
        "",
        "| model | difference / largest magnitude |",
        "|---|---|",
        *[f"| `{name}` | {rows[name]['error']:.1e} |" for name in errors],
    ]


def _remaining(results: Results) -> list[str]:
    failed = {name: row for name, row in results.items() if row["outcome"] != "ok"}
    if not failed:
        return ["All models agree."]
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
