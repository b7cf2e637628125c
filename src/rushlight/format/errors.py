"""The errors of reading and writing files."""

from __future__ import annotations


class FormatError(ValueError):
    """A file, or a value for a file, is not valid. The message names the value and its position."""


class NewerVersionError(FormatError, NotImplementedError):
    """A file has a version that this release does not support."""


class MalformedError(FormatError):
    """The bytes of a file are not valid.

    Attributes:
        table: the table of the schema, or None.
        field: the field of the table, or None.
        offset: the offset in bytes from the start of the file, or None.
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
    """The file format cannot represent a value."""
