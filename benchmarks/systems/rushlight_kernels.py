"""Rushlight with its default kernels, no delegate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.models import Case


def prepare(case: Case, folder: Path, threads: int) -> Callable[[], list[torch.Tensor]]:
    import rushlight
    from rushlight.exir import to_edge_transform_and_lower

    path = folder / "kernels.pte"
    program = to_edge_transform_and_lower(torch.export.export(case.module, case.inputs)).to_executorch()
    program.save(str(path))
    method = rushlight.load(path, threads=threads)
    return lambda: torch.utils._pytree.tree_leaves(method(*case.inputs))
