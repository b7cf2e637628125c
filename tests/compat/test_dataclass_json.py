"""Dataclasses as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from rushlight.compat.dataclass_json import DataclassEncoder, json_to_dataclass
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
