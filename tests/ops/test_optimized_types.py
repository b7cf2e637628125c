"""Optimized kernels agree with eager PyTorch in every supported dtype, and for rows of many lengths."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.fresh import run_python
from tests.ops.elementwise_cases import CASES as ELEMENTWISE
from tests.ops.harness import FLOAT16_TYPES, INTS, Case, assert_same, check, compute, expected
from tests.ops.reduction_cases import CASES as REDUCTIONS
from tests.ops.samples import special, tensor
from tests.ops.test_elementwise import near_multiples

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


def test_16_bit_floats_without_avx2() -> None:
    """Small code, such as that for processors without AVX2, converts 16-bit floats to float32 in memory."""
    arguments = ["-q", "-p", "no:cacheprovider", "-k", "float16", f"{__file__}::test_operands_of_one_type"]
    done = run_python(
        "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))",
        *arguments,
        cwd=Path(__file__).parents[2],
        environment=os.environ | {"RUSHLIGHT_ISA": "generic"},
    )
    assert done.returncode == 0, done.stdout


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


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_remainders_have_the_bits_of_the_portable_kernels(name: str) -> None:
    x, y = near_multiples()
    cases = [
        (f"aten::{name}.Tensor_out", Case(x, y)),
        (f"aten::{name}.Tensor_out", Case(x[:700, None].contiguous(), y[:3])),
        (f"aten::{name}.Scalar_out", Case(x, 0.3)),
        (f"aten::{name}.Scalar_out", Case(x, -1e30)),
    ]
    for kernel, case in cases:
        out = [torch.empty_like(t) for t in expected(kernel, case)]
        wanted = compute(kernel, case, [torch.empty_like(out[0])], "portable")
        got = compute(kernel, case, out, "optimized")
        same = got[0].view(torch.int32) == wanted[0].view(torch.int32)
        assert bool((same | (got[0].isnan() & wanted[0].isnan())).all())


@pytest.mark.parametrize("dtype", [*INTS, torch.bool], ids=str)
def test_bits_and_conditions_of_long_and_short_rows(dtype: torch.dtype) -> None:
    a = tensor(dtype, 7, 1300)
    for b in (
        tensor(dtype, 7, 1300, seed=1),
        tensor(dtype, 7, 1, seed=1),
        tensor(dtype, 1300),
        tensor(dtype),
    ):
        for name in ("and", "or", "xor"):
            for x, y in ((a, b), (b, a)):
                check(f"aten::bitwise_{name}.Tensor_out", Case(x, y), None)
                check(f"aten::logical_{name}.out", Case(x, y), None)
    for x in (a, special(dtype), tensor(dtype, 0, 3), tensor(dtype)):
        check("aten::bitwise_not.out", Case(x), None)
        for number in (0, 5, True) if dtype == torch.bool else (0, 5, -1, 1000, True):
            if dtype == torch.bool and number is not True:
                continue
            check("aten::bitwise_xor.Scalar_out", Case(x, number), None)
        if dtype != torch.bool:
            check("aten::abs.out", Case(x), None)
            check("aten::neg.out", Case(x), None)


def test_logical_operators_accept_any_nonzero_byte_as_true() -> None:
    a = torch.arange(256, dtype=torch.uint8).repeat(3)
    b = torch.arange(768, dtype=torch.int32).remainder(3).to(torch.uint8)
    for name in ("and", "or", "xor"):
        check(f"aten::logical_{name}.out", Case(a, b), None)


def test_products_of_complex_numbers() -> None:
    a = tensor(torch.complex64, 5, 401)
    for b in (
        tensor(torch.complex64, 5, 401, seed=1),
        tensor(torch.complex64, 5, 1),
        tensor(torch.complex64, 401),
    ):
        check("aten::mul.out", Case(a, b), None)
        check("aten::mul.out", Case(b, a), None)
    check("aten::mul.out", Case(tensor(torch.complex64, 300, 3), tensor(torch.complex64, 3)), None)
    check("aten::mul.Scalar_out", Case(a, 2.5), None)


def test_clamp_by_tensors() -> None:
    x = tensor(torch.float32, 5, 1301)
    x[0, :3] = torch.tensor([torch.nan, torch.inf, -torch.inf])
    low, high = tensor(torch.float32, 5, 1301, seed=1), tensor(torch.float32, 1301, seed=2)
    low[1, 5], high[7] = torch.nan, torch.nan
    for a, b in ((low, high), (low[:, :1].contiguous(), high), (torch.tensor(-1.0), torch.tensor(0.5))):
        for case in (Case(x, a, b), Case(x, a, None), Case(x, None, b), Case(torch.tensor(0.3), a, b)):
            check("aten::clamp.Tensor_out", case, None)
    check(
        "aten::clamp.Tensor_out",
        Case(tensor(torch.float32, 300, 3), low[0, :3].clone(), high[:3].clone()),
        None,
    )
    # The result may have the memory of the upper bounds.
    bounds = tensor(torch.float32, 5, 1301, seed=3)
    wanted = expected("aten::clamp.Tensor_out", Case(x, low, bounds.clone()))
    assert_same(
        compute("aten::clamp.Tensor_out", Case(x, low, bounds), [bounds], "optimized"), wanted, "clamp"
    )


@pytest.mark.parametrize("dtype", [torch.float32, *FLOAT16_TYPES], ids=str)
def test_truncated_quotients(dtype: torch.dtype) -> None:
    x, y = tensor(dtype, 5, 401), tensor(dtype, 401, seed=1)
    y[y == 0] = 1
    check("aten::div.out_mode", Case(x, y, rounding_mode="trunc"), None)
    check("aten::div.Scalar_mode_out", Case(x, 1.5, rounding_mode="trunc"), None)
