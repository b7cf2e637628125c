"""Eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    from models.catalog import Case


def write(case: Case, folder: Path, options: str) -> None:
    import torch

    torch.save(case.module, folder / "module.pt")


def read_module(folder: Path, threads: int) -> Any:
    import torch
    from models.common import import_torchvision

    import_torchvision()
    torch.set_num_threads(threads)
    return torch.load(folder / "module.pt", weights_only=False)


def load(folder: Path, threads: int) -> Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]:
    import torch

    return as_arrays(torch.inference_mode()(read_module(folder, threads)))


def as_arrays(call: Callable[..., Any]) -> Callable[[Sequence[NDArray[Any]]], Sequence[NDArray[Any]]]:
    import torch

    def run(arrays: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        outputs = call(*map(torch.from_numpy, arrays))
        return [output.numpy() for output in torch.utils._pytree.tree_leaves(outputs)]

    return run
