"""The tables of a `.bpte` file as dataclasses, with the fields of `schema/bundled_program.fbs`."""

from __future__ import annotations

from dataclasses import dataclass

from rushlight.format.program import ScalarType


@dataclass
class Tensor:
    """A tensor with its elements.

    Attributes:
        scalar_type: the dtype.
        sizes: the shape.
        data: the elements in the order of `dim_order`.
        dim_order: the dimensions from outermost to innermost.
    """

    scalar_type: ScalarType
    sizes: list[int]
    data: bytes
    dim_order: list[int]


@dataclass
class Int:
    """An integer."""

    int_val: int


@dataclass
class Bool:
    """A boolean."""

    bool_val: bool


@dataclass
class Double:
    """A float64 number."""

    double_val: float


ValueUnion = Tensor | Int | Double | Bool


@dataclass
class Value:
    """An input or an expected output."""

    val: ValueUnion


@dataclass
class BundledMethodTestCase:
    """The inputs and expected outputs of one execution. Without expected outputs, nothing is verified."""

    inputs: list[Value]
    expected_outputs: list[Value]


@dataclass
class BundledMethodTestSuite:
    """The test cases of a method."""

    method_name: str
    test_cases: list[BundledMethodTestCase]


@dataclass
class BundledProgram:
    """The root table of a `.bpte` file. `program` has the bytes of a whole `.pte` file."""

    version: int
    method_test_suites: list[BundledMethodTestSuite]
    program: bytes
