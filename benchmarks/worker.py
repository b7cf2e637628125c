"""One system with one model in a process of its own, driven by lines of JSON on standard input.

{"run": seconds} answers {"milliseconds": [...]}; the first answer, after preparation, is {"ready": preparation seconds}.
Outputs of the first run are saved as output_<i>.npy in the given folder.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import warnings
from pathlib import Path


def main(system: str, model: str, threads: str, folder: str) -> None:
    warnings.filterwarnings("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print goes to standard error

    def answer(**values: object) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    import numpy as np
    import torch

    from benchmarks.models import build

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    torch.set_num_threads(int(threads))
    case = build(model)
    start = time.perf_counter()
    run = importlib.import_module(f"benchmarks.systems.{system}").prepare(case, Path(folder), int(threads))
    prepared = time.perf_counter() - start
    start = time.perf_counter()
    outputs = run()
    first = time.perf_counter() - start
    for i, output in enumerate(outputs):
        value = output.detach().numpy() if isinstance(output, torch.Tensor) else np.asarray(output)
        np.save(Path(folder) / f"output_{i}.npy", value)
    answer(ready=prepared, first=first * 1e3, outputs=len(outputs))
    for line in sys.stdin:
        seconds = json.loads(line)["run"]
        times = []
        end = time.perf_counter() + seconds
        run()
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
        answer(milliseconds=times)


if __name__ == "__main__":
    main(*sys.argv[1:5])
