"""Why a program cannot be written as C."""

from __future__ import annotations


class AotCError(ValueError):
    """A program that cannot be written as C, with the operator, dtypes, shapes and line that are to blame."""


class Unsupported(Exception):
    """The reason why a generator cannot write a call; the message of AotCError says which call it is."""
