"""Dataclasses as JSON. A field of several classes has a second key, `<field>_type`, that names its class."""

from __future__ import annotations

import enum
import json
import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints


class DataclassEncoder(json.JSONEncoder):
    """Writes dataclasses as objects, and bytes as lists of numbers: `json.dumps(value, cls=...)`."""

    def default(self, o: object) -> Any:
        """Returns the JSON form of an object that JSON does not support."""
        if isinstance(o, (bytes, bytearray, memoryview)):
            return list(bytes(o))
        if not is_dataclass(o) or isinstance(o, type):
            return super().default(o)
        found: dict[str, object] = {}
        hints = get_type_hints(type(o))
        for field in fields(o):
            found[field.name] = getattr(o, field.name)
            if len(_classes(hints[field.name])) > 1:
                found[f"{field.name}_type"] = type(found[field.name]).__name__
        return found


def json_to_dataclass(json_dict: Any, cls: Any = None) -> Any:
    """Converts the output of `DataclassEncoder` back to a dataclass.

    Args:
        json_dict: what `json.loads` returned.
        cls: the dataclass; anything else is returned as it is.

    Raises:
        TypeError: a field without an alternative to a value is missing.
        ValueError: a field names a class or a member of an enum that it cannot have.
    """
    if not is_dataclass(cls) or is_dataclass(json_dict):
        return json_dict
    kind = getattr(cls, "__name__", "")
    hints = get_type_hints(cls)
    values = {}
    for field in fields(cls):
        hint = hints[field.name]
        if field.name not in json_dict and not _is_optional(hint):
            raise TypeError(f"{kind}.{field.name} is missing in the JSON object, and it is not optional")
        value = json_dict.get(field.name)
        name = json_dict.get(f"{field.name}_type")
        classes: list[Any] = _classes(hint)
        if name is not None and len(classes) > 1:
            hint = next((candidate for candidate in classes if candidate.__name__ == name), None)
            if hint is None:
                raise ValueError(f"{kind}.{field.name} cannot be a {name}")
        values[field.name] = _value(value, hint)
    made: Any = cls
    return made(**values)


def _value(value: Any, hint: Any) -> Any:
    if value is None:
        return None
    options = [option for option in _options(hint) if option is not type(None)]
    if len(options) > 1:
        return next((value for option in options if type(value) is option), value)
    (hint,) = options
    if get_origin(hint) is list:
        (item,) = get_args(hint)
        return [_value(element, item) for element in value]
    if is_dataclass(hint):
        return json_to_dataclass(value, hint)
    if hint is bytes:
        return bytes(value)
    if isinstance(hint, enum.EnumMeta):
        return hint[value] if isinstance(value, str) else hint(value)
    return hint(value) if isinstance(hint, type) else value


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _is_optional(hint: Any) -> bool:
    return type(None) in _options(hint)


def _classes(hint: Any) -> list[Any]:
    """The dataclasses among the alternatives of a field."""
    return [option for option in _options(hint) if is_dataclass(option)]
