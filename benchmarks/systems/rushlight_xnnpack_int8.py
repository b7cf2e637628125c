"""Rushlight with its XnnpackBackend, int8."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.models import Case
from benchmarks.systems._quantized import is_dynamic, quantized


def prepare(case: Case, folder: Path, threads: int) -> Callable[[], list[torch.Tensor]]:
    import rushlight
    from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
    from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from rushlight.exir import to_edge_transform_and_lower
    from rushlight.quantize.flow import convert_pt2e, prepare_pt2e

    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic(case))
    program = quantized(case, XNNPACKQuantizer().set_global(config), prepare_pt2e, convert_pt2e)
    path = folder / "xnnpack.pte"
    to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().save(str(path))
    method = rushlight.load(path, threads=threads)
    return lambda: torch.utils._pytree.tree_leaves(method(*case.inputs))
