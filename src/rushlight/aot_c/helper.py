"""Helper: a C function that the generated kernels call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Helper:
    """A C function or type.

    Attributes:
        text: the definition.
        needs: the names of the helpers that the definition uses.
        headers: the headers of the C library that the definition needs.
    """

    text: str
    needs: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
