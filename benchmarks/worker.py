"""A worker process for one system with one model. It has three commands:

`write system model folder` writes the files of the system into `folder`, and answers {"seconds", "bytes"},
where "bytes" is the size of the files.

`reference model folder kind` saves the inputs as input_<i>.npy and the outputs of eager PyTorch as
output_<i>.npy. For the kind "int8", it also saves more inputs and outputs in samples.npz.

`run system folder files threads` loads the files in `files`, and runs them once with the inputs in `folder`.
It saves the outputs in `files`. The first answer is {"load": seconds, "first": milliseconds, "outputs":
count, "resident": peak memory in bytes}. Then it answers these requests:

- {"run": seconds}: the milliseconds of every run;
- {"run": seconds, "cpu": true}: pairs of elapsed milliseconds and processor milliseconds of all threads;
- {"agree": true}: the share of samples with the same index of the largest output as eager PyTorch.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.process import serve
from benchmarks.systems import SYSTEMS

warnings.filterwarnings("ignore")

SAMPLES = 200
"""The number of inputs for the comparison of int8 programs with eager PyTorch."""


def module_of(system: str) -> Any:
    return importlib.import_module(f"benchmarks.systems.{SYSTEMS[system].kind}")


def write(system: str, model: str, folder: str) -> None:
    def prepare() -> dict[str, float]:
        import logging

        from models.catalog import build

        case = build(model, trained=SYSTEMS[system].int8)
        logging.disable(logging.WARNING)
        start = time.perf_counter()
        module_of(system).write(case, Path(folder), SYSTEMS[system].options)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "bytes": sum(path.stat().st_size for path in Path(folder).iterdir())}

    serve(lambda _: None, hello=prepare)


def reference(model: str, folder: str, kind: str) -> None:
    def prepare() -> int:
        import torch
        from models.catalog import build
        from models.digits import HELD_OUT

        case = build(model, trained=kind == "int8")
        with torch.no_grad():
            outputs = torch.utils._pytree.tree_leaves(case.module(*case.inputs))
            for name, tensors in (("input", case.inputs), ("output", outputs)):
                for i, tensor in enumerate(tensors):
                    np.save(Path(folder) / f"{name}_{i}.npy", tensor.numpy())
            if kind == "int8":
                samples = case.samples(SAMPLES, HELD_OUT)
                best = torch.stack(
                    [
                        torch.utils._pytree.tree_leaves(case.module(*inputs))[0].argmax(-1)
                        for inputs in samples
                    ]
                )
                arrays: dict[str, Any] = {
                    str(i): torch.stack(values).numpy() for i, values in enumerate(zip(*samples, strict=True))
                }
                np.savez(Path(folder) / "samples.npz", best=best.numpy(), **arrays)
        return len(outputs)

    serve(lambda _: None, hello=prepare)


def arrays_of(folder: Path, kind: str) -> list[Any]:
    return [np.load(folder / f"{kind}_{i}.npy") for i in range(len(list(folder.glob(f"{kind}_*.npy"))))]


def save_outputs(outputs: Sequence[Any], folder: Path) -> None:
    for i, output in enumerate(outputs):
        np.save(folder / f"output_{i}.npy", output)


def not_loaded(_: Sequence[Any]) -> Any:
    raise RuntimeError("no program is loaded")


def resident() -> int:
    """Returns the peak memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def run(system: str, folder: str, files: str, threads: str) -> None:
    call: Callable[[Sequence[Any]], Any] = not_loaded
    inputs = arrays_of(Path(folder), "input")

    def load() -> dict[str, float]:
        nonlocal call
        start = time.perf_counter()
        call = module_of(system).load(Path(files), int(threads))
        loaded = time.perf_counter() - start
        start = time.perf_counter()
        outputs = call(inputs)
        first = time.perf_counter() - start
        save_outputs(outputs, Path(files))
        return {"load": loaded, "first": first * 1e3, "outputs": len(outputs), "resident": resident()}

    def answer(request: dict[str, float]) -> Any:
        if "agree" in request:
            return agreement()
        pairs = measure(request["run"])
        return pairs if "cpu" in request else [pair[0] for pair in pairs]

    def measure(seconds: float) -> list[tuple[float, float]]:
        times: list[tuple[float, float]] = []
        call(inputs)
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            start, used = time.perf_counter(), time.process_time()
            call(inputs)
            passed = time.perf_counter() - start
            times.append((passed * 1e3, (time.process_time() - used) * 1e3))
        return times

    def agreement() -> float:
        with np.load(Path(folder) / "samples.npz") as samples:
            columns = [samples[str(i)] for i in range(len(inputs))]
            best = samples["best"]
        found = [call(sample)[0].argmax(-1) for sample in zip(*columns, strict=True)]
        return float((np.stack(found) == best).mean())

    serve(answer, hello=load)


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {"write": write, "reference": reference, "run": run}
    commands[sys.argv[1]](*sys.argv[2:])
