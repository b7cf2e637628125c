"""Converts dataclasses to JSON and back.

If a field may have one of several dataclasses, the JSON object has a second key, `<field>_type`, with the
name of the class.
"""

from __future__ import annotations

import enum
import json
import re
import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from rushlight.devtools.bundled_program.schema import BundledProgram
from rushlight.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    serialize_from_bundled_program_to_flatbuffer,
)
from rushlight.format.program import ScalarType


class DataclassEncoder(json.JSONEncoder):
    """Encodes dataclasses as JSON objects, and bytes as lists of numbers.

    Usage: `json.dumps(value, cls=DataclassEncoder)`.
    """

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
        json_dict: the result of `json.loads`.
        cls: the dataclass. If it is not a dataclass, `json_dict` is returned unchanged.

    Raises:
        TypeError: a field that cannot be None is missing.
        ValueError: a field has the name of a class or of an enum member that its type does not allow.
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


def serialize_from_bundled_program_to_json(bundled_program: BundledProgram) -> str:
    """Returns the tables of a bundled program (`BundledProgram.serialize_to_schema`) as JSON."""
    return json.dumps(bundled_program, cls=DataclassEncoder)


def deserialize_from_json_to_bundled_program(program_json: str | bytes) -> BundledProgram:
    """Reads the tables of a bundled program from JSON. Members of enums are numbers or names.

    Raises:
        TypeError, ValueError: as `json_to_dataclass` and `json.loads`.
    """
    bundle: BundledProgram = json_to_dataclass(json.loads(program_json), BundledProgram)
    return bundle


def convert_to_flatbuffer(program_json: str) -> bytes:
    """Converts the JSON of a bundled program to the bytes of a `.bpte` file."""
    return serialize_from_bundled_program_to_flatbuffer(
        deserialize_from_json_to_bundled_program(program_json)
    )


def convert_from_flatbuffer(program_flatbuffer: bytes) -> bytes:
    """Converts the bytes of a `.bpte` file to JSON, in which dtypes have names, as ExecuTorch needs them."""
    text = serialize_from_bundled_program_to_json(
        deserialize_from_flatbuffer_to_bundled_program(program_flatbuffer)
    )
    key = '"scalar_type": '
    return re.sub(f"{key}([0-9]+)", lambda found: f'{key}"{ScalarType(int(found[1])).name}"', text).encode()


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
    """Returns the dataclasses that the type of a field allows."""
    return [option for option in _options(hint) if is_dataclass(option)]
