"""One system with one model in a process of its own.

The first answer is {"ready": seconds, "first": milliseconds of the first run, "outputs": count};
then {"run": seconds} is answered by the milliseconds of every run. The first run's outputs are saved in the
given folder as output_<i>.npy.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.process import serve

warnings.filterwarnings("ignore")


def main(system: str, model: str, threads: str, folder: str) -> None:
    run: Callable[[], Any]

    def prepare() -> dict[str, float]:
        nonlocal run
        import numpy as np
        import torch

        from benchmarks.models import build

        torch.set_num_threads(int(threads))
        case = build(model)
        start = time.perf_counter()
        run = importlib.import_module(f"benchmarks.systems.{system}").prepare(
            case, Path(folder), int(threads)
        )
        prepared = time.perf_counter() - start
        start = time.perf_counter()
        outputs = run()
        first = time.perf_counter() - start
        for i, output in enumerate(outputs):
            value = output.detach().numpy() if isinstance(output, torch.Tensor) else np.asarray(output)
            np.save(Path(folder) / f"output_{i}.npy", value)
        return {"ready": prepared, "first": first * 1e3, "outputs": len(outputs)}

    def measure(request: dict[str, float]) -> list[float]:
        times: list[float] = []
        run()
        end = time.perf_counter() + request["run"]
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
        return times

    serve(measure, hello=prepare)


if __name__ == "__main__":
    main(*sys.argv[1:5])
