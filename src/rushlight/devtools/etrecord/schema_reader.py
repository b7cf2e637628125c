"""Converts JSON of torch's program schema to objects of the classes of the schema."""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from torch._export.serde import schema, serialize
from torch._export.serde.union import _Union
from torch.utils._sympy.value_ranges import ValueRanges

_NAME = re.compile(r"(?<!')\b[su]\d+\b(?!')")  # a symbol name that is not inside Symbol('...')


@functools.cache
def reader_of(kind: Any) -> Callable[[Any], Any]:
    """Returns a function that converts JSON to a value of a type of torch's schema.

    The result is the same as with torch's own function, which is slower because it looks up the types of
    fields for each value.
    """
    kind = serialize._resolve_schema_cls(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return reader_of(arguments[0])
    if origin in (typing.Union, types.UnionType):
        inner = reader_of(next(argument for argument in arguments if argument is not type(None)))
        return lambda data: None if data is None else inner(data)
    if origin is list:
        item = reader_of(arguments[0])
        return lambda data: [item(value) for value in data]
    if origin is dict:
        entry = reader_of(arguments[1])
        return lambda data: {key: entry(value) for key, value in data.items()}
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or issubclass(kind, _Union)):
        return _reader_of_class(kind)
    return float if kind is float else lambda data: data


def _reader_of_class(kind: Any) -> Callable[[Any], Any]:
    """Returns the reader of a class. It ignores unknown keys. The JSON of a union has exactly one key."""
    hints = typing.get_type_hints(kind, globalns=vars(schema))
    make = kind.create if issubclass(kind, _Union) else kind
    # filled at the first use of each field, because classes refer to each other
    readers: dict[str, Callable[[Any], Any]] = {}

    def read(data: dict[str, Any]) -> Any:
        found = {}
        for name, value in data.items():
            if name in hints:
                if name not in readers:
                    readers[name] = reader_of(hints[name])
                found[name] = readers[name](value)
        return make(**found)

    return read


def restore_symbols(data: object, ranges: Mapping[str, ValueRanges[Any]]) -> None:
    """Adds the assumptions of torch about symbols to the names of symbols in expressions.

    torch assumes that all symbols are integers. Symbols for sizes, whose names begin with "s", are positive.

    Args:
        data: the JSON, which is changed in place.
        ranges: the range of each symbol by name.
    """

    def symbol(match: re.Match[str]) -> str:
        name = match[0]
        is_size = name.startswith("s") and (name not in ranges or bool(ranges[name].lower >= 0))
        return f"Symbol('{name}', {'positive=True, ' if is_size else ''}integer=True)"

    if isinstance(data, list):
        for item in data:
            restore_symbols(item, ranges)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key == "expr_str" and isinstance(value, str):
                data[key] = _NAME.sub(symbol, value)
            else:
                restore_symbols(value, ranges)
