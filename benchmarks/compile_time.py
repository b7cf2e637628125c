"""Time to compile: to_edge_transform_and_lower(exported).to_executorch(), ours and ExecuTorch's in turn."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time

from benchmarks.latency import INTEROP, MAIN, ROOT


def worker(package: str, model: str) -> None:
    """Answers every line on standard input with the seconds and planned bytes of one compilation."""
    import importlib
    import logging
    import warnings

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import torch

    from benchmarks.models import build

    exir = importlib.import_module(f"{package}.exir")
    case = build(model)
    for _ in sys.stdin:
        exported = torch.export.export(case.module, case.inputs)
        start = time.perf_counter()
        program = exir.to_edge_transform_and_lower(exported).to_executorch()
        seconds = time.perf_counter() - start
        planned = sum(program.executorch_program.execution_plan[0].non_const_buffer_sizes)
        answers.write(
            json.dumps({"seconds": seconds, "planned": planned, "file": len(program.buffer)}) + "\n"
        )
        answers.flush()


def measure(model: str, rounds: int = 3) -> dict[str, dict[str, float]]:
    workers = {}
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    for package, python in (("rushlight", MAIN), ("executorch", INTEROP)):
        workers[package] = subprocess.Popen(
            [str(python), "-m", "benchmarks.compile_time", package, model],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=ROOT,
        )  # fmt: skip
    answers: dict[str, list[dict[str, float]]] = {package: [] for package in workers}
    for _ in range(rounds):
        for package, process in workers.items():
            assert process.stdin and process.stdout
            process.stdin.write("\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if line:
                answers[package].append(json.loads(line))
    for process in workers.values():
        process.communicate()
    return {
        package: {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        for package, rows in answers.items()
        if rows
    }


def table(models: list[str]) -> str:
    lines = ["compile: to_edge_transform_and_lower(exported).to_executorch(), median of 3"]
    for model in models:
        results = measure(model)
        for package, row in results.items():
            lines.append(
                f"  {model:20}{package:12}{row['seconds']:8.2f} s   planned {row['planned'] / 1e6:7.2f} MB   file {row['file'] / 1e6:7.2f} MB"
            )
        if len(results) == 2:
            ours, theirs = results["rushlight"], results["executorch"]
            lines.append(
                f"  {'':20}ours/theirs {ours['seconds'] / theirs['seconds']:8.3f}     {ours['planned'] / theirs['planned']:15.3f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    worker(*sys.argv[1:3])
