"""Why a program cannot be written as C."""

from __future__ import annotations


class AotCError(ValueError):
    """A program cannot be written as C; the message names operator, dtypes, shapes and source line."""


class Unsupported(Exception):
    """The reason why a generator cannot write a call; the message of AotCError names the call."""
