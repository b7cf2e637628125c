"""Dataclasses are encoded as FlatBuffers and decoded again; invalid bytes are refused."""

from __future__ import annotations

import enum
import types
import typing
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rushlight.format import flat_tensor, program
from rushlight.format.binding import FieldBinding, TableBinding, bind
from rushlight.format.codecs import flat_tensor_binding, program_binding
from rushlight.format.decode import decode
from rushlight.format.encode import encode
from rushlight.format.errors import EncodeError, MalformedError
from rushlight.format.program import (
    Bool,
    Double,
    EValue,
    Instruction,
    Int,
    KernelCall,
    Program,
    ScalarType,
    SubsegmentOffsets,
    Tensor,
    TensorShapeDynamism,
)
from rushlight.format.wire import Field, Kind, Schema

RANGES = {"b": (-(2**7), 2**7 - 1), "B": (0, 2**8 - 1), "h": (-(2**15), 2**15 - 1), "H": (0, 2**16 - 1)}
RANGES |= {"i": (-(2**31), 2**31 - 1), "I": (0, 2**32 - 1), "q": (-(2**63), 2**63 - 1), "Q": (0, 2**64 - 1)}


def elements(field: FieldBinding, depth: int) -> st.SearchStrategy[Any]:
    wire = field.wire
    if wire.kind is Kind.BOOL:
        return st.booleans()
    if wire.kind is Kind.ENUM:
        return st.sampled_from(list(field.members.values()))
    if wire.kind is Kind.STRING:
        return st.text(st.characters(codec="utf-8"), max_size=8)
    if wire.kind is Kind.UNION:
        return st.one_of([tables(table, depth + 1) for table in field.tags.values()])
    if wire.kind is Kind.TABLE:
        assert field.table is not None
        return tables(field.table, depth + 1)
    if wire.code in RANGES:
        return st.integers(*RANGES[wire.code])
    return st.floats(allow_nan=False)


def values(field: FieldBinding, depth: int) -> st.SearchStrategy[Any]:
    if field.as_bytes:
        return st.binary(max_size=100)
    strategy = elements(field, depth)
    if field.wire.is_vector:
        strategy = st.lists(strategy, max_size=3 if field.wire.kind is Kind.TABLE else 20)
    return st.none() | strategy if field.optional else strategy


def tables(table: TableBinding, depth: int = 0) -> st.SearchStrategy[Any]:
    members = {field.wire.name: values(field, depth) for field in table.fields}
    return st.fixed_dictionaries(members).map(lambda chosen: table.cls(**chosen))


@settings(max_examples=60, deadline=None)
@given(root=st.deferred(lambda: tables(program_binding().root)), header=st.sampled_from([0, 32, 64]))
def test_programs_survive_the_round_trip(root: Program, header: int) -> None:
    data = encode(program_binding(), root, header_size=header)
    assert data[8 : 8 + header] == bytes(header)
    assert decode(program_binding(), memoryview(data)) == root
    assert encode(program_binding(), root, header_size=header) == data


@settings(max_examples=60, deadline=None)
@given(root=st.deferred(lambda: tables(flat_tensor_binding().root)))
def test_flat_tensors_survive_the_round_trip(root: flat_tensor.FlatTensor) -> None:
    data = encode(flat_tensor_binding(), root, header_size=48)
    assert decode(flat_tensor_binding(), memoryview(data)) == root


def root_of(*values: Any) -> Program:
    plan = program.ExecutionPlan(
        name="forward",
        container_meta_type=program.ContainerMetadata("", ""),
        values=[EValue(value) for value in values],
        inputs=[],
        outputs=[],
        chains=[],
        operators=[],
        delegates=[],
        non_const_buffer_sizes=[],
    )
    return Program(0, [plan], [], [], [], SubsegmentOffsets(0, []))


def scalar(**changes: Any) -> Tensor:
    tensor = Tensor(ScalarType.FLOAT, 0, [2], [0], False, 0, 0, None, TensorShapeDynamism.STATIC)
    return replace(tensor, **changes)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Int(2**63), r"Int\.int_val: .*got 9223372036854775808"),
        (Int("1"), r"Int\.int_val: .*got '1'"),  # type: ignore[arg-type]
        (Int(None), r"Int\.int_val: .*got None"),  # type: ignore[arg-type]
        (scalar(sizes=[2**31]), r"Tensor\.sizes: .*\[2147483648\]"),
        (scalar(dim_order=[256]), r"Tensor\.dim_order: .*\[256\]"),
        (scalar(sizes=None), r"Tensor\.sizes: is None"),
        (scalar(sizes=3), r"Tensor\.sizes: expected a list, got int"),
        (scalar(scalar_type=99), r"Tensor\.scalar_type: 99 is not a member of ScalarType"),
        (scalar(allocation_info=3), "expected a AllocationDetails, got int"),
        (program.String(b"x"), r"String\.string_val: expected text, got bytes"),  # type: ignore[arg-type]
        (program.String("\ud800"), r"String\.string_val: .*surrogates not allowed"),
        (KernelCall(0, []), r"EValue\.val: a KernelCall is not a member of KernelTypes"),
        (None, r"EValue\.val: is None"),
    ],
)
def test_values_that_do_not_fit_are_refused(value: Any, message: str) -> None:
    with pytest.raises(EncodeError, match=message):
        encode(program_binding(), root_of(value))


def test_equal_short_vectors_and_strings_are_written_once() -> None:
    few, many = (encode(program_binding(), root_of(*[scalar(sizes=[7, 9])] * n)) for n in (1, 100))
    assert few.count(b"\x07\0\0\0\x09\0\0\0") == many.count(b"\x07\0\0\0\x09\0\0\0") == 1
    names = replace(root_of(), execution_plan=[replace(root_of().execution_plan[0], operators=[])])
    names.execution_plan[0].operators = [program.Operator("a" * 200, "a" * 200)] * 50
    assert encode(program_binding(), names).count(b"a" * 200) == 1


def test_a_large_program_is_decoded_as_written() -> None:
    tensors = [scalar(sizes=[i, 1], dim_order=[0, 1]) for i in range(2000)]
    root = root_of(*tensors)
    calls = [Instruction(KernelCall(i % 7, [i, i + 1, i + 2])) for i in range(2000)]
    root.execution_plan[0].chains = [program.Chain([], [], calls, None)]
    assert decode(program_binding(), memoryview(encode(program_binding(), root))) == root


# -- Hostile tables, made by hand: each row is the buffer of one table of the schema below --

SMALL = Schema(
    root="Root",
    identifier=b"TEST",
    tables={
        "Leaf": (Field("number", 0, Kind.SCALAR, "i"),),
        "Root": (
            Field("flag", 0, Kind.BOOL, "B"),
            Field("wide", 1, Kind.SCALAR, "q"),
            Field("name", 2, Kind.STRING),
            Field("leaves", 3, Kind.TABLE, target="Leaf", is_vector=True),
            Field("choice", 5, Kind.UNION, target="Choice"),
        ),
    },
    unions={"Choice": (("Leaf", "Leaf"),)},
    enums={},
)


@dataclass
class Leaf:
    number: int


@dataclass
class Root:
    flag: bool
    wide: int
    name: str
    leaves: list[Leaf]
    choice: Leaf | None


@pytest.fixture(scope="module")
def small() -> Any:
    return bind(SMALL, {"Leaf": Leaf, "Root": Root})


def words(*items: int | bytes) -> bytes:
    return b"".join(item if isinstance(item, bytes) else item.to_bytes(4, "little") for item in items)


def halves(*items: int) -> bytes:
    return b"".join(item.to_bytes(2, "little") for item in items)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (words(8, b"TES"), "the file is too short"),
        (words(8, b"FAIL", 0), "identifier is b'FAIL', not 'TEST'"),
        (words(0, b"TEST", 0), "at byte 0: the offset is 0|the offset is 0 at byte 0"),
        (words(2**32 - 1, b"TEST", 0), "points outside the file"),
        (words(9, b"TEST", 0, 0), "object that is not aligned"),
        (words(8, b"TEST", 2**31), "vtable of Root is outside the file"),
        (words(8, b"TEST", 9), "vtable of Root is outside the file or not aligned"),
        (words(12, b"TEST", halves(2, 4), 4), "invalid size"),
        (words(12, b"TEST", halves(4, 2), 4), "invalid size"),
        (words(12, b"TEST", halves(4, 400), 4), "Root extends beyond the end of the file"),
        (words(16, b"TEST", halves(6, 4, 4, 0), 8), r"Root\.flag at byte 8: the field is outside its table"),
        (words(16, b"TEST", halves(6, 8, 4, 0), 8, 2), r"Root\.flag at byte 20: a bool is neither"),
        (words(16, b"TEST", halves(8, 12, 0, 4), 8, 0, 0), "a field of Root is not aligned"),
        (words(20, b"TEST", halves(10, 12, 0, 0, 4, 0), 12, 4, 0), "text extends beyond the end of the file"),
        (words(20, b"TEST", halves(10, 8, 0, 0, 4, 0), 12, 4, 1, b"aa\0\0"), "not NUL-terminated"),
        (words(20, b"TEST", halves(10, 8, 0, 0, 4, 0), 12, 4, 1, b"\xff\0\0\0"), "not UTF-8"),
        (
            words(20, b"TEST", halves(12, 8, 0, 0, 0, 4), 12, 4, 2**30),
            "vector of 1073741824 elements extends beyond",
        ),
        (
            words(20, b"TEST", halves(12, 8, 0, 0, 0, 4), 12, 4, 1, 0),
            r"Root\.leaves at byte 32: the offset is 0",
        ),
        (words(24, b"TEST", halves(14, 8, 0, 0, 0, 0, 4, 0), 16, 0), "only one of the type and the value"),
        (
            words(24, b"TEST", halves(16, 12, 0, 0, 0, 0, 8, 4), 16, 4, 2),
            "the tag 2 is not a member of Choice",
        ),
    ],
)
def test_damage_is_named(small: Any, data: bytes, message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        decode(small, memoryview(data))


def test_absent_fields_have_their_defaults(small: Any) -> None:
    data = words(12, b"TEST", halves(4, 4), 4)
    assert decode(small, memoryview(data)) == Root(False, 0, "", [], None)


def test_children_that_are_shared_by_millions_of_parents_are_refused() -> None:
    # A vector of 1000 offsets to one table, whose vector has 1000 offsets to one table, and so on.
    binding = bind(
        Schema(
            root="T0",
            identifier=b"TEST",
            tables={
                f"T{i}": (Field("items", 0, Kind.TABLE, target=f"T{i + 1}", is_vector=True),)
                for i in range(8)
            }
            | {"T8": ()},
            unions={},
            enums={},
        ),
        {f"T{i}": make_class(i) for i in range(9)},
    )
    data = bytearray(words(16, b"TEST", halves(6, 8, 4, 0)))
    count = 1000
    for _ in range(8):
        at = len(data)
        data += words(at - 8, 4, count)
        end = at + 12 + 4 * count
        data += b"".join((end - (at + 12 + 4 * i)).to_bytes(4, "little") for i in range(count))
    data += words(len(data) - 8, 0)
    with pytest.raises(MalformedError, match="share the same children"):
        decode(binding, memoryview(data))


def make_class(level: int) -> type:
    if level == 8:
        return dataclass(types.new_class("T8"))
    made = types.new_class(f"T{level}")
    made.__annotations__ = {"items": list[Any]}
    return dataclass(made)


# -- Contract of the dataclasses with the schemas --


def test_dataclasses_are_those_of_the_schemas() -> None:
    for binding, module in ((program_binding(), program), (flat_tensor_binding(), flat_tensor)):
        classes = {name for name, value in vars(module).items() if isinstance(value, type)}
        own = {name for name in classes if getattr(module, name).__module__.startswith("rushlight.format")}
        declared = binding.schema.tables.keys() | binding.schema.enums.keys()
        assert own <= declared and declared - own <= {"ScalarType"}


def test_types_of_dataclass_fields_are_those_of_the_schemas() -> None:
    numbers = {Kind.BOOL: bool, Kind.STRING: str}
    for binding in (program_binding(), flat_tensor_binding()):
        for table in binding.tables.values():
            hints = typing.get_type_hints(table.cls)
            for field in table.fields:
                hint = hints[field.wire.name]
                if field.optional:
                    (hint,) = (item for item in typing.get_args(hint) if item is not type(None))
                if field.as_bytes:
                    assert hint is bytes and field.wire.code == "B"
                    continue
                if field.wire.is_vector:
                    assert typing.get_origin(hint) is list
                    (hint,) = typing.get_args(hint)
                if field.wire.kind is Kind.UNION:
                    assert set(typing.get_args(hint)) == field.tag_of.keys()
                elif field.wire.kind is Kind.TABLE:
                    assert field.table is not None and hint is field.table.cls
                elif field.wire.kind is Kind.ENUM:
                    assert issubclass(hint, enum.IntEnum) and set(hint) == set(field.members.values())
                else:
                    expected = numbers.get(field.wire.kind, float if field.wire.code in "fd" else int)
                    assert hint is expected


def test_infinities_may_be_given_as_text() -> None:
    assert Double("inf").double_val == float("inf")  # type: ignore[arg-type]
    assert Double("-inf") == Double(float("-inf"))  # type: ignore[arg-type]


def test_a_class_that_differs_from_its_table_is_refused() -> None:
    with pytest.raises(TypeError, match="fields of Bool differ"):
        bind(SMALL, {"Leaf": Bool, "Root": Root})
    assert [field.name for field in fields(Leaf)] == ["number"]
