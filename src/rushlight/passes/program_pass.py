"""Passes over exported programs, which see parameters and signatures besides the graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

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
        """Returns a new program, or the given one, which stays as it is, if nothing is to be changed."""

    def requires(self, exported_program: ExportedProgram) -> None:  # noqa: B027
        """Raises if the program is not one that the pass accepts; checked before."""

    def ensures(self, exported_program: ExportedProgram) -> None:  # noqa: B027
        """Raises if the pass broke its promise; checked after."""
