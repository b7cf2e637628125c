"""ExecuTorch's released wheel, no delegate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.models import Case
from benchmarks.systems._executorch import prepare_with


def prepare(case: Case, folder: Path, threads: int) -> Callable[[], list[torch.Tensor]]:
    return prepare_with([], case, folder, threads)
