"""Compiles every model of the zoo, compares its calls with eager PyTorch, and prints the outcomes.

python -m models.zoo.run [--models 'modules/*'] [--backend kernels] [--out results.json]
"""

from __future__ import annotations

import argparse
import copy
import fnmatch
import importlib
import json
import multiprocessing
import sys
import time
import traceback
import warnings
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.common import import_torchvision
from models.zoo.cases import ZOO, Model

if TYPE_CHECKING:
    from rushlight.delegate.partitioner import Partitioner

BACKENDS = ("cpu", "xnnpack", "kernels")
GROUPS = ("modules", "control_flow", "domains", "torchvision", "timm", "transformers")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m models.zoo.run", description=__doc__)
    parser.add_argument("--models", default="*", help="comma-separated patterns of model names")
    parser.add_argument("--backend", choices=BACKENDS, default="cpu", help="the backend (default: cpu)")
    parser.add_argument("--out", type=Path, help="the JSON file for the results")
    parser.add_argument("--resume", action="store_true", help="skip the models whose results --out contains")
    parser.add_argument("--timeout", type=float, default=300)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    names = choose(options.models)
    prepare()
    results: dict[str, Any] = {}
    if options.out and options.out.exists():
        results = json.loads(options.out.read_text())
    for name in names:
        if options.resume and name in results:
            continue
        results[name] = in_child(name, options.timeout, options.backend)
        print(line(name, results[name]), flush=True)
        if options.out:
            options.out.write_text(json.dumps(results, indent=1))
    counts: dict[str, int] = {}
    for name in names:
        counts[results[name]["outcome"]] = counts.get(results[name]["outcome"], 0) + 1
    print(counts)


def prepare() -> None:
    """Imports the packages of all models once, before processes are forked."""
    import torch

    import rushlight

    torch.set_num_threads(1)
    with torch.no_grad():
        rushlight.compile(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
    if any(name.startswith("transformers/") for name in ZOO):
        from models.zoo.transformers import library

        for name in ("BertModel", "LlamaForCausalLM", "ViTModel"):
            getattr(library(), name)
    if any(name.startswith("timm/") for name in ZOO):
        import_torchvision()
        importlib.import_module("timm")


def choose(patterns: str) -> list[str]:
    for group in GROUPS:
        if any(group.startswith(p.split("/")[0].rstrip("*")) for p in patterns.split(",")):
            importlib.import_module(f"models.zoo.{group}")
    return [n for n in ZOO if any(fnmatch.fnmatchcase(n, p) for p in patterns.split(","))]


def line(name: str, result: dict[str, Any]) -> str:
    text = f"{result['outcome']:8}{name:45}"
    if "compile_s" in result:
        text += f" {result['export_s']:6.2f} {result['compile_s']:6.2f} s"
        text += f" {result['planned_bytes'] / 1024:8.1f} KB"
    return text + "  " + result.get("reason", "")[:300].replace("\n", " ")


def in_child(name: str, timeout: float, backend: str) -> dict[str, Any]:
    """Measures a model in a forked process, so that a crash or a timeout affects only this model."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def work() -> None:
        try:
            there.send(measure(name, backend))
        except BaseException as error:
            there.send({"outcome": "error", "reason": repr(error), "trace": traceback.format_exc()})

    process = context.Process(target=work)
    process.start()
    there.close()
    result: dict[str, Any] = {"outcome": "crash", "reason": "the process ended"}
    try:
        if here.poll(timeout):
            result = here.recv()
        else:
            result = {"outcome": "hang", "reason": f"no answer in {timeout:.0f} s"}
            process.kill()
    except EOFError:
        pass
    process.join()
    return result


def measure(name: str, backend: str = "cpu") -> dict[str, Any]:
    """Measures one model.

    Returns:
        The outcome: "ok", "differs", or the step that failed ("export", "compile", "load", "run"); the
        reason; and figures.
    """
    import torch

    import rushlight
    from rushlight.runtime import Runtime

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    model, eager = build(name), build(name)
    try:
        expected = [
            torch.utils._pytree.tree_leaves(
                copy.deepcopy(
                    eager.methods[c.method].module(*copy.deepcopy(c.args), **copy.deepcopy(c.kwargs))
                )
            )
            for c in eager.calls
        ]
        start = time.perf_counter()
        programs = {
            n: torch.export.export(
                m.module,
                copy.deepcopy(m.args),
                copy.deepcopy(m.kwargs),
                dynamic_shapes=m.dynamic_shapes,
                strict=False,
            )
            for n, m in model.methods.items()
        }
        result: dict[str, Any] = {"export_s": time.perf_counter() - start}
    except Exception as error:
        return {"outcome": "export", "reason": f"{type(error).__name__}: {error}"}
    try:
        start = time.perf_counter()
        manager = rushlight.compile(programs, partitioner=partitioner_of(backend)).manager
        data = manager.buffer
        result["compile_s"] = time.perf_counter() - start
    except Exception as error:
        return {
            "outcome": "compile",
            "reason": f"{type(error).__name__}: {error}",
            "trace": traceback.format_exc(),
        }
    plans = manager.executorch_program.execution_plan
    result["planned_bytes"] = sum(sum(plan.non_const_buffer_sizes) for plan in plans)
    result["file_bytes"] = len(data)
    result["delegates"] = sum(len(plan.delegates) for plan in plans)
    try:
        program = Runtime.get().load_program(data)
        methods = {n: program.load_method(n) for n in programs}
    except Exception as error:
        return result | {"outcome": "load", "reason": f"{type(error).__name__}: {error}"}
    worst = 0.0
    for index, (call, want) in enumerate(zip(model.calls, expected, strict=True)):
        inputs = torch.utils._pytree.tree_leaves((call.args, call.kwargs))
        try:
            got = list(methods[call.method].execute(inputs))
        except Exception as error:
            return result | {"outcome": "run", "reason": f"call {index + 1}: {type(error).__name__}: {error}"}
        difference = compare(got, want)
        if isinstance(difference, str) or not difference <= model.tolerance:
            return result | {"outcome": "differs", "reason": f"call {index + 1}: {difference}"}
        worst = max(worst, difference)
    return result | {"outcome": "ok", "error": worst, "calls": len(expected)}


def partitioner_of(backend: str) -> list[Partitioner] | None:
    """Returns the argument `partitioner` of rushlight.compile. None is its default."""
    if backend == "xnnpack":
        from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner

        return [XnnpackPartitioner()]
    return [] if backend == "kernels" else None


def build(name: str) -> Model:
    import torch

    torch.manual_seed(zlib.crc32(name.encode()))
    return ZOO[name]()


def compare(got: list[Any], want: list[Any]) -> float | str:
    """Returns the largest error relative to the largest magnitude, or a text that describes a difference."""
    import torch

    if len(got) != len(want):
        return f"{len(got)} outputs instead of {len(want)}"
    worst = 0.0
    for index, (g, w) in enumerate(zip(got, want, strict=True)):
        if not isinstance(w, torch.Tensor):
            same = g == w or (isinstance(w, float) and abs(g - w) <= 1e-6 * abs(w))
            if not same:
                return f"output {index} is {g!r}, not {w!r}"
            continue
        if not isinstance(g, torch.Tensor) or g.dtype != w.dtype or g.shape != w.shape:
            shape = f"{g.dtype} {tuple(g.shape)}" if isinstance(g, torch.Tensor) else repr(g)
            return f"output {index} is {shape}, not {w.dtype} {tuple(w.shape)}"
        if not w.dtype.is_floating_point and not w.dtype.is_complex:
            if not torch.equal(g, w):
                return f"output {index}: {int((g != w).sum())} of {w.numel()} integers differ"
            continue
        kind = torch.complex128 if w.dtype.is_complex else torch.float64
        a, b = g.to(kind), w.to(kind)
        equal = (a == b) | (a.isnan() & b.isnan())
        error = torch.where(equal, 0, (a - b).abs())
        finite = b.abs()[b.abs().isfinite()]
        scale = max(float(finite.max()) if finite.numel() else 0.0, 1e-6)
        worst = max(worst, float(error.max()) / scale if error.numel() else 0.0)
        if error.isnan().any():
            return f"output {index} and the output of eager PyTorch have NaN or infinity at different places"
    return worst


if __name__ == "__main__":
    sys.exit(main())
