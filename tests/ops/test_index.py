"""Kernels that index, gather and scatter agree with eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.ops.harness import BOOL, COMPLEX, FLOAT16_TYPES, FLOATS, INTS, REAL, Case, assert_same, check
from tests.ops.samples import channels_last, tensor

from rushlight.runtime import call_kernel
from rushlight.runtime.errors import RushlightError

SIZES = (torch.uint8, torch.bfloat16, torch.float32, torch.int64, torch.complex128)
f32 = torch.float32


def x(*shape: int, dtype: torch.dtype = f32, seed: int = 0) -> torch.Tensor:
    return tensor(dtype, *shape, seed=seed)


def cl(*shape: int, dtype: torch.dtype = f32) -> torch.Tensor:
    return channels_last(tensor(dtype, *shape))


def at(*values: object) -> torch.Tensor:
    """Returns a tensor of positions."""
    return torch.tensor(values[0] if len(values) == 1 else values, dtype=torch.int64)


def picks(size: int, *shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, size, shape, generator=torch.Generator().manual_seed(seed))


def mask(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) > 0.5


INDICES: list[tuple[torch.Tensor, list[torch.Tensor | None]]] = [
    *[(tensor(d, 4, 5, 6), [None, at(0, 3, 3)]) for d in SIZES],
    (x(4, 5, 6), [at(3, 0, 1)]),
    (x(4, 5, 6), [at(-1, -4), at(-5, 4)]),
    (x(4, 5, 6), [at(1, 2), None, at(5, 0)]),
    (x(4, 5, 6), [at([[0], [2]]), at([[1, 4, 0]])]),
    (x(4, 5, 6), [None, at([[0, 1], [2, 3]]), at(5)]),
    (x(4, 5, 6), [at(1, 3).int(), at(0, 0)]),
    (x(4, 5, 6), [mask(4)]),
    (x(4, 5, 6), [mask(4, 5)]),
    (x(4, 5, 6), [None, mask(5, 6)]),
    (x(4, 5, 6), [mask(4, 5, 6)]),
    (x(4, 5, 6), [torch.tensor([True, False, False, False]), None, at(1, 2, 3)]),
    (x(4, 5, 6), [torch.zeros(4, dtype=torch.bool)]),
    (x(4, 5, 6), [at([])]),
    (x(4, 5, 6), [at(2), at(1), at(0)]),
    (x(3, 0), [at(0, 2)]),
    (cl(2, 6, 4, 5), [None, at(5, 0)]),
    (x(2000, 3), [picks(2000, 500)]),
]

REDUCED: list[tuple[torch.Tensor, int, torch.Tensor, torch.Tensor]] = [
    (x(3, 5), 0, picks(3, 3, 5), x(3, 5, seed=1)),
    (x(3, 5), 1, picks(5, 2, 4), x(3, 6, seed=1)),
    (x(3, 5), -1, picks(5, 1, 20), x(1, 20, seed=1)),
    (x(), 0, at(0), x(seed=1)),
    (x(4), 0, at([]), x(0)),
]


def of_dtype(dtype: torch.dtype) -> list[tuple[torch.Tensor, int, torch.Tensor, torch.Tensor]]:
    return [(tensor(dtype, 6, 4), 0, picks(6, 8, 4), tensor(dtype, 8, 4, seed=1))]


CASES: dict[str, Callable[[], list[Case]]] = {
    "aten::index.Tensor_out": lambda: [Case(source, indices) for source, indices in INDICES],
    "aten::index_select.out": lambda: [
        *[Case(tensor(d, 4, 5), 1, at(0, 4, 4)) for d in SIZES],
        Case(x(4, 5), -2, at(2)),
        Case(x(50, 40), 0, picks(50, 30)),
        Case(x(4, 5), 0, at(3, 1).int()),
        Case(x(4, 5), 0, at([])),
        Case(x(), 0, at(0)),
        Case(cl(2, 6, 4, 5), 1, at(5, 0, 1)),
    ],
    "aten::embedding.out": lambda: [
        *[Case(tensor(d, 10, 7), picks(10, 2, 3)) for d in SIZES],
        Case(x(10, 7), picks(10, 4).int(), 3),
        Case(x(10, 7), at(5)),
        Case(x(10, 7), at([])),
    ],
    "aten::embedding_dense_backward.out": lambda: [
        *[Case(tensor(d, 2, 3, 4), picks(6, 2, 3), 6, -1, False) for d in (*FLOATS, *FLOAT16_TYPES)],
        Case(x(9, 4), picks(5, 9), 5, 2, True),
    ],
    "aten::gather.out": lambda: [
        *[Case(tensor(d, 4, 5), 1, picks(5, 4, 3)) for d in (*SIZES, *BOOL)],
        Case(x(4, 5), 0, picks(4, 9, 2)),
        Case(x(4, 5), -1, picks(5, 2, 5)),
        Case(x(4, 5), 0, torch.empty(0, 5, dtype=torch.int64)),
        Case(x(), 0, at(0)),
        Case(x(3), 0, at(2)),
        Case(x(30, 400, 3), 1, picks(400, 30, 300, 3)),
        Case(cl(2, 6, 4, 5), 1, picks(6, 2, 3, 4, 5)),
    ],
    "aten::scatter.src_out": lambda: [
        *[Case(tensor(d, 3, 5), 1, at([[0, 2], [4, 1]]), tensor(d, 2, 2, seed=1)) for d in (*SIZES, *BOOL)],
        Case(x(3, 5), -2, at([[2, 0, 1]]), x(2, 4, seed=1)),
        Case(x(), 0, at(0), x(seed=1)),
        Case(x(3), 0, at([]), x(0)),
    ],
    "aten::scatter.value_out": lambda: [
        *[Case(tensor(d, 3, 5), 1, at([[0, 2], [4, 1]]), 2) for d in (*REAL, *COMPLEX)],
        Case(x(3, 5), 0, picks(3, 2, 5), 0.5),
    ],
    "aten::scatter.reduce_out": lambda: [
        Case(*args, reduce=reduce)
        for reduce in ("add", "multiply")
        for args in [*REDUCED, *of_dtype(torch.int32)]
    ],
    "aten::scatter.value_reduce_out": lambda: [
        Case(x(3, 5), 1, picks(5, 3, 9), 1.5, reduce=reduce) for reduce in ("add", "multiply")
    ],
    "aten::scatter_add.out": lambda: [
        Case(*args) for args in [*REDUCED, *[a for d in REAL for a in of_dtype(d)]]
    ],
    "aten::scatter_reduce.two_out": lambda: [
        Case(*args, reduce, include_self=include)
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include in (True, False)
        for args in [*REDUCED, *[a for d in (*FLOATS, *FLOAT16_TYPES, *INTS) for a in of_dtype(d)]]
    ],
    "aten::index_put.out": lambda: [
        *[
            Case(source, indices, torch.full((), 3, dtype=source.dtype), accumulate)
            for source, indices in INDICES
            for accumulate in (False, True)
        ],
        *[
            Case(tensor(d, 4, 5, 6), [None, at(0, 3, 3)], tensor(d, 4, 3, 6, seed=1), True)
            for d in (*REAL, *COMPLEX)
        ],
        Case(x(4, 5, 6), [at(1, 2), None, at(5, 0)], x(5, seed=1)),
        Case(x(4, 5, 6), [at(1, 2), None, at(5, 0)], x(2, 1, seed=1), True),
        Case(x(4), [at(1)], x()),
        Case(cl(2, 6, 4, 5), [None, at(5, 0)], x(2, 4, 5, seed=1), True),
    ],
    "aten::index_add.out": lambda: [
        *[Case(tensor(d, 6, 4), 0, at(0, 3, 3), tensor(d, 3, 4, seed=1)) for d in (*REAL, *COMPLEX)],
        Case(x(6, 4), -1, at(3, 0), x(6, 2, seed=1), alpha=-0.5),
        Case(x(5), 0, at(3, 3).int(), x(2, seed=1), alpha=2),
        Case(x(), 0, at(0), x(seed=1)),
        Case(x(5), 0, at([]), x(0)),
    ],
    "aten::index_copy.out": lambda: [
        *[Case(tensor(d, 6, 4), 0, at(0, 3, 5), tensor(d, 3, 4, seed=1)) for d in SIZES],
        Case(x(6, 4), -1, at(3, 0), x(6, 2, seed=1)),
    ],
    "aten::index_fill.int_Scalar_out": lambda: [
        *[Case(tensor(d, 6, 4), 0, at(0, 3, 3), 2) for d in (*REAL, *COMPLEX)],
        Case(x(6, 4), -1, at(3), 0.5),
        Case(x(), 0, at(0), 1.5),
    ],
    "aten::index_fill.int_Tensor_out": lambda: [
        *[Case(tensor(d, 6, 4), 0, at(0, 3, 3), tensor(d, seed=3)) for d in (*REAL, *COMPLEX)],
        Case(x(6, 4), 1, at(1), torch.tensor(3)),
    ],
    "aten::take.out": lambda: [
        *[Case(tensor(d, 3, 4), at([[0, -1], [11, 5]])) for d in SIZES],
        Case(cl(2, 3, 4, 5), picks(120, 9)),
        Case(x(3), at([])),
    ],
    "aten::masked_select.out": lambda: [
        *[Case(tensor(d, 4, 5), mask(4, 5)) for d in SIZES],
        Case(x(4, 5), mask(5)),
        Case(x(5), mask(4, 5)),
        Case(x(4, 1), mask(5)),
        Case(x(), torch.tensor(True)),
        Case(x(3, 0), mask(3, 0)),
        Case(cl(2, 3, 4, 5), mask(2, 3, 4, 5)),
    ],
    "aten::masked_scatter.out": lambda: [
        *[Case(tensor(d, 4, 5), mask(4, 5), tensor(d, 30, seed=1)) for d in SIZES],
        Case(x(4, 5), mask(5), x(4, 5, seed=1)),
        Case(x(4, 5), torch.zeros(4, 5, dtype=torch.bool), x(0)),
    ],
    "aten::nonzero.out": lambda: [
        *[Case(tensor(d, 4, 5)) for d in (*REAL, *COMPLEX)],
        Case(torch.tensor([0.0, -0.0, float("nan")])),
        Case(x()),
        Case(torch.tensor(0)),
        Case(x(0, 3)),
        Case(cl(2, 3, 4, 5, dtype=torch.int32)),
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_index(name: str) -> None:
    for case in CASES[name]():
        check(name, case)


def test_index_put_in_place() -> None:
    for accumulate in (False, True):
        target = x(4, 5)
        wanted = target.clone().index_put_((at(0, 3, 3),), x(5, seed=1), accumulate)
        call_kernel("aten::index_put_", [target, [at(0, 3, 3)], x(5, seed=1), accumulate], "portable")
        assert_same([target], [wanted], accumulate)


def test_gather_takes_no_positions_of_any_integer_type() -> None:
    out = torch.empty(2, 0)
    for dtype in (torch.uint8, torch.int16, torch.int64):
        call_kernel("aten::gather.out", [torch.randn(5, 3), 0, torch.empty(2, 0, dtype=dtype), False, out])
    with pytest.raises(Exception, match="indices are uint8, not int32 or int64"):
        places = torch.zeros(2, 3, dtype=torch.uint8)
        call_kernel("aten::gather.out", [torch.randn(5, 3), 0, places, False, torch.empty(2, 3)])


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.float16, torch.float32, torch.complex64, torch.complex128]
)
def test_index_select_of_few_columns(dtype: torch.dtype) -> None:
    for shape, dim in (((1100, 3), 1), ((7, 2, 5), 2), ((600, 4, 2), 1), ((3, 1), 1), ((0, 3), 1)):
        for index in (at(0), at(0, 0, 0), picks(shape[dim], 32), picks(shape[dim], 33)):
            check("aten::index_select.out", Case(tensor(dtype, *shape), dim, index))
            check("aten::index_select.out", Case(tensor(dtype, *shape), dim, index.int()))
    image = tensor(dtype, 2, 3, 20, 5).to(memory_format=torch.channels_last)
    check("aten::index_select.out", Case(image, 1, at(2, 0, 1)))
    check("aten::index_select.out", Case(image, 3, at(2, 0, 1)))


def test_gather_takes_int32_positions() -> None:
    source, index, out = x(4, 5), picks(5, 4, 3), torch.empty(4, 3)
    call_kernel("aten::gather.out", [source, 1, index.int(), False, out], "portable")
    assert torch.equal(out, source.gather(1, index))


@pytest.mark.parametrize("name", ["_embedding_bag", "_embedding_bag_forward_only"])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("dtype", [*FLOATS, *FLOAT16_TYPES])
@pytest.mark.parametrize("library", ["portable", "optimized"])
def test_embedding_bag(name: str, mode: int, dtype: torch.dtype, library: str) -> None:
    weight, indices = tensor(dtype, 10, 7), picks(10, 8)
    weights = tensor(dtype, 8, seed=2)
    for offsets, last, padding in (
        (at(0, 3, 3, 5), False, -1),
        (at(0, 2, 8), True, -1),
        (at(0, 4), False, 5),
    ):
        for per_sample in (None, weights) if mode == 0 else (None,):
            args = (weight, indices, offsets, False, mode, False, per_sample, last, padding)
            wanted = getattr(torch.ops.aten, name).default(*args)
            outs = [torch.full_like(w, 7) for w in wanted]
            call_kernel(f"aten::{name}.out", [*args, *outs], library)
            assert_same(outs[:1], wanted[:1], args)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("library", ["portable", "optimized"])
def test_embedding_bags_of_wide_rows(mode: int, is_turned: bool, library: str) -> None:
    """With `is_turned`, the columns of the table are contiguous, not its rows."""
    weight = tensor(torch.float32, 150, 10).t() if is_turned else tensor(torch.float32, 10, 150)
    args = (weight, picks(10, 8), at(0, 3, 3, 5), False, mode, False, None, False, -1)
    wanted = torch.ops.aten._embedding_bag.default(*args)
    outs = [torch.full_like(w, 7) for w in wanted]
    call_kernel("aten::_embedding_bag.out", [*args, *outs], library)
    assert_same(outs[:1], wanted[:1], args)
    if mode == 2:
        assert torch.equal(outs[3], wanted[3])


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("width", [1, 16, 70])
def test_embedding_bags_of_many_rows(mode: int, width: int) -> None:
    """One bag has more rows than a kernel adds at a time; another one consists of padding."""
    weight, indices = tensor(torch.float32, 10, width), picks(10, 400)
    indices[300:310] = 4
    scales = tensor(torch.float32, 400, seed=2) if mode == 0 else None
    args = (weight, indices, at(0, 300, 310, 310), False, mode, False, scales, False, 4)
    wanted = torch.ops.aten._embedding_bag.default(*args)
    for library in ("portable", "optimized"):
        outs = [torch.full_like(w, 7) for w in wanted]
        call_kernel("aten::_embedding_bag.out", [*args, *outs], library)
        assert_same(outs[:1], wanted[:1], args, rtol=1e-4, atol=1e-4)


REFUSED: list[tuple[str, list[object], str]] = [
    ("aten::embedding.out", [x(4, 2), at(4), -1, False, False, x(2)], r"index 4 is not in \[0, 4\)"),
    ("aten::embedding.out", [x(4, 2), at(-1), -1, False, False, x(2)], "index -1"),
    ("aten::index_select.out", [x(4), 0, at(1, 4), x(2)], "index 4"),
    ("aten::gather.out", [x(4), 0, at(1, -1), False, x(2)], "index -1"),
    ("aten::gather.out", [x(4, 2), 0, picks(4, 4, 3), False, x(4, 3)], "more dims or elements"),
    ("aten::scatter.src_out", [x(4), 0, at(9), x(1), x(4)], "index 9"),
    ("aten::scatter.src_out", [x(4), 0, at(0, 1), x(1), x(4)], "more dims or elements"),
    ("aten::scatter_reduce.two_out", [x(4), 0, at(0), x(1), "median", True, x(4)], "'median'"),
    ("aten::index.Tensor_out", [x(4), [at(4)], x()], "index 4"),
    ("aten::index.Tensor_out", [x(4), [at(0), at(0)], x()], "more indices"),
    ("aten::index.Tensor_out", [x(4), [mask(5)], x(5)], "mask"),
    ("aten::index.Tensor_out", [x(4, 4), [at(0, 1), at(0, 1, 2)], x(3)], "broadcast"),
    ("aten::index_put.out", [x(4), [at(0, 1)], x(3), False, x(4)], "do not broadcast"),
    ("aten::masked_scatter.out", [x(4), torch.ones(4).bool(), x(3), x(4)], "3 elements"),
    ("aten::nonzero.out", [x(4), x(4, 1)], "does not support float32 as argument 1"),
    ("aten::take.out", [x(4), at(4), x()], "index 4"),
    ("aten::index_add.out", [x(4), 0, at(0, 1), x(3), 1, x(4)], "one slice per index"),
    ("aten::index_copy.out", [x(4, 2), 0, at(0), x(1, 3), x(4, 2)], "one slice per index"),
    ("aten::index_fill.int_Scalar_out", [x(4), 0, at(-1), 1, x(4)], "index -1"),
]


@pytest.mark.parametrize(("name", "args", "text"), REFUSED)
def test_refused(name: str, args: list[object], text: str) -> None:
    with pytest.raises(RushlightError, match=text):
        call_kernel(name, args, "portable")
