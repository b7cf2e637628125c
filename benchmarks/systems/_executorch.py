"""What the ExecuTorch systems share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from benchmarks.models import Case


def prepare_with(
    partitioners: Sequence[object], case: Case, folder: Path, threads: int
) -> Callable[[], list[torch.Tensor]]:
    """The case's program in float32."""
    return prepare_program(partitioners, torch.export.export(case.module, case.inputs), case.inputs, threads)


def prepare_program(
    partitioners: Sequence[object],
    exported: torch.export.ExportedProgram,
    inputs: tuple[torch.Tensor, ...],
    threads: int,
) -> Callable[[], list[torch.Tensor]]:
    """What runs a program as ExecuTorch lowers it."""
    logging.disable(logging.WARNING)
    from executorch.exir import to_edge_transform_and_lower
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime

    program = to_edge_transform_and_lower(exported, partitioner=list(partitioners)).to_executorch()
    portable_lib._unsafe_reset_threadpool(threads)
    loaded = Runtime.get().load_program(program.buffer)
    method = loaded.load_method("forward")

    def run() -> list[torch.Tensor]:
        assert loaded.method_names  # a method does not keep its program alive
        return list(method.execute(inputs))

    return run
