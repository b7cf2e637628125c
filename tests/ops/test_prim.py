"""Arithmetic on shapes agrees with Python."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.ops.harness import BOOL, FLOAT16_TYPES, FLOATS, INTS
from tests.ops.samples import channels_last, tensor

from rushlight.runtime import call_kernel
from rushlight.runtime.errors import RushlightError

NUMBERS: list[int | float] = [0, 1, -1, 7, -3, 2**30, 0.0, 2.5, -2.5, 3.5, 1e9]

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add.Scalar": operator.add,
    "sub.Scalar": operator.sub,
    "mul.Scalar": operator.mul,
    "floordiv.Scalar": operator.floordiv,
    "floordiv.int": operator.floordiv,
    "truediv.Scalar": operator.truediv,
    "mod.Scalar": operator.mod,
    "mod.int": operator.mod,
    "eq.Scalar": operator.eq,
    "ne.Scalar": operator.ne,
    "lt.Scalar": operator.lt,
    "le.Scalar": operator.le,
    "gt.Scalar": operator.gt,
    "ge.Scalar": operator.ge,
    "sym_max.Scalar": lambda a, b: type(a + b)(max(a, b)),
    "sym_min.Scalar": lambda a, b: type(a + b)(min(a, b)),
}

UNARY: dict[str, Callable[[Any], Any]] = {
    "neg.Scalar": operator.neg,
    "ceil.Scalar": math.ceil,
    "round.Scalar": builtins.round,
    "trunc.Scalar": math.trunc,
    "sym_int.Scalar": int,
    "sym_float.Scalar": float,
    "sym_not.Scalar": operator.not_,
}


def prim(name: str, *args: object) -> Any:
    return call_kernel(f"executorch_prim::{name}", [*args, 0], "portable")[-1]


def same(got: object, wanted: object) -> bool:
    return type(got) is type(wanted) and got == wanted


@pytest.mark.parametrize("name", BINARY)
def test_of_two(name: str) -> None:
    divides = name.startswith(("floordiv", "mod"))
    for a in NUMBERS:
        for b in NUMBERS:
            if divides and b == 0:
                with pytest.raises(RushlightError, match="division by zero"):
                    prim(name, a, b)
            elif b != 0 or not name.startswith("truediv"):
                assert same(prim(name, a, b), BINARY[name](a, b)), (name, a, b)


def test_a_quotient_of_0_is_that_of_floating_point_numbers() -> None:
    assert prim("truediv.Scalar", 1, 0) == float("inf")
    assert prim("truediv.Scalar", -2.5, 0) == float("-inf")
    assert prim("truediv.Scalar", 0, 0) != prim("truediv.Scalar", 0, 0)


@pytest.mark.parametrize("name", UNARY)
def test_of_one(name: str) -> None:
    for a in NUMBERS:
        assert same(prim(name, a), UNARY[name](a)), (name, a)


def test_a_choice_keeps_its_type() -> None:
    for condition, wanted in ((True, 3), (False, 2.5), (1, 3), (0.0, 2.5)):
        assert same(prim("sym_ite.Scalar", condition, 3, 2.5), wanted)
    assert same(prim("sym_ite.Scalar", True, False, 1), False)


@pytest.mark.parametrize("exponent", [0, 1, 3, -2, 0.5, -0.5, 2.0])
def test_powers(exponent: float) -> None:
    for base in (1, 2, 7, 0.25, 9.0):
        assert same(prim("pow.Scalar", base, exponent), base**exponent)
    assert same(prim("pow.Scalar", -3, 3), -27)
    with pytest.raises(RushlightError, match="division by zero"):
        prim("pow.Scalar", 0, -1)
    with pytest.raises(RushlightError, match="no real power"):
        prim("pow.Scalar", -2.0, 0.5)


def test_integers_beyond_64_bits_wrap() -> None:
    assert prim("add.Scalar", 2**63 - 1, 1) == -(2**63)
    assert prim("neg.Scalar", -(2**63)) == -(2**63)
    assert prim("floordiv.Scalar", -(2**63), -1) == -(2**63)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e30])
def test_doubles_that_are_no_integers_are_refused(value: float) -> None:
    with pytest.raises(RushlightError, match="64-bit integer"):
        prim("trunc.Scalar", value)


def test_sizes() -> None:
    source = channels_last(tensor(torch.float32, 2, 3, 4, 5))
    for dim in range(-4, 4):
        assert call_kernel("aten::sym_size.int", [source, dim, 0])[-1] == source.size(dim)
        assert call_kernel("aten::sym_stride.int", [source, dim, 0])[-1] == source.stride(dim)
    assert call_kernel("aten::sym_numel", [source, 0])[-1] == 120
    assert call_kernel("aten::sym_numel", [tensor(torch.float32, 0, 3), 0])[-1] == 0
    assert call_kernel("aten::sym_storage_offset", [source, 0])[-1] == 0
    with pytest.raises(RushlightError, match="dim 4"):
        call_kernel("aten::sym_size.int", [source, 4, 0])


@pytest.mark.parametrize("dtype", [*FLOATS, *FLOAT16_TYPES, *INTS, *BOOL])
def test_local_scalar_dense(dtype: torch.dtype) -> None:
    for value in (tensor(dtype), tensor(dtype, 1, 1)):
        assert same(call_kernel("aten::_local_scalar_dense", [value, 0])[-1], value.item())
    with pytest.raises(RushlightError, match="2 elements"):
        call_kernel("aten::_local_scalar_dense", [tensor(dtype, 2), 0])


def test_et_copy_index_stacks_items() -> None:
    stacked = torch.zeros(3, 2, 4)
    items = [tensor(torch.float32, 2, 4, seed=i) for i in range(3)]
    for i, item in enumerate(items):
        shapes = call_kernel("executorch_prim::et_copy_index.tensor", [stacked, item, i])
        assert shapes[-1] == (i + 1, 2, 4)
    assert torch.equal(stacked, torch.stack(items))
    with pytest.raises(RushlightError, match="negative"):
        call_kernel("executorch_prim::et_copy_index.tensor", [stacked, items[0], -1])
    empty = [torch.zeros(17, 2, 0), torch.zeros(2, 0), 3]
    assert call_kernel("executorch_prim::et_copy_index.tensor", empty)[-1] == (4, 2, 0)


def test_et_view_gives_the_shape_without_a_copy() -> None:
    source, out = tensor(torch.float32, 2, 6), torch.zeros(12)
    with pytest.raises(RushlightError, match="rank"):
        call_kernel("executorch_prim::et_view.default", [source, [3, -1], out])
    out = torch.zeros(4, 3)
    assert call_kernel("executorch_prim::et_view.default", [source, [3, -1], out])[-1] == (3, 4)
    assert torch.equal(out, torch.zeros(4, 3))  # only the handle was moved, not the data
    with pytest.raises(RushlightError, match="12 elements"):
        call_kernel("executorch_prim::et_view.default", [source, [5, -1], out])
