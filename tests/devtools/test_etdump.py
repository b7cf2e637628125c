"""ETDump files are written and read, and damaged files are refused."""

import random

import pytest

from rushlight.devtools.etdump import (
    AllocationEvent,
    Allocator,
    DebugEvent,
    ETDumpFlatCC,
    Event,
    ProfileEvent,
    RunData,
    Value,
    ValueType,
    deserialize_from_etdump_flatcc,
    serialize_to_etdump_flatcc,
)
from rushlight.devtools.etdump import schema_flatcc as schema
from rushlight.format.errors import FormatError
from rushlight.format.program import ScalarType


def sample() -> ETDumpFlatCC:
    tensor = schema.Tensor(ScalarType.FLOAT, sizes=[2, 3], strides=[3, 1], offset=64)
    call = ProfileEvent("native_call_add.out", 0, 3, -1, None, None, start_time=1001, end_time=2**40)
    inside = ProfileEvent(None, 0, 3, 7, None, b"\x00\xff", start_time=5, end_time=9)
    value = Value(ValueType.TENSOR_LIST, tensor_list=schema.TensorList([tensor, tensor]))
    result = Value(ValueType.TENSOR, tensor=tensor, output=schema.Bool(True))
    return ETDumpFlatCC(
        version=0,
        run_data=[
            RunData("Default", -1, [Allocator("method")], [Event(None, AllocationEvent(1, 4096), None)]),
            RunData(
                "Execute",
                2,
                None,
                [
                    Event(call, None, None),
                    Event(inside, None, None),
                    Event(None, None, DebugEvent("add", 0, 3, -1, "conv_1", value)),
                    Event(None, None, DebugEvent(None, 2**64 - 1, -1, -1, None, result)),
                ],
            ),
        ],
        dropped_events=5,
        program_fingerprint=2**63,
    )


@pytest.mark.parametrize("size_prefixed", [True, False])
def test_round_trip(size_prefixed: bool) -> None:
    data = serialize_to_etdump_flatcc(sample(), size_prefixed=size_prefixed)
    assert data[8 if size_prefixed else 4 :][:4] == b"ED00"
    assert deserialize_from_etdump_flatcc(data, size_prefixed) == sample()


def test_values_are_written_by_number() -> None:
    dump = sample()
    event = dump.run_data[1].events
    assert event is not None and event[2].debug_event is not None
    event[2].debug_event.debug_entry.val = ValueType.TENSOR_LIST.value  # type: ignore[assignment]
    assert deserialize_from_etdump_flatcc(serialize_to_etdump_flatcc(dump), False) == sample()


def test_bytes_after_the_dump_are_ignored() -> None:
    data = serialize_to_etdump_flatcc(sample(), size_prefixed=True)
    assert deserialize_from_etdump_flatcc(data + b"rest") == sample()


def test_a_truncated_dump_is_refused_with_both_sizes() -> None:
    data = serialize_to_etdump_flatcc(sample(), size_prefixed=True)
    with pytest.raises(FormatError, match=f"is {len(data) - 4} bytes, but {len(data) - 5} bytes are present"):
        deserialize_from_etdump_flatcc(data[:-1])
    for size in range(len(data)):
        with pytest.raises(FormatError):
            deserialize_from_etdump_flatcc(data[:size])


def test_other_files_are_refused() -> None:
    with pytest.raises(FormatError, match="the file identifier is b'ET12', not 'ED00'"):
        deserialize_from_etdump_flatcc(serialize_to_etdump_flatcc(sample()).replace(b"ED00", b"ET12"), False)
    with pytest.raises(FormatError, match="version 7"):
        deserialize_from_etdump_flatcc(serialize_to_etdump_flatcc(ETDumpFlatCC(7, [])), False)


def test_damaged_dumps_are_refused_or_read() -> None:
    data = serialize_to_etdump_flatcc(sample(), size_prefixed=True)
    numbers = random.Random(1)
    refused = 0
    for _ in range(3000):
        damaged = bytearray(data)
        for _ in range(numbers.randint(1, 4)):
            damaged[numbers.randrange(len(damaged))] = numbers.choice([0, 1, 4, 0x7F, 0xFF])
        try:
            assert isinstance(deserialize_from_etdump_flatcc(damaged), ETDumpFlatCC)
        except FormatError as error:
            refused += 1
            assert str(error)
    assert 300 < refused < 3000
