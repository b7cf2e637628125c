"""Errors of reading and writing files."""

from __future__ import annotations


class FormatError(ValueError):
    """A file, or what was to be written to one, is not well-formed. Names what and where."""


class MalformedError(FormatError):
    """Bytes that are refused.

    `table` and `field` name the place in the schema, `offset` counts bytes from the start of the file;
    each is None where it does not apply.
    """

    def __init__(
        self, reason: str, *, table: str | None = None, field: str | None = None, offset: int | None = None
    ) -> None:
        where = ".".join(part for part in (table, field) if part)
        place = "" if offset is None else f" at byte {offset}"
        super().__init__(f"{where}{place}: {reason}" if where else f"{reason}{place}")
        self.reason = reason
        self.table = table
        self.field = field
        self.offset = offset


class EncodeError(FormatError):
    """A value that the file format cannot hold."""
