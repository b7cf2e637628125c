"""Optimized matrix products and linear layers, compared with float64."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from tests.ops.optimized_check import check

pytestmark = pytest.mark.threads

SIZES = [
    (1, 1, 1), (1, 1000, 1280), (1, 17, 33), (2, 31, 64), (3, 5, 7), (5, 16, 129), (6, 16, 8), (7, 17, 23),
    (13, 48, 96), (17, 1, 65), (31, 33, 1), (49, 160, 576), (64, 49, 1153), (97, 101, 103), (128, 384, 384),
    (197, 192, 64), (6, 200, 2500), (9, 3000, 30), (1, 64, 5), (4, 4, 300), (8, 9, 40), (9, 9, 40),
]  # fmt: skip
EMPTY = [(0, 3, 4), (3, 0, 4), (3, 4, 0), (1, 4, 0), (0, 0, 0)]


def close(depth: int) -> dict[str, Any]:
    return {"rtol": 1e-5, "atol": 2e-6 * math.sqrt(max(1, depth)) + 1e-7 * depth}


@pytest.mark.parametrize("m,n,k", SIZES + EMPTY)
def test_mm(m: int, n: int, k: int) -> None:
    a, b = torch.randn(m, k), torch.randn(k, n)
    check("aten::mm.out", [a, b], a.double() @ b.double(), **close(k))


@pytest.mark.parametrize("m,n,k", SIZES + EMPTY)
def test_mm_of_a_matrix_in_column_order(m: int, n: int, k: int) -> None:
    a, b = torch.randn(m, k), torch.randn(n, k).t()
    check("aten::mm.out", [a, b], a.double() @ b.double(), **close(k))
    check("aten::mm.out", [a.t().contiguous().t(), b], a.double() @ b.double(), **close(k))


@pytest.mark.parametrize("beta,alpha", [(1, 1), (0, 1), (1, 0), (2.5, 1), (1, -0.5), (0.25, 3), (0, 0)])
@pytest.mark.parametrize("bias", ["row", "column", "full", "one", "zero-dim"])
def test_addmm(bias: str, beta: float, alpha: float) -> None:
    m, n, k = 13, 37, 29
    shape = {"row": (n,), "column": (m, 1), "full": (m, n), "one": (1, 1), "zero-dim": ()}[bias]
    c, a, b = torch.randn(shape), torch.randn(m, k), torch.randn(k, n)
    want = torch.addmm(c.double(), a.double(), b.double(), beta=beta, alpha=alpha)
    check("aten::addmm.out", [c, a, b, beta, alpha], want, **close(k))


@pytest.mark.parametrize("m,n,k", SIZES + EMPTY)
def test_addmm_of_many_sizes(m: int, n: int, k: int) -> None:
    c, a, b = torch.randn(n), torch.randn(m, k), torch.randn(k, n)
    want = torch.addmm(c.double(), a.double(), b.double())
    check("aten::addmm.out", [c, a, b, 1, 1], want, **close(k))


def test_addmm_ignores_the_summand_where_beta_is_zero() -> None:
    c, a, b = torch.full((4,), math.nan), torch.randn(3, 5), torch.randn(5, 4)
    check("aten::addmm.out", [c, a, b, 0, 2], 2 * (a.double() @ b.double()))


@pytest.mark.parametrize(
    "batch,m,n,k",
    [(12, 197, 197, 64), (3, 5, 7, 11), (6, 1, 40, 17), (5, 9, 1, 33), (2, 64, 64, 64), (0, 2, 3, 4)],
)
def test_bmm(batch: int, m: int, n: int, k: int) -> None:
    a, b = torch.randn(batch, m, k), torch.randn(batch, k, n)
    check("aten::bmm.out", [a, b], a.double() @ b.double(), **close(k))
    c = torch.randn(batch, 1, n)
    want = torch.baddbmm(c.double(), a.double(), b.double(), beta=0.5, alpha=2)
    check("aten::baddbmm.out", [c, a, b, 0.5, 2], want, **close(4 * k))


@pytest.mark.parametrize(
    "shape", [(1, 64), (3, 7), (2, 5, 64), (128, 384), (2, 3, 4, 17), (9,), (0, 5), (8, 1)]
)
@pytest.mark.parametrize("features", [1, 10, 96, 257])
@pytest.mark.parametrize("with_bias", [True, False])
def test_linear(shape: tuple[int, ...], features: int, with_bias: bool) -> None:
    x, w = torch.randn(shape), torch.randn(features, shape[-1])
    bias = torch.randn(features) if with_bias else None
    want = torch.nn.functional.linear(x.double(), w.double(), None if bias is None else bias.double())
    check("aten::linear.out", [x, w, bias], want, **close(shape[-1]))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_not_finite_elements_reach_their_row_and_column_alone(value: float) -> None:
    a, b = torch.randn(14, 19), torch.randn(19, 35)
    a[3, 7] = value
    b[2, 30] = value
    check("aten::mm.out", [a, b], a.double() @ b.double(), **close(19))


def test_float16_takes_the_portable_kernel() -> None:
    a, b = torch.ones(5, 6, dtype=torch.float16), torch.full((6, 3), 2, dtype=torch.float16)
    check("aten::mm.out", [a, b], a @ b, dtype=torch.float16)


WIDE = [torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


def wide(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    if dtype is torch.float64:
        return torch.randn(shape, dtype=dtype)
    info = torch.iinfo(dtype)
    return torch.randint(info.min, info.max, shape, dtype=dtype)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize(
    "m,n,k",
    [*EMPTY, (1, 1, 1), (3, 5, 7), (65, 33, 64), (17, 32, 65), (70, 70, 130), (1, 100, 129), (64, 1, 9)],
)
def test_products_of_wide_numbers(dtype: torch.dtype, m: int, n: int, k: int) -> None:
    a, b = wide(dtype, m, k), wide(dtype, k, n)
    check("aten::mm.out", [a, b], a @ b, atol=1e-12, dtype=dtype)
    check("aten::mm.out", [a, b.t().contiguous().t()], a @ b, atol=1e-12, dtype=dtype)
    check("aten::mm.out", [a.t().contiguous().t(), b], a @ b, atol=1e-12, dtype=dtype)
    c = wide(dtype, n)
    check(
        "aten::addmm.out", [c, a, b, 3, -2], torch.addmm(c, a, b, beta=3, alpha=-2), atol=1e-12, dtype=dtype
    )
    check("aten::bmm.out", [a[None], b[None]], (a @ b)[None], atol=1e-12, dtype=dtype)
    check("aten::linear.out", [a, b.t().contiguous(), c], a @ b + c, atol=1e-12, dtype=dtype)


def test_not_finite_float64_reach_their_row_and_column_alone() -> None:
    a, b = torch.randn(14, 19, dtype=torch.float64), torch.randn(19, 35, dtype=torch.float64)
    a[3, 7] = math.nan
    b[2, 30] = math.inf
    check("aten::mm.out", [a, b], a @ b, atol=1e-12, dtype=torch.float64)
    c = torch.full((35,), math.nan, dtype=torch.float64)
    check("aten::addmm.out", [c, a, b, 0, 1], a @ b, atol=1e-12, dtype=torch.float64)
