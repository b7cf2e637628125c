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
    """Returns the module of `benchmarks.systems` that writes and loads the files of a system."""
    return importlib.import_module(f"benchmarks.systems.{SYSTEMS[system].kind}")


def write(system: str, model: str, folder: str) -> None:
    """Serves the command `write`."""

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
    """Serves the command `reference`."""

    def prepare() -> int:
        import torch
        from models.catalog import build

        case = build(model, trained=kind == "int8")
        with torch.no_grad():
            outputs = torch.utils._pytree.tree_leaves(case.module(*case.inputs))
            for name, tensors in (("input", case.inputs), ("output", outputs)):
                for i, tensor in enumerate(tensors):
                    np.save(Path(folder) / f"{name}_{i}.npy", tensor.numpy())
            if kind == "int8":
                _save_samples(case, Path(folder))
        return len(outputs)

    serve(lambda _: None, hello=prepare)


def _save_samples(case: Any, folder: Path) -> None:
    """Writes samples.npz: the inputs of SAMPLES calls, by position, and the index of the largest output."""
    import torch
    from models.digits import HELD_OUT

    samples = case.samples(SAMPLES, HELD_OUT)
    outputs = [torch.utils._pytree.tree_leaves(case.module(*inputs))[0] for inputs in samples]
    best = torch.stack([output.argmax(-1) for output in outputs])
    columns: dict[str, Any] = {
        str(i): torch.stack(values).numpy() for i, values in enumerate(zip(*samples, strict=True))
    }
    np.savez(folder / "samples.npz", best=best.numpy(), **columns)


def arrays_of(folder: Path, kind: str) -> list[Any]:
    """Returns the arrays in the files `<kind>_<i>.npy` of a folder, in order."""
    return [np.load(folder / f"{kind}_{i}.npy") for i in range(len(list(folder.glob(f"{kind}_*.npy"))))]


def save_outputs(outputs: Sequence[Any], folder: Path) -> None:
    """Writes the files `output_<i>.npy`."""
    for i, output in enumerate(outputs):
        np.save(folder / f"output_{i}.npy", output)


def not_loaded(_: Sequence[Any]) -> Any:
    """Stands for the function that calls a program, until one is loaded."""
    raise RuntimeError("no program is loaded")


def resident() -> int:
    """Returns the peak memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


class Runner:
    """Loads and calls one program of a system.

    Args:
        system: the key of the system in `SYSTEMS`.
        folder: the folder with the inputs, and with samples.npz of int8 models.
        files: the folder with the files of the system; the outputs are written there too.
        threads: the number of threads.
    """

    def __init__(self, system: str, folder: Path, files: Path, threads: int) -> None:
        self._system = system
        self._folder = folder
        self._files = files
        self._threads = threads
        self._inputs = arrays_of(folder, "input")
        self._call: Callable[[Sequence[Any]], Any] = not_loaded

    def load(self) -> dict[str, float]:
        """Loads the program, calls it once and saves the outputs. Returns the first answer of the worker."""
        start = time.perf_counter()
        self._call = module_of(self._system).load(self._files, self._threads)
        loaded = time.perf_counter() - start
        start = time.perf_counter()
        outputs = self._call(self._inputs)
        first = time.perf_counter() - start
        save_outputs(outputs, self._files)
        return {"load": loaded, "first": first * 1e3, "outputs": len(outputs), "resident": resident()}

    def answer(self, request: dict[str, float]) -> Any:
        """Returns the answer to a request; see the docstring of this module."""
        if "agree" in request:
            return self.agreement()
        pairs = self.measure(request["run"])
        return pairs if "cpu" in request else [pair[0] for pair in pairs]

    def measure(self, seconds: float) -> list[tuple[float, float]]:
        """Returns the elapsed and processor milliseconds of each call within a time, after one more call."""
        times: list[tuple[float, float]] = []
        call, inputs = self._call, self._inputs
        call(inputs)
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            start, used = time.perf_counter(), time.process_time()
            call(inputs)
            passed = time.perf_counter() - start
            times.append((passed * 1e3, (time.process_time() - used) * 1e3))
        return times

    def agreement(self) -> float:
        """Returns the share of the samples with the same index of the largest output as eager PyTorch."""
        with np.load(self._folder / "samples.npz") as samples:
            columns = [samples[str(i)] for i in range(len(self._inputs))]
            best = samples["best"]
        found = [self._call(sample)[0].argmax(-1) for sample in zip(*columns, strict=True)]
        return float((np.stack(found) == best).mean())


def run(system: str, folder: str, files: str, threads: str) -> None:
    """Serves the command `run`."""
    runner = Runner(system, Path(folder), Path(files), int(threads))
    serve(runner.answer, hello=runner.load)


if __name__ == "__main__":
    commands: dict[str, Callable[..., None]] = {"write": write, "reference": reference, "run": run}
    commands[sys.argv[1]](*sys.argv[2:])
