"""ExecuTorch's released wheel, with XNNPACK or without a delegate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from models.catalog import Case


def write(case: Case, folder: Path, options: str) -> None:
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackDynamicallyQuantizedPartitioner,
        XnnpackPartitioner,
    )
    from executorch.exir import to_edge_transform_and_lower

    words = options.split()
    exported = torch.export.export(case.module, case.inputs)
    partitioners: list[Any] = [XnnpackPartitioner()] if "xnnpack" in words else []
    if "int8" in words:
        exported, is_dynamic = _quantized(case, exported)
        if is_dynamic:
            partitioners.insert(0, XnnpackDynamicallyQuantizedPartitioner())
    program = to_edge_transform_and_lower(exported, partitioner=partitioners).to_executorch()
    (folder / "model.pte").write_bytes(program.buffer)


def _quantized(case: Case, exported: Any) -> tuple[Any, bool]:
    import torch
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from models.catalog import is_dynamic_in_int8
    from models.digits import CALIBRATION
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    is_dynamic = is_dynamic_in_int8(case.name)
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    prepared = prepare_pt2e(exported.module(), XNNPACKQuantizer().set_global(config))
    with torch.no_grad():
        for inputs in case.samples(16, seed=CALIBRATION):
            prepared(*inputs)
    return torch.export.export(convert_pt2e(prepared), case.inputs), is_dynamic


def load(folder: Path, threads: int) -> Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]:
    import torch
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime

    portable_lib._unsafe_reset_threadpool(threads)
    program = Runtime.get().load_program(folder / "model.pte")
    method = program.load_method("forward")

    def run(arrays: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        assert program.method_names  # a method does not hold a reference to its program
        return [output.numpy() for output in method.execute([torch.from_numpy(array) for array in arrays])]

    return run
