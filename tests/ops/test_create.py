"""Kernels that create tensors agree with eager PyTorch. Random numbers have the right distributions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.ops.harness import COMPLEX, FLOAT16_TYPES, FLOATS, INTS, REAL, assert_same, blank
from tests.ops.samples import tensor

from rushlight.runtime import call_kernel
from rushlight.runtime.errors import RushlightError

NUMBERS = (*FLOATS, *FLOAT16_TYPES, *INTS)
Make = Callable[[torch.dtype], torch.Tensor]

# Operator, arguments before the out, the function of eager PyTorch for a dtype, dtypes.
CASES: list[tuple[str, list[object], Make, tuple[torch.dtype, ...]]] = [
    ("aten::full.out", [[2, 3], 3], lambda d: torch.full((2, 3), 3, dtype=d), (*REAL, *COMPLEX)),
    ("aten::full.out", [[], 2.5], lambda d: torch.full((), 2.5, dtype=d), FLOATS + FLOAT16_TYPES),
    ("aten::full.out", [[0, 3], True], lambda d: torch.full((0, 3), True, dtype=d), REAL),
    (
        "aten::full.out",
        [[100000], -1],
        lambda d: torch.full((100000,), -1, dtype=d),
        (torch.float32, torch.int8),
    ),
    ("aten::zeros.out", [[2, 3]], lambda d: torch.zeros((2, 3), dtype=d), (*REAL, *COMPLEX)),
    ("aten::ones.out", [[2, 3]], lambda d: torch.ones((2, 3), dtype=d), (*REAL, *COMPLEX)),
    ("aten::scalar_tensor.out", [7], lambda d: torch.scalar_tensor(7, dtype=d), (*REAL, *COMPLEX)),
    ("aten::scalar_tensor.out", [1.5], lambda d: torch.scalar_tensor(1.5, dtype=d), FLOATS + FLOAT16_TYPES),
    ("aten::arange.out", [7], lambda d: torch.arange(7, dtype=d), NUMBERS),
    ("aten::arange.start_out", [2, 11, 3], lambda d: torch.arange(2, 11, 3, dtype=d), NUMBERS),
    (
        "aten::arange.start_out",
        [5, -4, -2],
        lambda d: torch.arange(5, -4, -2, dtype=d),
        (torch.int64, *FLOATS),
    ),
    (
        "aten::arange.start_out",
        [0, 1, 0.1],
        lambda d: torch.arange(0, 1, 0.1, dtype=d),
        FLOATS + FLOAT16_TYPES,
    ),
    ("aten::arange.start_out", [3, 3, 1], lambda d: torch.arange(3, 3, 1, dtype=d), NUMBERS),
    (
        "aten::arange.start_out",
        [2**60, 2**60 + 3, 1],
        lambda d: torch.arange(2**60, 2**60 + 3, dtype=d),
        (torch.int64,),
    ),
    ("aten::linspace.out", [0, 10, 5], lambda d: torch.linspace(0, 10, 5, dtype=d), NUMBERS),
    ("aten::linspace.out", [-1.5, 2.25, 101], lambda d: torch.linspace(-1.5, 2.25, 101, dtype=d), FLOATS),
    ("aten::linspace.out", [3, 9, 1], lambda d: torch.linspace(3, 9, 1, dtype=d), NUMBERS),
    ("aten::linspace.out", [3, 9, 0], lambda d: torch.linspace(3, 9, 0, dtype=d), NUMBERS),
    ("aten::eye.out", [3], lambda d: torch.eye(3, dtype=d), REAL),
    ("aten::eye.m_out", [3, 5], lambda d: torch.eye(3, 5, dtype=d), REAL),
]


@pytest.mark.parametrize(("name", "args", "make", "dtypes"), CASES)
def test_create(name: str, args: list[object], make: Make, dtypes: tuple[torch.dtype, ...]) -> None:
    for dtype in dtypes:
        wanted = make(dtype)
        out = blank(wanted)
        shapes = call_kernel(name, [*args, out], "portable")
        assert shapes[-1] == tuple(wanted.shape)
        assert_same([out], [wanted], f"{name} {args} {dtype}")


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX])
def test_full_like(dtype: torch.dtype) -> None:
    source = tensor(dtype, 2, 3)
    out = blank(source)
    call_kernel("aten::full_like.out", [source, 5, None, out], "portable")
    assert_same([out], [torch.full_like(source, 5)], dtype)


@pytest.mark.parametrize(
    ("name", "args"), [("aten::empty.out", [None]), ("aten::empty_strided.out", [[3, 1]])]
)
def test_empty_sets_the_shape(name: str, args: list[object]) -> None:
    assert call_kernel(name, [[2, 3], *args, torch.empty(5, 5)], "portable")[-1] == (2, 3)


@pytest.mark.parametrize("dtype", FLOATS + FLOAT16_TYPES)
def test_rand_is_uniform(dtype: torch.dtype) -> None:
    out = torch.empty(100, 400, dtype=dtype)
    call_kernel("aten::rand.out", [[100, 400], out], "portable")
    values = out.double()
    assert values.min() >= 0
    assert values.max() < 1
    assert abs(values.mean() - 0.5) < 0.01
    assert abs(values.var() - 1 / 12) < 0.005
    assert len(values.unique()) > 100


@pytest.mark.parametrize("dtype", FLOATS + FLOAT16_TYPES)
def test_randn_is_normal(dtype: torch.dtype) -> None:
    out = torch.empty(100, 400, dtype=dtype)
    call_kernel("aten::randn.out", [[100, 400], out], "portable")
    values = out.double()
    assert abs(values.mean()) < 0.03
    assert abs(values.var() - 1) < 0.05
    assert abs((values.abs() < 1).double().mean() - 0.6827) < 0.02
    assert abs((values**4).mean() - 3) < 0.3


def test_random_numbers_do_not_repeat_and_do_not_depend_on_threads() -> None:
    first, second = torch.empty(100000), torch.empty(100000)
    call_kernel("aten::rand.out", [[100000], first], "portable", 3)
    call_kernel("aten::rand.out", [[100000], second], "portable", 1)
    assert (first == second).double().mean() < 0.01
    assert abs(torch.corrcoef(torch.stack([first, second]))[0, 1]) < 0.02


@pytest.mark.parametrize("name", ["aten::rand_like.out", "aten::randn_like.out"])
def test_numbers_in_a_shape_given_by_a_tensor(name: str) -> None:
    out = torch.zeros(40, 50)
    assert call_kernel(name, [torch.zeros(20, 30), None, out], "portable")[-1] == (20, 30)
    assert len(out.flatten()[:600].unique()) > 500


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.float32])
def test_randint_covers_its_range(dtype: torch.dtype) -> None:
    out = torch.empty(1000, dtype=dtype)
    call_kernel("aten::randint.low_out", [-3, 5, [1000], out], "portable")
    assert set(out.tolist()) == set(range(-3, 5))
    call_kernel("aten::randint.out", [4, [1000], out], "portable")
    assert set(out.tolist()) == set(range(4))


@pytest.mark.parametrize("offset", [-3, -1, 0, 2, 9])
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (0, 2), (2, 0)])
def test_triangle_indices(shape: tuple[int, int], offset: int) -> None:
    for name in ("tril_indices", "triu_indices"):
        for dtype in (torch.int64, torch.int32):
            wanted = getattr(torch, name)(*shape, offset, dtype=dtype)
            out = blank(wanted)
            assert call_kernel(f"aten::{name}.out", [*shape, offset, out], "portable")[-1] == tuple(
                wanted.shape
            )
            assert torch.equal(out, wanted)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float32])
def test_randperm_permutes(dtype: torch.dtype) -> None:
    out = torch.empty(1000, dtype=dtype)
    call_kernel("aten::randperm.out", [1000, out], "portable")
    assert torch.equal(out.sort().values, torch.arange(1000, dtype=dtype))
    assert not torch.equal(out, torch.arange(1000, dtype=dtype))


REFUSED: list[tuple[str, list[object], str]] = [
    ("aten::arange.start_out", [0, 5, 0, torch.empty(5)], "no elements"),
    ("aten::arange.start_out", [5, 0, 0, torch.empty(5, dtype=torch.int64)], "no elements"),
    ("aten::arange.start_out", [0, 5, -1, torch.empty(5)], "no elements"),
    ("aten::full.out", [[-1], 0, torch.empty(1)], "shape|negative|elements"),
    ("aten::linspace.out", [0, 1, -1, torch.empty(1)], "negative"),
]


@pytest.mark.parametrize(("name", "args", "text"), REFUSED)
def test_refused(name: str, args: list[object], text: str) -> None:
    with pytest.raises(RushlightError, match=text):
        call_kernel(name, args, "portable")
