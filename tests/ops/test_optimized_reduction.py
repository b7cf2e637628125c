"""Optimized reductions, softmax and normalizations, compared with float64."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from tests.ops.optimized_check import check, run
from torch.nn import functional

from rushlight.runtime import call_kernel

pytestmark = pytest.mark.threads

SHAPES_AND_DIMS = [
    ((5,), [0]), ((7, 17), [1]), ((7, 17), [0]), ((2, 3, 7, 7), [2, 3]), ((2, 3, 7, 7), [-1, -2]),
    ((4, 197, 64), [1]),
    ((3, 5, 7), [0, 1]), ((3, 5, 7), [0, 1, 2]), ((3, 1, 7), [0, 2]), ((3, 5, 7), [0, 2]), ((2, 3000), [0]),
    ((200000,), [0]), ((4, 1), [1]), ((1, 1), [0]), ((3, 2, 1500), [1]), ((5000, 3), [0]),
    ((2, 35, 600), [1]), ((129, 1), [1]), ((300, 2), [1]), ((1000, 5), [1]), ((40, 7, 16), [2]),
    ((257, 17), [1]), ((5, 3, 17), [0, 2]), ((1100, 2, 16), [0, 2]), ((3, 4, 5, 20), [0, 1, 3]),
    ((3, 4, 5, 20), [0, 2, 3]),
]  # fmt: skip


@pytest.mark.parametrize("shape,dims", SHAPES_AND_DIMS, ids=str)
@pytest.mark.parametrize("keepdim", [True, False])
def test_reductions(shape: tuple[int, ...], dims: list[int], keepdim: bool) -> None:
    x = torch.randn(shape)
    wide = x.double()
    size = math.prod(shape[d] for d in dims)
    check(
        "aten::sum.IntList_out", [x, dims, keepdim, None], wide.sum(dims, keepdim), atol=1e-6 * size**0.5 * 10
    )
    check("aten::mean.out", [x, dims, keepdim, None], wide.mean(dims, keepdim))
    check("aten::amax.out", [x, dims, keepdim], x.amax(dims, keepdim), rtol=0, atol=0)
    check("aten::amin.out", [x, dims, keepdim], x.amin(dims, keepdim), rtol=0, atol=0)


@pytest.mark.parametrize("dims", [[1], [2, 3], [0, 2, 3], [1, 2, 3]], ids=str)
@pytest.mark.parametrize("keepdim", [True, False])
def test_reductions_in_other_dim_orders(dims: list[int], keepdim: bool) -> None:
    image = torch.randn(3, 20, 5, 7).to(memory_format=torch.channels_last)
    if dims == [1]:  # of a transposed matrix; the kernel does not support pixels in another order
        image = torch.randn(40, 33).t()
    wide = image.double()
    size = math.prod(image.shape[d] for d in dims)
    total = wide.sum(dims, keepdim).contiguous()
    check("aten::sum.IntList_out", [image, dims, keepdim, None], total, atol=1e-6 * size**0.5 * 10)
    check("aten::mean.out", [image, dims, keepdim, None], wide.mean(dims, keepdim).contiguous())
    check("aten::amax.out", [image, dims, keepdim], image.amax(dims, keepdim).contiguous(), rtol=0, atol=0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [0, 1, 16, 36])
@pytest.mark.parametrize("dim", [0, 1])
def test_not_finite_elements(value: float, place: int, dim: int) -> None:
    x = torch.randn(37, 37)
    x[place, place] = value
    x[place, 5] = math.inf
    check("aten::sum.IntList_out", [x, [dim], False, None], x.sum(dim), atol=1e-4)
    check("aten::mean.out", [x, [dim], False, None], x.mean(dim))
    check("aten::amax.out", [x, [dim], False], x.amax(dim))
    check("aten::amin.out", [x, [dim], False], x.amin(dim))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("shape,dims", SHAPES_AND_DIMS, ids=str)
def test_reductions_of_integers(shape: tuple[int, ...], dims: list[int], dtype: torch.dtype) -> None:
    x = torch.randint(0, 3, shape).to(dtype)
    for library in ("optimized", None):
        for threads in (1, 2):
            total = torch.empty_like(x.sum(dims))
            call_kernel("aten::sum.IntList_out", [x, dims, False, None, total], library, threads=threads)
            assert torch.equal(total, x.sum(dims))
            for name in ("any", "all"):
                wanted = getattr(x, name)(dims)
                some = torch.empty_like(wanted)
                call_kernel(f"aten::{name}.dims_out", [x, dims, False, some], library, threads=threads)
                assert torch.equal(some, wanted)
            for name in ("amax", "amin"):
                wanted = getattr(x, name)(dims)
                result = torch.empty_like(wanted)
                call_kernel(f"aten::{name}.out", [x, dims, False, result], library, threads=threads)
                assert torch.equal(result, wanted)


def test_any_and_extremes_of_all_elements() -> None:
    for size in (1, 7, 64, 1000, 5000):
        x = torch.randn(size)
        check("aten::max.unary_out", [x], x.max(), rtol=0, atol=0)
        check("aten::min.unary_out", [x], x.min(), rtol=0, atol=0)
        for place in (0, size - 1, size // 2):
            mask = torch.zeros(size, dtype=torch.bool)
            mask[place] = True
            check("aten::any.all_out", [mask], mask.any())
            x[place] = math.nan
            check("aten::max.unary_out", [x], x.max(), rtol=0, atol=0)
            x[place] = -math.inf
            check("aten::min.unary_out", [x], x.min(), rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(129, 1), (300, 2), (1000, 16), (7, 40, 5)], ids=str)
def test_products_of_short_rows(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    x[0, 0], x[1, 0] = math.nan, math.inf
    check("aten::prod.int_out", [x, len(shape) - 1, False, None], x.double().prod(-1))


def test_the_first_power() -> None:
    x = torch.randn(3, 50)
    check("aten::pow.Tensor_Scalar_out", [x, 1], x, rtol=0, atol=0)


def test_reductions_of_nothing() -> None:
    x = torch.randn(3, 0)
    check("aten::sum.IntList_out", [x, [1], False, None], x.sum(1))
    check("aten::mean.out", [x, [1], False, None], x.mean(1))
    check("aten::sum.IntList_out", [x, [0], True, None], x.sum(0, True))


def test_the_sum_of_many_numbers_keeps_its_precision() -> None:
    x = torch.rand(1_000_000)
    check("aten::sum.IntList_out", [x, [0], False, None], x.double().sum(), rtol=1e-6)


@pytest.mark.parametrize(
    "shape,dim",
    [
        ((1000,), 0), ((12, 197, 197), -1), ((5, 1), 1), ((1, 9), 0), ((3, 7), 1), ((3, 17, 5), 1),
        ((2, 4, 130), 1),
        ((8, 31), 0), ((), 0), ((0, 4), 1), ((4, 8), -1), ((2, 1, 3, 33), 2), ((1, 10, 4000), 1),
        ((2, 70, 1000), 1),
    ],
    ids=str,
)  # fmt: skip
def test_softmax(shape: tuple[int, ...], dim: int) -> None:
    x = torch.randn(shape) * 5
    check("aten::_softmax.out", [x, dim, False], functional.softmax(x.double(), dim), atol=2e-7)
    check(
        "aten::_log_softmax.out",
        [x, dim, False],
        functional.log_softmax(x.double(), dim),
        rtol=2e-6,
        atol=2e-6,
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(7, 17), (2, 9, 130), (2, 70, 1100), (1, 5000, 3), (3, 0, 4)], ids=str)
def test_columns_of_halves(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    dim = len(shape) - 2
    x = torch.randn(shape).to(dtype)
    tolerance: dict[str, Any] = {"rtol": 2 * torch.finfo(dtype).eps, "atol": 1e-3, "dtype": dtype}
    check("aten::_softmax.out", [x, dim, False], functional.softmax(x.double(), dim), **tolerance)
    check("aten::_log_softmax.out", [x, dim, False], functional.log_softmax(x.double(), dim), **tolerance)
    if shape[dim]:
        check("aten::sum.IntList_out", [x, [dim], False, None], x.double().sum(dim), **tolerance)
        check("aten::amax.out", [x, [dim], False], x.amax(dim), **tolerance)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("rows", [1, 4, 130, 300])
def test_columns_of_whole_numbers(dtype: torch.dtype, rows: int) -> None:
    info = torch.iinfo(dtype)
    x = torch.randint(info.min // 2, info.max, (2, rows, 601)).to(dtype)
    x[0] = info.max
    x[1, :, :300] = info.min
    check("aten::sum.IntList_out", [x, [1], False, None], x.sum(1))
    check("aten::amax.out", [x, [1], False], x.amax(1))
    check("aten::amin.out", [x, [1], False], x.amin(1))


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_of_extreme_rows(dim: int) -> None:
    x = torch.randn(21, 21)
    x[3] = -math.inf
    x[5, 3:] = -math.inf
    x[7, 20] = math.inf
    x[9, 0] = math.nan
    x[11] = 1e38
    x[:, 13] -= 200
    check("aten::_softmax.out", [x, dim, False], functional.softmax(x, dim))
    check("aten::_log_softmax.out", [x, dim, False], functional.log_softmax(x, dim), rtol=1e-5)


@pytest.mark.parametrize("shape,normalized", [
    ((1, 197, 192), [192]), ((128, 384), [384]), ((2, 3, 4, 5), [4, 5]), ((7, 17), [17]), ((7, 1), [1]), 
    ((5,), [5]),
    ((3, 5), [3, 5]), ((0, 8), [8]),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("parameters", ["both", "weight", "none"])
def test_layer_norm(shape: tuple[int, ...], normalized: list[int], parameters: str) -> None:
    x = torch.randn(shape) * 3 + 2
    weight = None if parameters == "none" else torch.randn(normalized)
    bias = torch.randn(normalized) if parameters == "both" else None
    wide = [None if t is None else t.double() for t in (weight, bias)]
    want = torch.native_layer_norm(x.double(), normalized, *wide, 1e-5)  # type: ignore[arg-type, call-arg]
    check("aten::native_layer_norm.out", [x, normalized, weight, bias, 1e-5], *want, rtol=1e-4, atol=5e-6)


@pytest.mark.parametrize(
    "shape,groups", [((2, 8, 5, 7), 4), ((1, 6, 49), 6), ((3, 6, 4, 4), 1), ((2, 4), 2)], ids=str
)
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(shape: tuple[int, ...], groups: int, affine: bool) -> None:
    x = torch.randn(shape) + 1
    n, c, spatial = shape[0], shape[1], math.prod(shape[2:])
    weight, bias = (torch.randn(c), torch.randn(c)) if affine else (None, None)
    wide = [None if t is None else t.double() for t in (weight, bias)]
    want = torch.native_group_norm(x.double(), *wide, n, c, spatial, groups, 1e-5)  # type: ignore[arg-type, call-arg]
    args = [x, weight, bias, n, c, spatial, groups, 1e-5]
    check("aten::native_group_norm.out", args, *want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 5, 7, 9), (4, 3), (7, 600), (1, 64, 28, 28), (2, 3, 17)], ids=str)
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm(shape: tuple[int, ...], affine: bool) -> None:
    x, c = torch.randn(shape), shape[1]
    weight, bias = (torch.randn(c), torch.randn(c)) if affine else (None, None)
    mean, var = torch.randn(c), torch.rand(c) + 0.1
    want = functional.batch_norm(x, mean, var, weight, bias)
    nothing = torch.empty(0)
    args = [x, weight, bias, mean, var, 0.1, 1e-5]
    check(
        "aten::_native_batch_norm_legit_no_training.out", args, want, nothing, nothing, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("shape", [(3, 197, 197), (5, 1), (7,), (2, 0), ()], ids=str)
@pytest.mark.parametrize("dim", [-1, 0])
def test_any_and_logical_not_of_bool(shape: tuple[int, ...], dim: int) -> None:
    x = torch.rand(shape) > 0.99
    check("aten::any.out", [x, dim, False], x.any(dim))
    check("aten::any.out", [x, dim, True], x.any(dim, keepdim=True))
    check("aten::logical_not.out", [x], ~x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape,dims", SHAPES_AND_DIMS, ids=str)
def test_euclidean_norms(shape: tuple[int, ...], dims: list[int], dtype: torch.dtype) -> None:
    x = (torch.randn(shape) * 3).to(dtype)
    want = torch.linalg.vector_norm(x.double(), 2, dims)
    tolerance = 1e-6 if dtype == torch.float32 else torch.finfo(dtype).eps
    check("aten::linalg_vector_norm.out", [x, 2, dims, False, None], want, rtol=tolerance, dtype=dtype)


def test_euclidean_norms_of_extreme_numbers() -> None:
    x = torch.randn(9, 300)
    x[0], x[1], x[2], x[3] = 0, 1e-30, 1e30, 1e-42
    x[4, 7], x[5, 8], x[6, 9] = math.inf, math.nan, 3e38
    want = torch.linalg.vector_norm(x.double(), 2, [1])
    check("aten::linalg_vector_norm.out", [x, 2, [1], False, None], want, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    "shape,dim",
    [((1000,), 0), ((12, 197, 197), -1), ((5, 1), 1), ((3, 17, 5), 1), ((2, 4, 700), 1), ((8, 31), 0)],
    ids=str,
)
def test_gradients_of_softmax(shape: tuple[int, ...], dim: int) -> None:
    grad, x = torch.randn(shape), torch.randn(shape)
    for name, function in (("softmax", functional.softmax), ("log_softmax", functional.log_softmax)):
        wide = x.double().requires_grad_()
        y = function(wide, dim)
        (want,) = torch.autograd.grad(y, wide, grad.double())
        args = [grad, y.detach().float(), dim, torch.float32]
        check(f"aten::_{name}_backward_data.out", args, want, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("wide_parameters", [True, False])
@pytest.mark.parametrize("shape", [(3, 8, 5, 7), (2, 4, 1200), (4, 6)], ids=str)
def test_norms_of_halves(dtype: torch.dtype, wide_parameters: bool, shape: tuple[int, ...]) -> None:
    x, c = (torch.randn(shape) + 1).to(dtype), shape[1]
    numbers = torch.float32 if wide_parameters else dtype
    weight, bias, mean = (torch.randn(c).to(numbers) for _ in range(3))
    var = (torch.rand(c) + 0.1).to(numbers)
    eps = torch.finfo(dtype).eps
    normal = functional.batch_norm(x.double(), mean.double(), var.double(), weight.double(), bias.double())
    nothing = torch.empty(0, dtype=numbers)
    (got, _, _) = run(
        "aten::_native_batch_norm_legit_no_training.out",
        [x, weight, bias, mean, var, 0.1, 1e-5],
        [normal.to(dtype), nothing, nothing],
        threads=2,
    )
    torch.testing.assert_close(got.double(), normal, rtol=eps, atol=2 * eps)
    spatial = math.prod(shape[2:])
    args = [x, weight, bias, shape[0], c, spatial, 2, 1e-5]
    results = torch.native_group_norm(
        x.double(), weight.double(), bias.double(), shape[0], c, spatial, 2, 1e-5
    )
    outs = [results[0].to(dtype), *(r.to(numbers) for r in results[1:])]
    for actual, want in zip(run("aten::native_group_norm.out", args, outs, threads=2), results, strict=True):
        torch.testing.assert_close(actual.double(), want, rtol=eps, atol=2 * eps)
    scale, shift = (torch.randn(shape[1:]).to(numbers) for _ in range(2))
    results = torch.native_layer_norm(x.double(), shape[1:], scale.double(), shift.double(), 1e-5)  # type: ignore[call-arg]
    outs = [results[0].to(dtype), *(r.to(numbers) for r in results[1:])]
    args = [x, list(shape[1:]), scale, shift, 1e-5]
    for actual, want in zip(run("aten::native_layer_norm.out", args, outs, threads=2), results, strict=True):
        torch.testing.assert_close(actual.double(), want, rtol=eps, atol=2 * eps)


def check_topk(x: torch.Tensor, k: int, dim: int, largest: bool, is_sorted: bool = True) -> None:
    """Values must agree with eager PyTorch.

    Positions must belong to the values, and must be distinct in a row.
    """
    want, places = torch.topk(x, k, dim, largest, True)
    for threads in (1, 2):
        got, at = run("aten::topk.values", [x, k, dim, largest, is_sorted], [want, places], threads=threads)
        numbers = got if is_sorted else got.sort(dim, descending=largest).values
        torch.testing.assert_close(numbers, want, rtol=0, atol=0, equal_nan=True, check_stride=False)
        torch.testing.assert_close(x.gather(dim, at), got, rtol=0, atol=0, equal_nan=True)
        ordered = at.sort(dim).values
        assert bool((ordered.diff(dim=dim) != 0).all())


TOPK_SHAPES = [
    ((7,), 0, 3), ((1,), 0, 1), ((5, 64), 1, 2), ((64, 1024), 1, 20), ((3, 1000), -1, 1), ((2, 777), 1, 700),
    ((2, 77, 300), 1, 5), ((300, 33), 0, 40), ((1, 100003), 1, 300), ((2, 3, 8), 2, 8), ((4, 0, 9), 2, 3),
    ((2, 333), 1, 0), ((0, 5), 1, 2),
]  # fmt: skip


@pytest.mark.parametrize("shape,dim,k", TOPK_SHAPES, ids=str)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_topk(shape: tuple[int, ...], dim: int, k: int, largest: bool, dtype: torch.dtype) -> None:
    check_topk(torch.randn(shape).to(dtype), k, dim, largest)
    check_topk(torch.randn(shape).to(dtype), k, dim, largest, False)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [1, 5, 40, 256])
def test_topk_of_equal_and_not_finite_elements(k: int, largest: bool) -> None:
    rows = [
        torch.zeros(256),
        torch.randn(256).relu(),
        torch.arange(256.0),
        torch.arange(256.0).flip(0),
        torch.cat([torch.full((128,), -0.0), torch.zeros(128)]),
        torch.full((256,), math.nan),
        torch.where(torch.rand(256) < 0.1, math.nan, torch.randn(256)),
        torch.where(torch.rand(256) < 0.1, math.inf, torch.randn(256)),
        torch.where(torch.rand(256) < 0.5, -math.inf, torch.randn(256)),
        torch.randn(256) * 1e-41,
        -torch.rand(256),
    ]
    x = torch.stack(rows)
    check_topk(x, k, 1, largest)
    check_topk(x.t(), k, 0, largest)
    # Of equal elements, the kernel selects the same as eager PyTorch.
    want = torch.topk(x, k, 1, largest)
    got = run("aten::topk.values", [x, k, 1, largest, True], want, threads=1)
    finite = ~x.isnan().any(1)
    assert torch.equal(got[1][finite], want[1][finite])


def test_topk_of_another_dim_order() -> None:
    check_topk(torch.randn(40, 200).t(), 7, 0, False)
    check_topk(torch.randn(2, 6, 5, 7).to(memory_format=torch.channels_last), 3, 1, True)


@pytest.mark.parametrize("shape,dims", SHAPES_AND_DIMS, ids=str)
@pytest.mark.parametrize("keepdim", [True, False])
def test_logsumexp(shape: tuple[int, ...], dims: list[int], keepdim: bool) -> None:
    x = torch.randn(shape) * 8
    check("aten::logsumexp.out", [x, dims, keepdim], torch.logsumexp(x.double(), dims, keepdim), rtol=1e-6)


@pytest.mark.parametrize("dim", [0, 1])
def test_logsumexp_of_special_numbers(dim: int) -> None:
    x = torch.randn(40, 40)
    x[3], x[:, 5] = -math.inf, -math.inf
    x[7, 9], x[11, 13], x[15, 17] = math.inf, math.nan, 3e38
    x[19, 21], x[19, 22] = math.inf, math.nan
    x[23], x[:, 27] = 100.0, -200.0
    check("aten::logsumexp.out", [x, [dim], False], torch.logsumexp(x, dim))


@pytest.mark.parametrize("shape,dims", SHAPES_AND_DIMS, ids=str)
def test_products(shape: tuple[int, ...], dims: list[int]) -> None:
    x = 1 + torch.randn(shape) / 64
    if len(dims) == 1:
        want = x.double().prod(dims[0])
        check("aten::prod.int_out", [x, dims[0], False, None], want, rtol=1e-4)
        check("aten::prod.int_out", [-x, dims[0], True, None], (-x).double().prod(dims[0], True), rtol=1e-4)
    check("aten::prod.out", [x, None], x.double().prod(), rtol=1e-4)


@pytest.mark.parametrize("dim", [0, 1])
def test_products_of_special_numbers(dim: int) -> None:
    x = 1 + torch.randn(37, 37) / 64
    x[3, 4], x[5, 6], x[7, 8] = math.nan, math.inf, -math.inf
    x[9, 10], x[11, 12], x[13, 14], x[13, 15] = 0.0, -0.0, 0.0, math.inf
    check("aten::prod.int_out", [x, dim, False, None], x.prod(dim))


@pytest.mark.parametrize("p", [1.0, 2.0, math.inf, 3.0])
@pytest.mark.parametrize(
    "a,b",
    [
        ((4, 3), (7, 3)), ((30, 3), (1000, 3)), ((40, 100), (29, 100)), ((3, 40, 64), (3, 50, 64)),
        ((2, 1, 5, 16), (2, 1, 30, 16)), ((1, 2, 9), (4, 3, 9)), ((3, 1), (600, 1)),
    ],
    ids=str,
)  # fmt: skip
def test_distances(p: float, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = torch.randn(a), torch.randn(b)
    want = torch.cdist(x.double(), y.double(), p)
    for mode in (None, 2) if p == 2 else (None,):
        check("aten::_cdist_forward.out", [x, y, p, mode], want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("points,length", [(0, 3), (1, 3), (2, 1), (9, 16), (200, 37)])
def test_distances_of_pairs(p: float, points: int, length: int) -> None:
    x = torch.randn(points, length)
    check("aten::_pdist_forward.out", [x, p], torch.pdist(x.double(), p), rtol=1e-5, atol=1e-5)
    if points > 2:
        x[1, 0] = math.inf
        x[2, 0] = math.nan
        check("aten::_pdist_forward.out", [x, p], torch.pdist(x.double(), p), rtol=1e-5, atol=1e-5)


def test_distances_of_equal_points_and_special_numbers() -> None:
    x = torch.randn(30, 40)
    mode = "donot_use_mm_for_euclid_dist"
    check("aten::_cdist_forward.out", [x, x, 2.0, 2], torch.cdist(x, x, 2.0, mode), atol=0)
    x[3, 5], x[7, 9], x[11, 0] = math.nan, math.inf, 1e-42
    for p in (1.0, 2.0):
        check("aten::_cdist_forward.out", [x, x[:9], p, 2], torch.cdist(x, x[:9], p, mode))
    # On some processors, the result of eager PyTorch is not NaN here.
    largest = (x[:, None] - x[None, :9]).abs().amax(-1)
    check("aten::_cdist_forward.out", [x, x[:9], math.inf, None], largest)


@pytest.mark.parametrize("alpha", [1, 2.5])
@pytest.mark.parametrize("index", [torch.int64, torch.int32], ids=str)
def test_sums_of_slices_by_indices(alpha: float, index: torch.dtype) -> None:
    for shape in ((9,), (9, 70), (3, 9, 5), (4, 5, 9, 17)):
        x = torch.randn(shape)
        for dim in range(len(shape)):
            sizes = list(shape)
            sizes[dim] = 20
            places, y = torch.randint(0, shape[dim], (20,)).to(index), torch.randn(sizes)
            want = torch.index_add(x.double(), dim, places, y.double(), alpha=alpha)
            check("aten::index_add.out", [x, dim, places, y, alpha], want)
