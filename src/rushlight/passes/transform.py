"""Passes of the user over an exported program."""

from __future__ import annotations

from typing import Any

from torch.export import ExportedProgram
from torch.fx.passes.infra.pass_manager import PassManager as GraphModulePassManager

from rushlight.passes.pass_manager import ExportedProgramPassManager
from rushlight.passes.rebuild import with_graph_module


def transform_program(program: ExportedProgram, passes: Any, verifiers: Any = None) -> ExportedProgram:
    """The program after `passes`: a list of passes, or a manager of passes over graphs or over programs."""
    if isinstance(passes, GraphModulePassManager):
        result = passes(program.graph_module)
        if not result.modified:
            return program
        return with_graph_module(program, result.graph_module, verifiers)
    manager = passes if isinstance(passes, ExportedProgramPassManager) else ExportedProgramPassManager(passes)
    return manager(program, verifiers).exported_program
