"""Bundled programs are written and read, and damaged files are refused."""

import random
from pathlib import Path

import pytest
import torch

import rushlight
from rushlight.devtools.bundled_program import (
    BundledProgram,
    BundleError,
    MethodTestCase,
    MethodTestSuite,
    deserialize_from_flatbuffer_to_bundled_program,
    schema,
    serialize_from_bundled_program_to_flatbuffer,
)
from rushlight.exir import to_edge
from rushlight.format.errors import FormatError
from rushlight.format.program import ScalarType


class Scale(torch.nn.Module):
    def forward(self, x: torch.Tensor, factor: int) -> torch.Tensor:
        return x * factor


class Clone(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.clone()


class Program:
    """A compiled program, of which only the bytes are needed."""

    def __init__(self) -> None:
        exported = torch.export.export(Scale(), (torch.ones(2, 3), 4))
        self.buffer = to_edge(exported).to_executorch().buffer


@pytest.fixture(scope="module")
def program() -> Program:
    return Program()


X = torch.arange(6.0).reshape(2, 3)


def suite(*cases: MethodTestCase) -> list[MethodTestSuite]:
    return [MethodTestSuite("forward", cases)]


def test_round_trip(program: Program) -> None:
    cases = [MethodTestCase((X, 4), [X * 4]), MethodTestCase([X + 1, 4])]
    bundle = BundledProgram(program, suite(*cases))
    data = serialize_from_bundled_program_to_flatbuffer(bundle)
    assert data[4:8] == b"BP08"
    assert data == serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, suite(*cases)))
    read = deserialize_from_flatbuffer_to_bundled_program(data)
    assert read == bundle.serialize_to_schema()
    assert read.version == 2 and read.program == program.buffer
    assert data.find(read.program) % 32 == 0
    first, second = read.method_test_suites[0].test_cases
    assert first.inputs[1] == schema.Value(schema.Int(4))
    tensor = first.inputs[0].val
    assert tensor == schema.Tensor(ScalarType.FLOAT, [2, 3], X.numpy().tobytes(), [0, 1])
    assert second.expected_outputs == []


def test_tensors_are_written_in_the_order_of_the_program(program: Program) -> None:
    columns = X.t().contiguous().t()
    bundle = BundledProgram(program, suite(MethodTestCase((columns, 4))))
    value = bundle.serialize_to_schema().method_test_suites[0].test_cases[0].inputs[0].val
    assert isinstance(value, schema.Tensor) and value.data == X.numpy().tobytes()


def test_a_lazy_conjugate() -> None:
    x = torch.tensor([1 + 2j, 3 - 4j])
    found = rushlight.compile(Clone(), (x,))
    bundle = BundledProgram(found, suite(MethodTestCase((x.conj(),), [x.conj()])))
    case = bundle.serialize_to_schema().method_test_suites[0].test_cases[0]
    for value in (case.inputs[0].val, case.expected_outputs[0].val):
        assert isinstance(value, schema.Tensor) and value.data == x.conj().resolve_conj().numpy().tobytes()


def test_a_program_in_a_file(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(program.buffer)
    cases = suite(MethodTestCase((X, 4), [X * 4]))
    by_path = BundledProgram(None, cases, pte_file_path=str(path))
    assert by_path.serialize_to_schema() == BundledProgram(program, cases).serialize_to_schema()
    with pytest.raises(RuntimeError, match="exactly one"):
        BundledProgram(program, cases, pte_file_path=str(path))
    with pytest.raises(RuntimeError, match="exactly one"):
        BundledProgram(None, cases)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (lambda: MethodTestCase((X,)), "method 'forward': inputs: the method has 2, but the test case has 1"),
        (
            lambda: MethodTestCase((X.int(), 4)),
            r"input 0: int32\[2, 3\] is given, but the method has float32",
        ),
        (
            lambda: MethodTestCase((X[:1], 4)),
            r"input 0: float32\[1, 3\] is given, but the method has float32\[2, 3\]",
        ),
        (lambda: MethodTestCase((X, 4.0)), "input 1: 4.0 is not of type int"),
        (lambda: MethodTestCase((X, True)), "input 1: True is not of type int"),
        (lambda: MethodTestCase((3, 4)), "input 0: 3 is not a tensor"),
        (
            lambda: MethodTestCase((X, 4), [X, X]),
            "expected outputs: the method has 1, but the test case has 2",
        ),
        (lambda: MethodTestCase((X, 4), [X.double()]), "expected output 0: float64"),
        (lambda: MethodTestCase((X, "4")), "input 1 has the type str; give a tensor or a number"),  # type: ignore[arg-type]
    ],
)
def test_test_cases_that_do_not_fit(program: Program, case: object, message: str) -> None:
    assert callable(case)
    with pytest.raises(BundleError, match=message):
        BundledProgram(program, suite(case()))


def test_methods_that_do_not_fit(program: Program) -> None:
    with pytest.raises(BundleError, match="no method 'encode'; it has forward"):
        BundledProgram(program, [MethodTestSuite("encode", [])])
    with pytest.raises(BundleError, match="two test suites of method 'forward'"):
        BundledProgram(program, suite() + suite())


def test_damaged_files_are_refused_or_read(program: Program) -> None:
    data = serialize_from_bundled_program_to_flatbuffer(
        BundledProgram(program, suite(MethodTestCase((X, 4), [X * 4])))
    )
    with pytest.raises(FormatError, match="the file identifier is b'ET12', not 'BP08'"):
        deserialize_from_flatbuffer_to_bundled_program(program.buffer)
    with pytest.raises(FormatError, match="version 9"):
        deserialize_from_flatbuffer_to_bundled_program(_with_version(data, 9))
    tables = data.find(program.buffer)
    for size in range(0, tables, 3):
        with pytest.raises(FormatError):
            deserialize_from_flatbuffer_to_bundled_program(data[:size])
    numbers = random.Random(2)
    refused = 0
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(numbers.randint(1, 3)):
            damaged[numbers.randrange(300)] = numbers.choice([0, 1, 4, 0x7F, 0xFF])
        try:
            deserialize_from_flatbuffer_to_bundled_program(damaged)
        except FormatError as error:
            refused += 1
            assert str(error)
    assert 150 < refused


def _with_version(data: bytes, version: int) -> bytes:
    at = data.find((2).to_bytes(4, "little"), 8)
    return data[:at] + version.to_bytes(4, "little") + data[at + 4 :]
