"""Python values become values of a program; equal constants are stored once."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from rushlight.emit.errors import EmitError
from rushlight.emit.values import Values
from rushlight.format.program import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    Int,
    IntList,
    Null,
    OptionalTensorList,
    String,
    TensorList,
)
from rushlight.ir.spec import TensorSpec

INT, FLOAT, BOOL = torch.IntType.get(), torch.FloatType.get(), torch.BoolType.get()
TENSOR = torch.TensorType.get()
OPTIONAL_TENSOR = torch.OptionalType(TENSOR)


@pytest.mark.parametrize(
    "value, kind, expected",
    [
        (None, torch.OptionalType(INT), Null()),
        (3, INT, Int(3)),
        (3, FLOAT, Double(3.0)),
        (3, torch.OptionalType(FLOAT), Double(3.0)),
        (True, BOOL, Bool(True)),
        (True, INT, Bool(True)),
        (0.5, torch.NumberType.get(), Double(0.5)),
        (-2, torch.NumberType.get(), Int(-2)),
        (math.inf, FLOAT, Double(math.inf)),
        ("none", torch.StringType.get(), String("none")),
        (torch.float32, torch.OptionalType(INT), Int(6)),
        (torch.bfloat16, INT, Int(15)),
        (torch.strided, INT, Int(0)),
        (torch.contiguous_format, INT, Int(0)),
        (torch.preserve_format, INT, Int(1)),
        ([True, False], torch.ListType(BOOL), BoolList([True, False])),
        ([1.0, 2], torch.ListType(FLOAT), DoubleList([1.0, 2.0])),
        ([1.0, 2.0], torch.OptionalType(torch.ListType(FLOAT)), DoubleList([1.0, 2.0])),
        ([], torch.ListType(INT), IntList([])),
    ],
)
def test_constants(value: Any, kind: Any, expected: Any) -> None:
    values = Values()
    assert values.items[values.constant(value, kind).index].val == expected


def test_int_lists_refer_to_their_elements() -> None:
    values = Values()
    size = values.fresh(Int(0))
    ref = values.constant([2, size, 2], torch.ListType(INT))
    items = values.items[ref.index].val.items  # type: ignore[union-attr]
    assert items[1] == size.index
    assert items[0] == items[2] and values.items[items[0]].val == Int(2)  # type: ignore[index]


def test_a_single_int_stands_for_a_list() -> None:
    values = Values()
    (item,) = values.items[values.constant(4, torch.ListType(INT)).index].val.items  # type: ignore[union-attr]
    assert values.items[item].val == Int(4)  # type: ignore[index]


def test_tensor_lists() -> None:
    values = Values()
    a, b = (values.of_spec(TensorSpec(torch.float32, [2])) for _ in range(2))
    tensors = values.constant([a, b], torch.ListType(TENSOR))
    assert values.items[tensors.index].val == TensorList([a.index, b.index])
    optional = values.constant([None, b], torch.ListType(OPTIONAL_TENSOR))
    assert values.items[optional.index].val == OptionalTensorList([-1, b.index])
    assert values.items[values.constant([a, b]).index].val == TensorList([a.index, b.index])


def test_equal_constants_are_one_value() -> None:
    values = Values()
    same = [(1, INT), (1.5, FLOAT), (None, None), ([1, 2], torch.ListType(INT)), (math.nan, FLOAT)]
    first = [values.constant(value, kind) for value, kind in same]
    count = len(values.items)
    assert [values.constant(value, kind) for value, kind in same] == first
    assert len(values.items) == count


def test_constants_that_only_compare_equal_are_apart() -> None:
    values = Values()
    refs = [values.constant(v) for v in (1, 1.0, True, 0, 0.0, -0.0, False, "1")]
    assert len(set(refs)) == len(refs)
    assert math.copysign(1, values.items[refs[5].index].val.double_val) == -1  # type: ignore[union-attr]


def test_fresh_values_are_never_shared() -> None:
    values = Values()
    fresh = values.fresh(Int(0))
    assert values.constant(0) != fresh != values.fresh(Int(0))


def test_a_spec_has_one_value() -> None:
    values, spec = Values(), TensorSpec(torch.int8, [3])
    assert values.of_spec(spec) == values.of_spec(spec) != values.of_spec(TensorSpec(torch.int8, [3]))


@pytest.mark.parametrize("value", [1j, object(), torch.device("cpu"), [object()]])
def test_what_the_format_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(EmitError, match="cannot contain"):
        Values().constant(value)
