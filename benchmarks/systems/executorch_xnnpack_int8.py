"""ExecuTorch's released wheel with XNNPACK, int8."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.models import Case
from benchmarks.systems._executorch import prepare_program
from benchmarks.systems._quantized import is_dynamic, quantized


def prepare(case: Case, folder: Path, threads: int) -> Callable[[], list[torch.Tensor]]:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic(case))
    program = quantized(case, XNNPACKQuantizer().set_global(config), prepare_pt2e, convert_pt2e)
    return prepare_program([XnnpackPartitioner()], program, case.inputs, threads)
