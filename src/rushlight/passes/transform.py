"""Runs passes of the user on an exported program."""

from __future__ import annotations

from collections.abc import Sequence

from torch._export.verifier import Verifier
from torch.export import ExportedProgram

from rushlight.passes.base import PassTree
from rushlight.passes.pass_manager import ExportedProgramPassManager


def transform_program(
    program: ExportedProgram, passes: PassTree | None, verifiers: Sequence[type[Verifier]] | None = None
) -> ExportedProgram:
    """Returns the program after `passes`, which are a list of passes or a pass manager."""
    manager = passes if isinstance(passes, ExportedProgramPassManager) else ExportedProgramPassManager(passes)
    return manager(program, verifiers).exported_program
