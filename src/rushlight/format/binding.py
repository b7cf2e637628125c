"""Binds the tables of a schema to the dataclasses that represent them."""

from __future__ import annotations

import enum
import operator
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Union

from rushlight.format.wire import Field, Kind, Schema


@dataclass(frozen=True, eq=False)
class FieldBinding:
    """A field of a table, and the form of its value in Python.

    Attributes:
        table_name: the name of the table.
        wire: the field in the schema.
        optional: whether an absent field is None. Otherwise an absent field is an empty value.
        as_bytes: whether a vector of numbers is bytes instead of a list.
        position: the position of the argument in the constructor of the dataclass.
        members: the members of the enum, by value.
        table: the table of the field or of its elements, or None.
        tags: the tables of a union, by tag.
        tag_of: the tags of a union, by dataclass.
    """

    table_name: str
    wire: Field
    optional: bool
    as_bytes: bool
    position: int
    members: Mapping[int, enum.IntEnum]
    table: TableBinding | None
    tags: Mapping[int, TableBinding]
    tag_of: Mapping[type, int]


class TableBinding:
    """A table, its dataclass, and its fields in the order of the schema.

    Attributes:
        make: a function that creates the dataclass from the values of its fields, in the order of the
            dataclass.
    """

    def __init__(self, name: str, cls: type) -> None:
        self.name = name
        self.cls = cls
        self.fields: tuple[FieldBinding, ...] = ()
        self.make: Callable[..., Any] = cls
        arguments = [field for field in fields(cls) if field.init]
        if any(field.kw_only for field in arguments):
            names = [field.name for field in arguments]
            self.make = lambda *values: cls(**dict(zip(names, values, strict=True)))

    def getter(self, names: list[str]) -> Callable[[Any], tuple[object, ...]]:
        """Returns a fast function that returns the values of the named attributes of an instance."""
        if len(names) == 1:
            only = operator.attrgetter(names[0])
            return lambda instance: (only(instance),)
        return operator.attrgetter(*names) if names else lambda instance: ()


@dataclass(frozen=True)
class Binding:
    """A schema with the bindings of all its tables."""

    schema: Schema
    root: TableBinding
    tables: Mapping[str, TableBinding]


def bind(schema: Schema, classes: Mapping[str, type]) -> Binding:
    """Binds each table to the dataclass with its name, and each enum to the IntEnum with its name.

    A member of a union is bound to the dataclass with the name of its tag.

    Args:
        schema: the schema.
        classes: the dataclasses and enums, by name.

    Raises:
        TypeError: a class does not have the fields or members of the schema.
    """
    tables = {name: TableBinding(name, _find(classes, name)) for name in schema.tables}
    enums = {name: _enum_members(_find(classes, name), members) for name, members in schema.enums.items()}
    for name, table in tables.items():
        table.fields = _bind_fields(schema, table, name, tables, enums, classes)
    return Binding(schema, tables[schema.root], tables)


def _find(classes: Mapping[str, type], name: str) -> type:
    if name not in classes:
        raise TypeError(f"there is no Python class for {name} of the schema")
    return classes[name]


def _enum_members(cls: type, members: Mapping[str, int]) -> dict[int, enum.IntEnum]:
    if not issubclass(cls, enum.IntEnum):
        raise TypeError(f"{cls.__name__} must be an IntEnum")
    if {member.name: member.value for member in cls} != dict(members):
        raise TypeError(f"the members of {cls.__name__} differ from those of the schema")
    return {member.value: member for member in cls}


def _bind_fields(
    schema: Schema,
    table: TableBinding,
    table_name: str,
    tables: Mapping[str, TableBinding],
    enums: Mapping[str, Mapping[int, enum.IntEnum]],
    classes: Mapping[str, type],
) -> tuple[FieldBinding, ...]:
    annotated = _annotations(table.cls)
    positions = {field.name: i for i, field in enumerate(fields(table.cls)) if field.init}
    wires = schema.tables[table_name]
    if positions.keys() != {wire.name for wire in wires}:
        raise TypeError(f"the fields of {table.cls.__name__} differ from those of the schema")
    bound = []
    for wire in wires:
        alternatives = _alternatives(annotated[wire.name])
        tags: dict[int, TableBinding] = {}
        if wire.kind is Kind.UNION:
            for tag, (member, target) in enumerate(schema.unions[wire.target], 1):
                tags[tag] = tables[target]
                if member != target:
                    tags[tag] = TableBinding(target, _find(classes, member))
                    tags[tag].fields = _bind_fields(schema, tags[tag], target, tables, enums, classes)
        bound.append(
            FieldBinding(
                table_name=table_name,
                wire=wire,
                optional=type(None) in alternatives,
                as_bytes=wire.is_vector and bytes in alternatives,
                position=positions[wire.name],
                members=enums.get(wire.target, {}),
                table=tables[wire.target] if wire.kind is Kind.TABLE else None,
                tags=tags,
                tag_of={member.cls: tag for tag, member in tags.items()},
            )
        )
    return tuple(bound)


def _annotations(cls: type) -> dict[str, object]:
    """The types of the attributes of a class. Equal to `typing.get_type_hints`, but faster."""
    return {
        name: _type_of(base.__module__, hint) if isinstance(hint, str) else hint
        for base in reversed(cls.__mro__)
        for name, hint in base.__dict__.get("__annotations__", {}).items()
    }


@cache
def _type_of(module: str, text: str) -> object:
    return eval(text, vars(sys.modules[module]))


def _alternatives(hint: object) -> tuple[object, ...]:
    if typing.get_origin(hint) in (Union, types.UnionType):
        return typing.get_args(hint)
    return (hint,)
