"""The errors of the conversion to C."""

from __future__ import annotations


class AotCError(ValueError):
    """A program cannot be written as C. The message names the operators, dtypes, shapes and source lines."""


class Unsupported(Exception):
    """A generator cannot write a call. The message is the reason; AotCError adds the name of the call."""
