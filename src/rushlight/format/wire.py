"""What a codec needs to know of a schema. The tables themselves are generated: `wire_tables.py`."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class Kind(enum.Enum):
    """Type of a field, or of its elements."""

    SCALAR = "scalar"
    BOOL = "bool"
    ENUM = "enum"
    STRING = "string"
    TABLE = "table"
    UNION = "union"


@dataclass(frozen=True)
class Field:
    """A field of a table.

    slot: position in the vtable; a union's tag has the slot before it.
    code: `struct` code of a number, of the number behind an enum, or of one element.
    target: name of the enum, table or union.
    default: None of a number that may be absent.
    align: bytes, if the elements ask for more than their own size.
    bounds: the least and the largest number, or the values of an enum that has no others.
    """

    name: str
    slot: int
    kind: Kind
    code: str = ""
    target: str = ""
    is_vector: bool = False
    default: int | float | None = 0
    required: bool = False
    align: int = 0
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True)
class Schema:
    """A schema without cycles between its tables.

    unions: per union, (tag name, table name); the first has tag 1. enums: member values by name.
    """

    root: str
    identifier: bytes
    tables: Mapping[str, tuple[Field, ...]]
    unions: Mapping[str, tuple[tuple[str, str], ...]]
    enums: Mapping[str, Mapping[str, int]]
