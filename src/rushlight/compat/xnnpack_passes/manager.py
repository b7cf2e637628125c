"""Runs passes that may read the parameters of the program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from torch.export import ExportedProgram

from rushlight.passes.base import PassBase
from rushlight.passes.export_pass import ExportPass
from rushlight.passes.program_pass import ExportedProgramPassBase
from rushlight.passes.transform import transform_program


class XNNPACKPass(ExportPass):
    """A pass over the graph of a program, whose parameters it may read.

    Args:
        exported_program: the program.
    """

    def __init__(self, exported_program: ExportedProgram) -> None:
        super().__init__()
        self._exported_program = exported_program

    @property
    def exported_program(self) -> ExportedProgram:
        """The program."""
        return self._exported_program


class XNNPACKPassManager:
    """Runs passes over an edge program, one after the other.

    Args:
        exported_program: the program.
        passes: the classes of the passes. Those that take an `exported_program` get the program as the passes
            before have left it. None means no pass.
    """

    def __init__(
        self, exported_program: ExportedProgram, passes: Sequence[Callable[..., Any]] | None = None
    ) -> None:
        self._exported_program = exported_program
        self.passes = list(passes or ())

    @property
    def exported_program(self) -> ExportedProgram:
        """The program before the passes."""
        return self._exported_program

    def transform(self) -> ExportedProgram:
        """Returns the program after the passes.

        Raises:
            RuntimeError: an item is no class of passes.
        """
        program = self._exported_program
        for make in self.passes:
            if not isinstance(make, type) or not issubclass(make, (PassBase, ExportedProgramPassBase)):
                raise RuntimeError(f"a list of XNNPACK passes holds classes of passes, not {make!r}")
            takes_program = "exported_program" in inspect.signature(make).parameters
            construct: Callable[..., Any] = make
            instance = construct(program) if takes_program else construct()
            program = transform_program(program, [instance])
        return program
