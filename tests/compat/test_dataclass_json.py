"""Dataclasses as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from rushlight.compat.dataclass_json import (
    DataclassEncoder,
    convert_from_flatbuffer,
    convert_to_flatbuffer,
    deserialize_from_json_to_bundled_program,
    json_to_dataclass,
    serialize_from_bundled_program_to_json,
)
from rushlight.devtools.bundled_program import schema
from rushlight.format.program import ScalarType


@dataclass
class Left:
    value: int


@dataclass
class Right:
    value: str


@dataclass
class Record:
    side: Left | Right
    kinds: list[ScalarType]
    parts: list[Left]
    data: bytes
    number: int | float = 0
    note: str | None = None


RECORD = Record(Right("r"), [ScalarType.LONG], [Left(1), Left(2)], b"\x00\xff", 2.5)


def text_of(record: Record) -> Any:
    return json.loads(json.dumps(record, cls=DataclassEncoder))


def test_there_and_back() -> None:
    text = text_of(RECORD)
    assert text["side_type"] == "Right" and text["data"] == [0, 255] and "note_type" not in text
    assert json_to_dataclass(text, Record) == RECORD
    text["kinds"] = ["LONG"]
    del text["note"]
    assert json_to_dataclass(text, Record) == RECORD


def test_what_does_not_fit() -> None:
    text = text_of(RECORD)
    with pytest.raises(ValueError, match="Record.side cannot be a Middle"):
        json_to_dataclass({**text, "side_type": "Middle"}, Record)
    del text["data"]
    with pytest.raises(TypeError, match="Record.data is missing"):
        json_to_dataclass(text, Record)
    with pytest.raises(TypeError, match="not JSON serializable"):
        json.dumps({1: object()}, cls=DataclassEncoder)


def test_bundled_programs() -> None:
    tensor = schema.Tensor(ScalarType.FLOAT, [1, 2], bytes(range(8)), [0, 1])
    values: list[schema.ValueUnion] = [tensor, schema.Int(3), schema.Bool(True), schema.Double(0.5)]
    case = schema.BundledMethodTestCase([schema.Value(value) for value in values], [schema.Value(tensor)])
    suites = [schema.BundledMethodTestSuite("forward", [case])]
    bundle = schema.BundledProgram(2, suites, b"\x00program")
    text = serialize_from_bundled_program_to_json(bundle)
    assert deserialize_from_json_to_bundled_program(text) == bundle
    data = convert_to_flatbuffer(text)
    assert data[4:8] == b"BP08"
    named = convert_from_flatbuffer(data)
    assert named.count(b'"scalar_type": "FLOAT"') == 2
    assert deserialize_from_json_to_bundled_program(named) == bundle
    with pytest.raises(TypeError, match=r"BundledProgram\.version is missing"):
        deserialize_from_json_to_bundled_program("{}")
