"""ONNX Runtime with the CPU provider; torch.onnx exports the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from models.catalog import Case


def write(case: Case, folder: Path, options: str) -> None:
    import torch

    path = folder / "model.onnx"
    torch.onnx.export(
        case.module,
        case.inputs,
        path,
        dynamo=True,
        external_data=False,
        dynamic_shapes=case.dynamic_shapes,
    )
    if options == "int8":
        _quantize(case, path)


def _quantize(case: Case, path: Path) -> None:
    from models.catalog import is_dynamic_in_int8
    from models.digits import CALIBRATION
    from onnxruntime import quantization as q
    from onnxruntime.quantization.shape_inference import quant_pre_process

    prepared = path.with_name("prepared.onnx")
    quant_pre_process(path, prepared, skip_symbolic_shape=True)
    if is_dynamic_in_int8(case.name):
        q.quantize_dynamic(prepared, path, per_channel=True, weight_type=q.QuantType.QInt8)
    else:
        import onnx

        names = [value.name for value in onnx.load(prepared).graph.input]
        samples = iter(case.samples(16, seed=CALIBRATION))

        class Reader(q.CalibrationDataReader):  # type: ignore[misc]
            def get_next(self) -> Any:
                inputs = next(samples, None)
                return inputs and {name: x.numpy() for name, x in zip(names, inputs, strict=True)}

        q.quantize_static(
            prepared,
            path,
            Reader(),
            quant_format=q.QuantFormat.QDQ,
            per_channel=True,
            activation_type=q.QuantType.QUInt8,
            weight_type=q.QuantType.QInt8,
        )
    prepared.unlink()


def load(folder: Path, threads: int) -> Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]

    def run(arrays: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        outputs: list[NDArray[Any]] = session.run(None, dict(zip(names, arrays, strict=True)))
        return outputs

    return run
