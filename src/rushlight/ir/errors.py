"""The exceptions of the compiler."""

from __future__ import annotations

from enum import Enum


class ExportErrorType(Enum):
    """The kind of mistake in the input that an ExportError reports."""

    INVALID_INPUT_TYPE = 1
    INVALID_OUTPUT_TYPE = 2
    VIOLATION_OF_SPEC = 3
    NOT_SUPPORTED = 4
    MISSING_PROPERTY = 5
    UNINITIALIZED = 6


class CompileError(RuntimeError):
    """A program cannot be compiled; the message says which part, where it is, and what would help."""


class ExportError(CompileError):
    """This stage does not accept the program: `ExportError(message)` or `ExportError(kind, message)`."""

    def __init__(self, kind: ExportErrorType | str, message: str | None = None) -> None:
        super().__init__(str(kind) if message is None else f"[{kind}]: {message}")
        self.kind = kind if isinstance(kind, ExportErrorType) else None


class VerificationError(ExportError):
    """A graph breaks the rules of its dialect."""


class MissingOutVariantError(CompileError):
    """Operators without an out variant remain in the graph."""


class PassError(CompileError):
    """A pass broke its contract."""


class InternalError(CompileError):
    """An invariant of the compiler does not hold."""


def internal_assert(condition: bool, message: str) -> None:
    """Raises InternalError with the message unless the condition holds."""
    if not condition:
        raise InternalError(message)
