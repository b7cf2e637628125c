"""Rushlight with its XnnpackBackend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.models import Case


def prepare(case: Case, folder: Path, threads: int) -> Callable[[], list[torch.Tensor]]:
    import rushlight
    from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
    from rushlight.exir import to_edge_transform_and_lower

    path = folder / "xnnpack.pte"
    program = to_edge_transform_and_lower(
        torch.export.export(case.module, case.inputs), partitioner=[XnnpackPartitioner()]
    ).to_executorch()
    program.save(str(path))
    method = rushlight.load(path, threads=threads)
    return lambda: torch.utils._pytree.tree_leaves(method(*case.inputs))
