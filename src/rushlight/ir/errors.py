"""The exceptions of the compiler."""

from __future__ import annotations


class CompileError(RuntimeError):
    """A program cannot be compiled; the message names what, where and what would help."""


class ExportError(CompileError):
    """The input is not a program that this stage accepts."""


class VerificationError(ExportError):
    """A graph breaks the rules of its dialect."""


class MissingOutVariantError(CompileError):
    """Operators without an out variant remain in the graph."""


class PassError(CompileError):
    """A pass broke its contract."""


class InternalError(CompileError):
    """An invariant of the compiler does not hold."""
