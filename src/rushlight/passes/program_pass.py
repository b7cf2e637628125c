"""Passes over exported programs, which see parameters and signatures besides the graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch.export import ExportedProgram

from rushlight.ir.errors import PassError


@dataclass
class ExportedProgramPassResult:
    """What a pass over a program returns."""

    exported_program: ExportedProgram
    modified: bool


class ExportedProgramPassBase(ABC):
    """A pass from exported program to exported program."""

    def __call__(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        """Runs the pass between its own checks."""
        self.requires(exported_program)
        result = self.call(exported_program)
        if not isinstance(result, ExportedProgramPassResult):
            raise PassError(
                f"{type(self).__name__}.call returned {result!r}, not an ExportedProgramPassResult"
            )
        self.ensures(result.exported_program)
        return result

    @abstractmethod
    def call(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        """Transforms the program; the given one may be changed in place."""

    def requires(self, exported_program: ExportedProgram) -> None:  # noqa: B027
        """Raises if the program is not one that the pass accepts; checked before."""

    def ensures(self, exported_program: ExportedProgram) -> None:  # noqa: B027
        """Raises if the pass broke its promise; checked after."""


def run_program_passes(program: ExportedProgram, passes: Iterable[Any]) -> ExportedProgram:
    """Runs program passes in order and returns the last program."""
    for program_pass in passes:
        program = program_pass(program).exported_program
    return program
