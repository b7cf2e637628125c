"""Passes over exported programs, which can read and change parameters and signatures besides the graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch.export import ExportedProgram

from rushlight.ir.errors import PassError


@dataclass
class ExportedProgramPassResult:
    """The result of a pass over a program."""

    exported_program: ExportedProgram
    modified: bool


class ExportedProgramPassBase(ABC):
    """A pass that takes an exported program and returns an exported program."""

    def __call__(self, exported_program: ExportedProgram) -> ExportedProgramPassResult:
        """Runs `requires`, `call` and `ensures`."""
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
        """Returns a new program, or the unchanged argument if the pass changes nothing."""

    def requires(self, exported_program: ExportedProgram) -> None:  # noqa: B027
        """Raises an error if the pass does not accept the program. It runs before `call`."""

    def ensures(self, exported_program: ExportedProgram) -> None:  # noqa: B027
        """Raises an error if the result of the pass is wrong. It runs after `call`."""
