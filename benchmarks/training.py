"""python -m benchmarks.training [model ...]: trains the networks for figures in 8 bits, and says how well."""

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
        print(f"{name}: {right:.1%} of {len(labels)} held-out digits, trained in {seconds:.0f} s of one core")


if __name__ == "__main__":
    main()
