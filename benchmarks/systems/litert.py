"""LiteRT with its XNNPACK delegate; litert-torch converts the model.

A conversion takes minutes, most of the time for constants. The lightweight conversion takes seconds, but its
files run slower (ResNet-18: 2.1 times), so that the comparison would not be fair. The second version of the
converter needs nightly builds of TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from models.catalog import Case


def write(case: Case, folder: Path, options: str) -> None:
    import litert_torch

    path = folder / "model.tflite"
    litert_torch.convert(case.module, case.inputs).export(str(path))
    if options == "int8":
        _quantize(case, path)


def _quantize(case: Case, path: Path) -> None:
    from ai_edge_quantizer import quantizer, recipe
    from models.catalog import is_dynamic_in_int8
    from models.digits import CALIBRATION

    if is_dynamic_in_int8(case.name):
        result = quantizer.Quantizer(str(path), recipe.dynamic_wi8_afp32()).quantize()
    else:
        static = quantizer.Quantizer(str(path), recipe.static_wi8_ai8())
        names = [f"args_{i}" for i in range(len(case.inputs))]
        samples = [
            {name: x.numpy() for name, x in zip(names, inputs, strict=True)}
            for inputs in case.samples(16, seed=CALIBRATION)
        ]
        result = static.quantize(static.calibrate({"serving_default": samples}))
    path.unlink()
    result.export_model(str(path))


def load(folder: Path, threads: int) -> Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(folder / "model.tflite"), num_threads=threads)
    run_signature = interpreter.get_signature_runner()
    taken = run_signature.get_input_details()
    inputs = [f"args_{i}" for i in range(len(taken))]
    dtypes = [
        taken[name]["dtype"] for name in inputs
    ]  # the conversion changes int64 inputs to narrower integers
    outputs = sorted(run_signature.get_output_details(), key=lambda name: int(name.rpartition("_")[2]))

    def run(arrays: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        given = (x.astype(dtype, copy=False) for x, dtype in zip(arrays, dtypes, strict=True))
        results = run_signature(**dict(zip(inputs, given, strict=True)))
        return [results[name] for name in outputs]

    return run
