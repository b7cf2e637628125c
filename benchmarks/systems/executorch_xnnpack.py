"""ExecuTorch's released wheel with XNNPACK."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.models import Case
from benchmarks.systems._executorch import prepare_with


def prepare(case: Case, folder: Path, threads: int) -> Callable[[], list[torch.Tensor]]:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return prepare_with([XnnpackPartitioner()], case, folder, threads)
