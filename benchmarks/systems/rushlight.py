"""Rushlight: rushlight.compile with its defaults, precision "high", another backend or no backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from models.catalog import Case


def write(case: Case, folder: Path, options: str) -> None:
    import rushlight
    from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner

    words = options.split()
    program: Any = case.module
    if "int8" in words:
        program = _quantized(case, "xnnpack" in words)
    partitioners: dict[str, list[Any]] = {
        "xnnpack": [XnnpackPartitioner()],
        "kernels": [],
    }
    chosen = next((partitioners[word] for word in words if word in partitioners), None)
    compiled = rushlight.compile(
        program,
        case.inputs,
        dynamic_shapes=case.dynamic_shapes,
        partitioner=chosen,
        float32_matmul_precision="high" if "high" in words else "highest",
    )
    compiled.save(folder / "model.pte")


def _quantized(case: Case, for_xnnpack: bool) -> Any:
    import torch
    from models.catalog import is_dynamic_in_int8
    from models.digits import CALIBRATION

    from rushlight.backends.cpu.quantizer import CpuQuantizer
    from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from rushlight.quantize import (
        ComposableQuantizer,
        dynamic_int8,
        quantize,
        static_int8,
        weight_only_int8,
    )

    dynamic = is_dynamic_in_int8(case.name)
    if for_xnnpack:
        quantizer: Any = XNNPACKQuantizer().set_global(
            get_symmetric_quantization_config(is_per_channel=True, is_dynamic=dynamic)
        )
        if dynamic:
            # Embeddings: XNNPACK does not support them, so that kernels run them.
            tables = CpuQuantizer().set_module_type(torch.nn.Embedding, weight_only_int8())
            quantizer = ComposableQuantizer([tables, quantizer])
    else:
        quantizer = CpuQuantizer().set_global(dynamic_int8() if dynamic else static_int8())
    return quantize(case.module, case.inputs, quantizer, case.samples(16, seed=CALIBRATION))


def load(folder: Path, threads: int) -> Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]:
    import rushlight

    method = rushlight.load(folder / "model.pte", threads=threads).method("forward")

    def run(arrays: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        outputs = method(*arrays)
        return outputs if isinstance(outputs, (tuple, list)) else (outputs,)

    return run
