"""OpenVINO with the CPU plugin; its PyTorch frontend converts the model, and NNCF quantizes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from models.catalog import Case


def write(case: Case, folder: Path, options: str) -> None:
    import openvino
    import torch

    model = openvino.convert_model(
        torch.export.export(case.module, case.inputs, dynamic_shapes=case.dynamic_shapes)
    )
    if options == "int8":
        import nncf
        from models.catalog import is_dynamic_in_int8
        from models.digits import CALIBRATION

        samples = [[x.numpy() for x in inputs] for inputs in case.samples(16, seed=CALIBRATION)]
        model = nncf.quantize(
            model,
            nncf.Dataset(samples),
            subset_size=len(samples),
            preset=nncf.QuantizationPreset.PERFORMANCE,
            model_type=nncf.ModelType.TRANSFORMER if is_dynamic_in_int8(case.name) else None,
        )
    openvino.save_model(model, folder / "model.xml", compress_to_fp16=False)


def load(folder: Path, threads: int) -> Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]:
    return _requests(folder, threads, 1)[0]


def load_many(folder: Path, callers: int) -> list[Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]]:
    """Compiles one model with a stream for each caller. Separate models would share one core."""
    return _requests(folder, callers, callers)


def _requests(
    folder: Path, threads: int, streams: int
) -> list[Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]]:
    import openvino

    compiled = openvino.Core().compile_model(
        folder / "model.xml",
        "CPU",
        {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY" if streams == 1 else "THROUGHPUT",
            "NUM_STREAMS": streams,
            "INFERENCE_PRECISION_HINT": "f32",
        },
    )
    count = len(compiled.outputs)

    def runner(request: Any) -> Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]:
        def run(arrays: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
            results = request.infer(list(arrays), share_inputs=True, share_outputs=True)
            return [results[i] for i in range(count)]

        return run

    return [runner(compiled.create_infer_request()) for _ in range(streams)]
