"""Optimized kernels agree with eager PyTorch in every supported dtype, and for rows of many lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.ops.elementwise_cases import CASES as ELEMENTWISE
from tests.ops.harness import FLOAT16_TYPES, INTS, Case, assert_same, check, compute, expected
from tests.ops.reduction_cases import CASES as REDUCTIONS
from tests.ops.samples import tensor

from rushlight.runtime import kernel_names

CASES: dict[str, Callable[[], Any]] = {**ELEMENTWISE, **REDUCTIONS}
NAMES = [name for name in CASES if name in kernel_names("optimized")]
BINARY = ("add", "sub", "mul", "maximum", "minimum")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


@pytest.mark.parametrize("name", NAMES)
def test_as_eager(name: str) -> None:
    for case in CASES[name]():
        check(name, case, None)


def operands(dtype: torch.dtype) -> list[tuple[torch.Tensor, torch.Tensor]]:
    shapes = [((33, 70), (33, 70)), ((33, 70), (70,)), ((33, 70), (33, 1)), ((70,), (33, 1)), ((3, 1), (1,))]
    return [(tensor(dtype, *a), tensor(dtype, *b, seed=1)) for a, b in shapes]


@pytest.mark.parametrize("dtype", [*INTS, *FLOAT16_TYPES], ids=str)
def test_operands_of_one_type(dtype: torch.dtype) -> None:
    for a, b in operands(dtype):
        for name in BINARY:
            check(f"aten::{name}.out", Case(a, b), None)
        for name in COMPARISONS:
            check(f"aten::{name}.Tensor_out", Case(a, b), None)
            check(f"aten::{name}.Scalar_out", Case(a, 2), None)
        for name in ("add", "sub", "mul"):
            check(f"aten::{name}.Scalar_out", Case(a, 3), None)
        check("aten::where.self_out", Case(b > a, a, b), None)
        check("aten::clamp.out", Case(a, 1, 5), None)
        check("aten::clamp.out", Case(a, None, 5), None)
        check("aten::relu.out", Case(a), None)


SHORT_ROWS = [
    ((700, 3), (3,)), ((700, 3), (700, 1)), ((60, 1, 3), (1, 50, 3)), ((7, 80, 1, 5), (7, 1, 4, 1)),
    ((40, 3, 100), (3, 100)), ((9, 1, 70), (1, 40, 70)), ((300, 33), (300, 1)), ((0, 3), (3,)),
    ((5, 0), (5, 1)), ((2, 2), (2, 1)), ((600, 2), (1, 1)), ((30, 1, 4, 1), (1, 20, 1, 6)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [*INTS, *FLOAT16_TYPES, torch.float32], ids=str)
@pytest.mark.parametrize("shapes", SHORT_ROWS, ids=str)
def test_broadcast_of_short_rows(shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: torch.dtype) -> None:
    a, b = tensor(dtype, *shapes[0]), tensor(dtype, *shapes[1], seed=1)
    condition = tensor(torch.int32, *shapes[1], seed=2) > 0
    for x, y in ((a, b), (b, a)):
        check("aten::sub.out", Case(x, y), None)
        check("aten::maximum.out", Case(x, y), None)
        check("aten::lt.Tensor_out", Case(x, y), None)
        check("aten::where.self_out", Case(condition, x, y), None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32], ids=str)
def test_short_rows_of_channels_last_tensors(dtype: torch.dtype) -> None:
    a = tensor(dtype, 3, 5, 11, 13).to(memory_format=torch.channels_last)
    for other in ((1, 5, 1, 1), (3, 1, 11, 13), (3, 5, 1, 13), (13,)):
        check("aten::mul.out", Case(a, tensor(dtype, *other, seed=1)), None)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 1, 1)], ids=str)
def test_one_number_of_another_type_takes_part_in_broadcasting(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    one = torch.ones(shape, dtype=dtype)
    for x in (torch.tensor(0.5), tensor(torch.float32, 7)):
        for name in ("maximum", "minimum"):
            check(f"aten::{name}.out", Case(one, x), None)
            check(f"aten::{name}.out", Case(x, one), None)


@pytest.mark.parametrize("dtype", [*INTS, *FLOAT16_TYPES], ids=str)
def test_operands_in_place(dtype: torch.dtype) -> None:
    for name in BINARY:
        for index in (0, 1):
            args = [tensor(dtype, 5, 3333), tensor(dtype, 5, 3333, seed=1)]
            wanted = expected(f"aten::{name}.out", Case(*args))
            assert_same(compute(f"aten::{name}.out", Case(*args), [args[index]], None), wanted, name)


def test_numbers_that_the_type_does_not_hold() -> None:
    for dtype in FLOAT16_TYPES:
        x = tensor(dtype, 300)
        for name in ("add", "mul", "eq", "lt"):
            check(f"aten::{name}.Scalar_out", Case(x, 0.1), None)
    for number in (1000, -1, 0.5, 2**40):
        x = tensor(torch.int8, 300)
        check("aten::lt.Scalar_out", Case(x, number), None)
        check("aten::mul.Scalar_out", Case(x, 0.5), None)


@pytest.mark.parametrize("dtype", [*INTS, *FLOAT16_TYPES, torch.float32], ids=str)
@pytest.mark.parametrize(
    "shape,dims", [((5, 3000), [1]), ((300, 70), [0]), ((150000,), [0]), ((3, 40, 9), [1])]
)
def test_reductions(shape: tuple[int, ...], dims: list[int], dtype: torch.dtype) -> None:
    x = tensor(dtype, *shape)
    rough = {"rtol": 1e-2, "atol": 0.2} if dtype in FLOAT16_TYPES else {"rtol": 1e-4, "atol": 1e-3}
    check("aten::sum.IntList_out", Case(x, dims), None, **rough)
    for name in ("amax", "amin"):
        check(f"aten::{name}.out", Case(x, dims, True), None)
    for name in ("argmax", "argmin"):
        check(f"aten::{name}.out", Case(x, dims[0]), None)
    if dtype.is_floating_point:
        check("aten::mean.out", Case(x, dims), None)
        check("aten::_softmax.out", Case(x, dims[0], False), None)
        nan = x.clone()
        nan.view(-1)[[7, 11]] = float("nan")
        for name in ("argmax", "argmin"):
            check(f"aten::{name}.out", Case(nan, dims[0]), None)
        check("aten::amax.out", Case(nan, dims), None)
