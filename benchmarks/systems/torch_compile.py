"""torch.compile with Inductor. Weights are frozen, so that they are packed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from benchmarks.systems.eager import as_arrays, read_module

if TYPE_CHECKING:
    from models.catalog import Case


def write(case: Case, folder: Path, options: str) -> None:
    import torch

    torch.save(case.module, folder / "module.pt")
    (folder / "mode").write_text(options or "default")


def load(folder: Path, threads: int) -> Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]:
    import torch
    from torch._inductor import config

    config.freezing = True
    compiled = torch.compile(read_module(folder, threads), mode=(folder / "mode").read_text())
    return as_arrays(torch.no_grad()(compiled))
