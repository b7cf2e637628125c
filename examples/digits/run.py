"""Runs a compiled digits classifier on saved images. It needs only numpy and the native runtime.

usage: run.py digits.pte images.npy logits.npy
Prints one JSON object: median milliseconds for an image, planned bytes, and whether torch was imported.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import numpy as np

import rushlight


def main(model_path: str, images_path: str, logits_path: str) -> None:
    images = np.load(images_path)
    module = rushlight.load(model_path)
    logits, seconds = [], []
    for image in images:
        start = time.perf_counter()
        logits.append(module(image[None]))
        seconds.append(time.perf_counter() - start)
    np.save(logits_path, np.concatenate(logits))
    report = {
        "milliseconds": statistics.median(seconds) * 1e3,
        "planned_bytes": sum(module.method("forward").metadata.planned_sizes()),
        "torch_loaded": "torch" in sys.modules,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:4])
