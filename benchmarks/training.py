"""python -m benchmarks.training [model ...]: trains the networks of int8 measurements."""

from __future__ import annotations

import sys
import time

import torch
from models.catalog import build
from models.digits import HELD_OUT
from models.trained import RECIPES


def main() -> None:
    for name in sys.argv[1:] or RECIPES:
        start = time.process_time()
        case = build(name, trained=True)
        seconds = time.process_time() - start
        images, labels = case.pictures(200, HELD_OUT)
        with torch.no_grad():
            found = torch.cat([case.module(part).argmax(-1) for part in images.split(8)])
        right = (found == labels).float().mean()
        print(f"{name}: accuracy {right:.1%} on {len(labels)} test images, {seconds:.0f} CPU seconds")


if __name__ == "__main__":
    main()
