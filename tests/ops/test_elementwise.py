"""Every elementwise kernel agrees with eager PyTorch in every supported dtype."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.ops.elementwise_cases import CASES
from tests.ops.harness import REAL, Case, assert_same, check, compute, expected
from tests.ops.samples import tensor

from rushlight.runtime import call_kernel
from rushlight.runtime.errors import RushlightError


@pytest.mark.parametrize("name", CASES)
def test_elementwise(name: str) -> None:
    for case in CASES[name]():
        check(name, case)


@pytest.mark.parametrize(
    "name", ["aten::add.out", "aten::mul.out", "aten::sub.out", "aten::div.out", "aten::maximum.out"]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_out_may_be_an_input(name: str, dtype: torch.dtype) -> None:
    for index in (0, 1):
        args = [tensor(dtype, 5, 333), tensor(dtype, 5, 333, seed=1)]
        wanted = expected(name, Case(*args))
        assert_same(compute(name, Case(*args), [args[index]]), wanted, name)


@pytest.mark.parametrize("name", ["aten::exp.out", "aten::neg.out", "aten::relu.out"])
def test_the_out_may_be_the_input(name: str) -> None:
    x = tensor(torch.float32, 1000)
    wanted = expected(name, Case(x))
    assert_same(compute(name, Case(x), [x]), wanted, name)


def test_results_go_into_wider_outs() -> None:
    a, b = tensor(torch.int32, 3, 4), tensor(torch.int32, 4, seed=1)
    for dtype in (torch.int64, torch.float32, torch.float16, torch.complex64):
        out = torch.zeros(3, 4, dtype=dtype)
        assert_same(compute("aten::add.out", Case(a, b), [out]), [(a + b).to(dtype)], dtype)


def test_narrow_integers_wrap_around() -> None:
    a = torch.tensor([100, -128, 127], dtype=torch.int8)
    for name in ("aten::add.out", "aten::mul.out", "aten::sub.out"):
        check(name, Case(a, a.flip(0)))


def test_outs_of_mixed_layouts() -> None:
    a = tensor(torch.float32, 2, 3, 4, 5)
    nhwc = a.contiguous(memory_format=torch.channels_last)
    out = torch.empty_like(nhwc)
    assert_same(compute("aten::add.out", Case(a, nhwc), [out]), [a + a], "channels last out")


def test_larger_outs_are_resized() -> None:
    x = tensor(torch.float32, 2, 3)
    assert_same(compute("aten::neg.out", Case(x), [torch.empty(4, 5)]), [-x], "neg")


def test_many_elements_on_several_threads() -> None:
    a, b = tensor(torch.float32, 300, 1001), tensor(torch.float32, 1001)
    out = torch.empty(300, 1001)
    call_kernel("aten::add.out", [a, b, 1, out], "portable", threads=4)
    assert_same([out], [a + b], "add")


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("aten::add.out", (torch.zeros(3), torch.zeros(4), 1, torch.zeros(4)), "do not broadcast"),
        ("aten::add.out", (torch.zeros(3), torch.zeros(3), 1, torch.zeros(3, dtype=torch.int32)), "int32"),
        ("aten::div.out_mode", (torch.tensor([1]), torch.tensor([0]), "floor", torch.tensor([0])), "zero"),
        ("aten::div.out_mode", (torch.ones(1), torch.ones(1), "up", torch.ones(1)), "rounding_mode"),
        ("aten::remainder.Scalar_out", (torch.tensor([1]), 0, torch.tensor([0])), "zero"),
        ("aten::pow.Tensor_Scalar_out", (torch.tensor([1]), -1, torch.tensor([0])), "negative"),
        ("aten::clamp.out", (torch.ones(1), None, None, torch.ones(1)), "neither"),
        ("aten::glu.out", (torch.ones(3), 0, torch.ones(1)), "even"),
        ("aten::gelu.out", (torch.ones(3), "exact", torch.ones(3)), "exact"),
        (
            "aten::logical_not.out",
            (torch.ones(3), torch.ones(3)[:1].expand(1).clone()),
            "larger|fit|resize|3",
        ),
    ],
)
def test_what_is_refused(name: str, args: tuple[object, ...], message: str) -> None:
    with pytest.raises(RushlightError, match=message):
        call_kernel(name, args, "portable")


def test_copy_in_place() -> None:
    for source in (tensor(torch.int64, 4), tensor(torch.float16, 3, 4), tensor(torch.bool)):
        target = torch.zeros(3, 4)
        call_kernel("aten::copy_", [target, source, False], "portable")
        assert_same([target], [torch.zeros(3, 4).copy_(source)], source.dtype)


def near_multiples() -> tuple[torch.Tensor, torch.Tensor]:
    """Returns dividends near multiples of their divisors, and special numbers."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randn(4000, generator=generator) * 10.0 ** torch.randint(-30, 30, (4000,), generator=generator)
    multiples = y * torch.randint(0, 1 << 23, (4000,), generator=generator)
    near = [multiples.nextafter(torch.tensor(limit)) for limit in (0.0, torch.inf)]
    special = torch.tensor([0.0, -0.0, 1e-45, 3.4e38, -3.4e38, torch.inf, -torch.inf, torch.nan])
    x = torch.cat((multiples, *near, torch.randn(4000, generator=generator), special.repeat_interleave(8)))
    y = torch.cat((y, y, y, -y.abs(), special.repeat(8)))
    return x, y


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [("aten::fmod.Tensor_out", np.fmod), ("aten::floor_divide.out", np.floor_divide)],
)
def test_remainders_and_floor_divisions_are_exact(kernel: str, reference: np.ufunc) -> None:
    """Quotients just below an integer round up to it. Large quotients take another path."""
    x, y = near_multiples()
    out = torch.empty_like(x)
    call_kernel(kernel, [x, y, out], "portable")
    with np.errstate(all="ignore"):
        wanted = reference(x.numpy(), y.numpy())
    np.testing.assert_array_equal(out.numpy(), wanted)
    assert (np.signbit(out.numpy()) == np.signbit(wanted))[~np.isnan(wanted)].all()


SHORT_ROWS = [
    ((700, 3), (3,)), ((700, 3), (700, 1)), ((60, 1, 3), (1, 50, 3)), ((7, 80, 1, 5), (7, 1, 4, 1)),
    ((40, 3, 33), (3, 33)), ((9, 1, 50), (1, 40, 50)), ((0, 3), (3,)), ((5, 0), (5, 1)), ((600, 2), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHORT_ROWS, ids=str)
@pytest.mark.parametrize("other", [*REAL, torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int8, torch.bool, torch.complex64], ids=str)
def test_broadcast_of_short_rows(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], dtype: torch.dtype, other: torch.dtype
) -> None:
    a, b = tensor(dtype, *shapes[0]), tensor(other, *shapes[1], seed=1)
    condition = tensor(torch.int32, *shapes[1], seed=2) > 0
    for x, y in ((a, b), (b, a)):
        check("aten::mul.out", Case(x, y))
        check("aten::eq.Tensor_out", Case(x, y))
        check("aten::where.self_out", Case(condition, x, y))
