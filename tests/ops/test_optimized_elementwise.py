"""Optimized elementwise operators, compared with float64 or with the bits of eager PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.ops.optimized_check import check, run
from torch.nn import functional

Function = Callable[..., torch.Tensor]

SPECIAL = [
    0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38, 88.8, -87.4,
    -103.9, -104.5, 0.625, 0.92, 3.94, 17.0, -17.0, 6.0, 3.0, -3.0, 0.5, -0.5, 1.5, 2.5, -2.5, 8388607.5,
]  # fmt: skip
UNARY: dict[str, tuple[list[Any], Function]] = {
    "abs": ([], torch.abs),
    "neg": ([], torch.neg),
    "relu": ([], torch.relu),
    "sqrt": ([], torch.sqrt),
    "rsqrt": ([], torch.rsqrt),
    "reciprocal": ([], torch.reciprocal),
    "square": ([], torch.square),
    "exp": ([], torch.exp),
    "log": ([], torch.log),
    "tanh": ([], torch.tanh),
    "erf": ([], torch.erf),
    "sin": ([], torch.sin),
    "cos": ([], torch.cos),
    "log1p": ([], torch.log1p),
    "expm1": ([], torch.expm1),
    "log2": ([], torch.log2),
    "log10": ([], torch.log10),
    "mish": ([], functional.mish),
    "softplus": ([2.0, 3.0], lambda x: functional.softplus(x, 2.0, 3.0)),
    "elu": ([0.5, 2.0, 1], lambda x: torch.ops.aten.elu(x, 0.5, 2.0)),
    "floor": ([], torch.floor),
    "ceil": ([], torch.ceil),
    "trunc": ([], torch.trunc),
    "round": ([], torch.round),
    "sign": ([], torch.sign),
    "sigmoid": ([], torch.sigmoid),
    "silu": ([], functional.silu),
    "hardsigmoid": ([], functional.hardsigmoid),
    "hardswish": ([], functional.hardswish),
    "hardtanh": ([0.0, 6.0], lambda x: functional.hardtanh(x, 0.0, 6.0)),
    "leaky_relu": ([0.1], lambda x: functional.leaky_relu(x, 0.1)),
    # On some processors, the float32 result of eager PyTorch for infinity is NaN.
    "gelu": (["none"], lambda x: functional.gelu(x.double()).float()),
    "clamp": ([-1, 2.5], lambda x: torch.clamp(x, -1, 2.5)),
    "atan": ([], torch.atan),
    "celu": ([1.0], functional.celu),
    "frac": ([], torch.frac),
    "isnan": ([], torch.isnan),
    "logical_not": ([], torch.logical_not),
    "sgn": ([], torch.sgn),
}
BROADCASTS = [
    ((), ()), ((5,), ()), ((), (5,)), ((0, 3), (1, 3)), ((17,), (17,)), ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((2, 3, 7, 7), (3, 1, 1)), ((3, 1, 1), (2, 3, 7, 7)), ((4, 197, 64), (197, 1)), ((1, 9), (8, 1)),
    ((2, 1, 5, 1), (3, 1, 7)), ((128, 384), (384,)), ((1, 1), (1,)), ((3, 40000), (3, 40000)),
    ((60000,), (1,)),
]  # fmt: skip
SIZES = [(0,), (1,), (3,), (7,), (8,), (17,), (31, 33), (2, 3, 5, 7), ()]
LARGE = [(3, 7001), (1, 16, 56, 56)]


def values(shape: tuple[int, ...]) -> torch.Tensor:
    x = torch.randn(shape) * 4
    flat = x.view(-1)
    flat[: len(SPECIAL)] = torch.tensor(SPECIAL)[: flat.numel()]
    return x


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", SIZES + LARGE, ids=str)
def test_unary(name: str, shape: tuple[int, ...]) -> None:
    arguments, function = UNARY[name]
    x = values(shape)
    check(f"aten::{name}.out", [x, *arguments], function(x), rtol=1e-6, atol=1e-6)


def test_log_sigmoid() -> None:
    x = values((1000,))
    want = functional.logsigmoid(x.double())
    for buffer in (torch.exp(-x.abs()), torch.empty(0)):
        check("aten::log_sigmoid_forward.output", [x], want, buffer, rtol=1e-6)


@pytest.mark.parametrize("decimals", [0, 2, -1])
def test_round_to_decimals(decimals: int) -> None:
    x = torch.cat([values((1000,)), torch.tensor([0.125, -0.125, 15.0, 25.0, 1234.5])])
    check("aten::round.decimals_out", [x, decimals], torch.round(x, decimals=decimals), rtol=0, atol=0)


def test_gelu_by_tanh() -> None:
    x = values((1000,))
    check("aten::gelu.out", [x, "tanh"], functional.gelu(x, approximate="tanh"), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "sign"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_roundings_have_the_bits_of_eager(name: str, dtype: torch.dtype) -> None:
    bits = torch.arange(0, 2**31, 20011, dtype=torch.int64)
    x = torch.cat([bits, bits - 2**31]).to(torch.int32).view(torch.float32).to(dtype)
    x = torch.cat([x, torch.arange(-64, 64, dtype=dtype) / 4, torch.tensor([-0.0], dtype=dtype)])
    want = getattr(torch, name)(x)
    (got,) = run(f"aten::{name}.out", [x], [want], threads=1)
    assert torch.equal(got.isnan(), want.isnan())
    got, want = got[~want.isnan()], want[~want.isnan()]
    assert torch.equal(got, want)
    assert torch.equal(got.signbit(), want.signbit())


def every_float() -> torch.Tensor:
    """Returns float32 numbers whose bits are evenly spaced, and the special numbers."""
    bits = torch.arange(0, 2**31, 20011, dtype=torch.int64)
    x = torch.cat([bits, bits - 2**31]).to(torch.int32).view(torch.float32)
    return torch.cat([x, torch.linspace(-1.1, 1.1, 20001), torch.tensor(SPECIAL)])


def assert_within_units(got: torch.Tensor, want: torch.Tensor, most: int) -> None:
    """Compares float32 numbers; `most` is a number of units in the last place."""
    ordered = [
        torch.where(t.view(torch.int32) < 0, -(t.view(torch.int32) & 0x7FFFFFFF), t.view(torch.int32))
        for t in (got, want)
    ]
    distance = (ordered[0].long() - ordered[1].long()).abs()
    assert torch.equal(got.isnan(), want.isnan())
    assert int(distance[~want.isnan()].max()) <= most


@pytest.mark.parametrize(
    "function",
    [
        *(torch.exp, torch.tanh, torch.erf, torch.log, torch.sin, torch.cos),
        *(torch.log1p, torch.expm1, torch.log2, torch.log10),
    ],
)
def test_functions_are_within_two_units_of_the_last_place(function: Function) -> None:
    x = every_float()
    want = function(x.double()).float()
    (got,) = run(f"aten::{function.__name__}.out", [x], [want], threads=1)
    assert_within_units(got, want, 2)


WIDE_UNARY: dict[str, Function] = {
    "acos": torch.acos, "asin": torch.asin, "atan": torch.atan, "atanh": torch.atanh, "cosh": torch.cosh,
    "erfc": torch.erfc, "erfinv": torch.erfinv, "exp2": torch.exp2, "sinh": torch.sinh,
    "special_erfcx": torch.special.erfcx, "tan": torch.tan,
}  # fmt: skip


@pytest.mark.parametrize("name", WIDE_UNARY)
def test_functions_computed_in_float64_are_within_one_unit(name: str) -> None:
    x = every_float()
    want = WIDE_UNARY[name](x.double()).float()
    (got,) = run(f"aten::{name}.out", [x], [want], threads=2)
    assert_within_units(got, want, 1)
    usual = ~want.isnan()
    assert torch.equal(got.signbit()[usual], want.signbit()[usual])


@pytest.mark.parametrize("name", WIDE_UNARY)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.int32, torch.bool], ids=str)
def test_functions_computed_in_float64_of_other_dtypes(name: str, dtype: torch.dtype) -> None:
    x = (torch.randn(3, 77) * 0.7).to(dtype)
    want = WIDE_UNARY[name](x.double())
    result = dtype if dtype.is_floating_point else torch.float32
    check(f"aten::{name}.out", [x], want, rtol=torch.finfo(result).eps, atol=0, dtype=result)


WIDE_BINARY: dict[str, Function] = {
    "hypot": torch.hypot, "logaddexp": torch.logaddexp, "logaddexp2": torch.logaddexp2,
    "pow.Tensor_Tensor": torch.pow,
}  # fmt: skip


def out_overload(name: str) -> str:
    return f"aten::{name}{'_out' if '.' in name else '.out'}"


def lost_digits(name: str) -> float:
    """Returns the absolute error of results near 0, where a number and a logarithm cancel (eager: 1e-8)."""
    return 1e-9 if name.startswith("logaddexp") else 2e-45


@pytest.mark.parametrize("name", WIDE_BINARY)
@pytest.mark.parametrize("shapes", BROADCASTS, ids=str)
def test_functions_of_two_numbers(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = values(shapes[0]), values(shapes[1]).flip(-1) if shapes[1] else torch.tensor(0.75)
    want = WIDE_BINARY[name](a.double(), b.double())
    check(out_overload(name), [a, b], want, rtol=2e-7, atol=lost_digits(name))


@pytest.mark.parametrize("name", WIDE_BINARY)
def test_functions_of_two_special_numbers(name: str) -> None:
    numbers = torch.tensor([*SPECIAL, 2.0, -2.0, 1e-3, 40.0])
    a, b = torch.cartesian_prod(numbers, numbers).t().contiguous()
    want = WIDE_BINARY[name](a.double(), b.double()).float()
    (got,) = run(out_overload(name), [a, b], [want], threads=1)
    torch.testing.assert_close(got, want, rtol=2e-7, atol=lost_digits(name), equal_nan=True)


@pytest.mark.parametrize("name", ["exp", "sin", "sqrt", "rsqrt", "sigmoid", "log1p", "reciprocal"])
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool], ids=str)
def test_functions_of_integers(name: str, dtype: torch.dtype) -> None:
    x = torch.randint(0, 90, (3, 701)).to(dtype)
    check(f"aten::{name}.out", [x], getattr(torch, name)(x), rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64], ids=str)
def test_roundings_and_signs_of_integers(dtype: torch.dtype) -> None:
    x = torch.randint(0 if dtype == torch.uint8 else -3, 4, (3, 701)).to(dtype)
    for name in ("ceil", "floor", "round", "trunc", "sign", "logical_not", "isnan"):
        check(f"aten::{name}.out", [x], getattr(torch, name)(x), dtype=dtype)


@pytest.mark.parametrize("exponent", [2, 0.5, 3, -0.5, -1, -2, 2.5, 0])
def test_pow(exponent: float) -> None:
    x = values((203,))
    check("aten::pow.Tensor_Scalar_out", [x, exponent], torch.pow(x, exponent), rtol=2e-6)


@pytest.mark.parametrize("base", [2, 0.5, 0, -2.0, 1.75])
def test_pow_of_a_number(base: float) -> None:
    x = values((203,))
    check("aten::pow.Scalar_out", [base, x], torch.pow(base, x.double()), rtol=2e-7)


@pytest.mark.parametrize("low,high", [(None, 1.5), (-0.5, None), (2, 1), (math.nan, 1.0)])
def test_clamp_with_one_bound_crossed_bounds_and_nan(low: float | None, high: float | None) -> None:
    x = values((77,))
    check("aten::clamp.out", [x, low, high], torch.clamp(x, low, high))


BINARY: dict[str, tuple[list[Any], Function]] = {
    "aten::add.out": ([1], torch.add),
    "aten::sub.out": ([1], torch.sub),
    "aten::mul.out": ([], torch.mul),
    "aten::div.out": ([], torch.div),
    "aten::maximum.out": ([], torch.maximum),
    "aten::minimum.out": ([], torch.minimum),
    "aten::eq.Tensor_out": ([], torch.eq),
    "aten::ne.Tensor_out": ([], torch.ne),
    "aten::lt.Tensor_out": ([], torch.lt),
    "aten::le.Tensor_out": ([], torch.le),
    "aten::gt.Tensor_out": ([], torch.gt),
    "aten::ge.Tensor_out": ([], torch.ge),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", BROADCASTS, ids=str)
def test_binary(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    arguments, function = BINARY[name]
    a, b = values(shapes[0]), values(shapes[1]).flip(-1) if shapes[1] else torch.tensor(0.75)
    check(name, [a, b, *arguments], function(a, b), rtol=0, atol=0)


@pytest.mark.parametrize("shapes", BROADCASTS, ids=str)
def test_atan2(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = values(shapes[0]), values(shapes[1]).flip(-1) if shapes[1] else torch.tensor(0.75)
    check("aten::atan2.out", [a, b], torch.atan2(a, b), rtol=3e-7, atol=3e-45)


def test_atan2_of_special_numbers() -> None:
    a, b = torch.cartesian_prod(*[torch.tensor(SPECIAL)] * 2).t().contiguous()
    want = torch.atan2(a, b)
    (got,) = run("aten::atan2.out", [a, b], [want], threads=1)
    torch.testing.assert_close(got, want, rtol=3e-7, atol=1e-44, equal_nan=True)
    assert torch.equal(got.signbit()[~want.isnan()], want.signbit()[~want.isnan()])


@pytest.mark.parametrize("name", ["add", "sub"])
@pytest.mark.parametrize("alpha", [1, 0.5, -2])
def test_add_and_sub_with_alpha_and_numbers(name: str, alpha: float) -> None:
    a, b = torch.randn(3, 50), torch.randn(50)
    function = getattr(torch, name)
    check(f"aten::{name}.out", [a, b, alpha], function(a, b, alpha=alpha))
    check(f"aten::{name}.Scalar_out", [a, 2.5, alpha], function(a, 2.5, alpha=alpha))


@pytest.mark.parametrize("number", [3, -0.7])
def test_numbers(number: float) -> None:
    a = values((5, 43))
    check("aten::mul.Scalar_out", [a, number], a * number)
    check("aten::div.Scalar_out", [a, number], a / number)
    check("aten::rsub.Scalar_out", [a, number, 1], torch.rsub(a, number))
    check("aten::rsub.Scalar_out", [a, number, 2], torch.rsub(a, number, alpha=2))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        check(f"aten::{name}.Scalar_out", [a, number], getattr(torch, name)(a, number))


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.int32, torch.bool])
def test_zero_dim_tensors_of_other_dtypes_count_as_numbers(dtype: torch.dtype) -> None:
    a, number = torch.randn(4, 21), torch.tensor(3.25).to(dtype)
    check("aten::mul.out", [a, number], a * number)
    check("aten::add.out", [number, a, 1], number + a)


@pytest.mark.parametrize(
    "shapes",
    [
        ((4, 9), (4, 9), (4, 9)), ((9,), (4, 1), ()), ((4, 1), (4, 9), (9,)), ((), (3,), (2, 3)),
        ((4, 9), (), ()),
    ],
    ids=str,
)  # fmt: skip
def test_where(shapes: tuple[tuple[int, ...], ...]) -> None:
    c, a, b = torch.randn(shapes[0]) > 0, values(shapes[1]), torch.randn(shapes[2])
    check("aten::where.self_out", [c, a, b], torch.where(c, a, b))


@pytest.mark.parametrize("name", ["aten::add.out", "aten::mul.out"])
def test_channels_last_operands(name: str) -> None:
    arguments, function = BINARY[name]
    a = torch.randn(2, 5, 4, 3).to(memory_format=torch.channels_last)
    for b in (torch.randn_like(a), torch.randn(5, 1, 1), torch.randn(2, 5, 4, 3)):
        check(name, [a, b, *arguments], function(a, b))


@pytest.mark.parametrize("shapes", [((33, 700), (33, 700)), ((5, 1), (1, 37)), ((), (40,))], ids=str)
def test_operations_on_bools(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (torch.rand(shape) > 0.5 for shape in shapes)
    check("aten::add.out", [a, b, 1], a + b)
    for name, function in (("mul", torch.mul), ("maximum", torch.maximum), ("minimum", torch.minimum)):
        check(f"aten::{name}.out", [a, b], function(a, b))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        check(f"aten::{name}.Tensor_out", [a, b], getattr(torch, name)(a, b))


def test_comparisons_accept_any_nonzero_byte_as_true() -> None:
    bytes_ = torch.tensor([0, 1, 2, 255, 2, 0], dtype=torch.uint8)
    a, b = bytes_.view(torch.bool), bytes_.flip(0).contiguous().view(torch.bool)
    wide = [(t.view(torch.uint8) != 0).to(torch.uint8) for t in (a, b)]
    for name in ("eq", "lt", "ge"):
        check(f"aten::{name}.Tensor_out", [a, b], getattr(torch, name)(*wide))


@pytest.mark.parametrize("numbers", [(None, None, None), (1.5, 7.0, -3.0), (math.inf, 2.0, None)], ids=str)
def test_nan_to_num(numbers: tuple[float | None, float | None, float | None]) -> None:
    x = torch.randn(3, 1500)
    x[0, 3], x[1, 5], x[2, 1499], x[2, 0] = math.nan, math.inf, -math.inf, 3e38
    check("aten::nan_to_num.out", [x, *numbers], torch.nan_to_num(x, *numbers), rtol=0, atol=0)


def test_out_may_be_an_input() -> None:
    from rushlight.runtime import call_kernel

    for name, arguments in (("aten::add.out", [1]), ("aten::mul.out", [])):
        a, b = torch.randn(3, 77), torch.randn(3, 77)
        want = a + b if "add" in name else a * b
        left, right = a.clone(), b.clone()
        call_kernel(name, [left, b, *arguments, left], library="optimized")
        call_kernel(name, [a, right, *arguments, right], library="optimized")
        assert torch.equal(left, want) and torch.equal(right, want)
    x = torch.randn(1001)
    want = torch.sigmoid(x)
    call_kernel("aten::sigmoid.out", [x, x], library="optimized")
    torch.testing.assert_close(x, want)


@pytest.mark.parametrize("dtype", [torch.float16, torch.int64, torch.int8])
def test_other_dtypes_take_the_portable_kernel(dtype: torch.dtype) -> None:
    a, b = torch.randint(-9, 9, (5, 6)).to(dtype), torch.randint(1, 9, (6,)).to(dtype)
    check("aten::add.out", [a, b, 2], torch.add(a, b, alpha=2), dtype=dtype)
    check("aten::relu.out", [a], torch.relu(a), dtype=dtype)
