"""The exceptions of the compiler."""

from __future__ import annotations

from enum import Enum


class ExportErrorType(Enum):
    """The kind of error in the input that an ExportError reports."""

    INVALID_INPUT_TYPE = 1
    INVALID_OUTPUT_TYPE = 2
    VIOLATION_OF_SPEC = 3
    NOT_SUPPORTED = 4
    MISSING_PROPERTY = 5
    UNINITIALIZED = 6


class CompileError(RuntimeError):
    """A program cannot be compiled. The message names the part and its source line, and suggests a fix."""


class ExportError(CompileError):
    """A stage does not accept the program: `ExportError(message)` or `ExportError(kind, message)`."""

    def __init__(self, error_code: ExportErrorType | str, message: str | None = None) -> None:
        super().__init__(str(error_code) if message is None else f"[{error_code}]: {message}")
        self.kind = error_code if isinstance(error_code, ExportErrorType) else None


class VerificationError(ExportError):
    """A graph violates the rules of its dialect."""


class MissingOutVariantError(CompileError):
    """The graph contains operators without an out variant."""


class PassError(CompileError):
    """A pass failed or violated the rules for passes."""


class InternalError(CompileError):
    """An invariant of the compiler is violated. This is a bug in the compiler."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


def internal_assert(pred: bool, assert_msg: str) -> None:
    """Raises InternalError with the message if the condition is false."""
    if not pred:
        raise InternalError(assert_msg)
