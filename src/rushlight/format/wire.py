"""The description of a schema for the encoder and decoder. `wire_tables.py` has the generated schemas."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

MAX_DEPTH = 64
"""The largest number of tables inside each other, including the root table, as in FlatBuffers' verifier."""


class Kind(enum.Enum):
    """The type of a field, or of its elements."""

    SCALAR = "scalar"
    BOOL = "bool"
    ENUM = "enum"
    STRING = "string"
    TABLE = "table"
    UNION = "union"


@dataclass(frozen=True)
class Field:
    """A field of a table.

    Attributes:
        name: the name of the field.
        slot: the position in the vtable. The tag of a union has the slot before it.
        kind: the type of the field, or of its elements.
        code: the code in `struct` of a number, of an enum, or of one element.
        target: the name of the enum, table or union.
        is_vector: whether the field is a vector.
        default: the default value of a number, or None if the number is optional.
        required: whether the field must be present.
        align: the alignment of a vector in bytes, if it is larger than that of its elements; else 0.
        bounds: the smallest and the largest valid number, or None.
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
    """A schema.

    Attributes:
        root: the name of the root table.
        identifier: the file identifier.
        tables: the fields of each table.
        unions: the members of each union, as pairs of tag name and table name. The first member has tag 1.
        enums: the values of each enum, by member name.
    """

    root: str
    identifier: bytes
    tables: Mapping[str, tuple[Field, ...]]
    unions: Mapping[str, tuple[tuple[str, str], ...]]
    enums: Mapping[str, Mapping[str, int]]
