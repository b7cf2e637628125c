"""PyTorch, eager."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.models import Case


def prepare(case: Case, folder: Path, threads: int) -> Callable[[], list[torch.Tensor]]:
    torch.set_num_threads(threads)

    def run() -> list[torch.Tensor]:
        with torch.inference_mode():
            return torch.utils._pytree.tree_leaves(case.module(*case.inputs))

    return run
