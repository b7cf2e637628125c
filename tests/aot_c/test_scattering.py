"""`generators/scattering.py`, `advanced_indexing.py` and `searching.py`: all dtypes, layouts and masks."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.aot_c.harness import Library, compile_library, compilers
from tests.aot_c.one_call import Call
from tests.aot_c.same_calls import check_calls, permuted, program_of
from tests.aot_c.test_sorting import tied
from tests.ops.harness import INTS, REAL

from rushlight.aot_c.errors import AotCError


def positions(size: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, size, shape)


@pytest.mark.parametrize("dtype", REAL)
def test_scatter_and_index_add(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Call] = []
    x = tied(dtype, 4, 5, 2)
    for reduction in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (False, True):
            for y, dim in ((x, 1), (permuted(x, 2, 0, 1), -1), (tied(dtype), 0)):
                index = positions(y.shape[dim], 3, 4, 2) if y.dim() else positions(1)
                source = tied(dtype, 4, 5, 3) if y.dim() else tied(dtype)
                arguments = [y, dim, index, source, reduction, include_self]
                calls.append(Call("aten::scatter_reduce.two_out", arguments, [torch.empty_like(y)]))
    for alpha in (1, 2, 0, -3) if dtype in (*INTS, torch.bool) else (1, 0.3, -2, float("inf")):
        for y, dim in ((x, 1), (permuted(x, 1, 2, 0), 0)):
            shape = [6 if d == dim else size for d, size in enumerate(y.shape)]
            arguments = [y, dim, positions(y.shape[dim], 6), tied(dtype, *shape), alpha]
            calls.append(Call("aten::index_add.out", arguments, [torch.empty_like(y)]))
    arguments = [permuted(x, 2, 0, 1), positions(80, 3, 5) - 40]
    calls.append(Call("aten::take.out", arguments, [torch.empty(3, 5, dtype=dtype)]))
    names = list(compilers())
    check_calls(calls, tmp_path, names[REAL.index(dtype) % len(names)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8, torch.bool])
def test_masks_and_windows(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = tied(dtype, 3, 4, 5)
    masks = torch.rand(3, 4, 5) < 0.5, torch.rand(4, 5) < 0.5, torch.rand(4) < 0.5
    calls: list[Call] = []
    for mask in (*masks, masks[0].new_zeros(5), permuted(masks[0], 1, 2, 0)):
        for source in (tied(dtype, 70), permuted(tied(dtype, 2, 5, 7), 2, 0, 1)):
            if mask.dim() == 1 and mask.numel() == 4:
                continue
            for y in (x, permuted(x, 2, 1, 0), tied(dtype, 1, 4, 5).expand(3, 4, 5)[:1]):
                out = torch.empty(torch.broadcast_shapes(y.shape, mask.shape), dtype=dtype)
                calls.append(Call("aten::masked_scatter.out", [y, mask, source], [out]))
    single = torch.tensor([[True]])
    calls.append(Call("aten::masked_scatter.out", [tied(dtype), single[0, 0], tied(dtype, 1)], [tied(dtype)]))
    arguments = [tied(dtype, 1, 1), [single], tied(dtype), True]
    calls.append(Call("aten::index_put.out", arguments, [tied(dtype, 1, 1)]))
    one, two, whole = masks[2], masks[1], masks[0]
    three = torch.tensor([True, False, True])
    puts = [
        ([whole], tied(dtype)),
        ([whole], tied(dtype, 1)),
        ([None, two], tied(dtype)),
        ([None, two], tied(dtype, 3, 1)),
        ([None, two], tied(dtype, 3, int(two.sum()))),
        ([None, one], tied(dtype, 3, 1, 5)),
        ([None, one, None], tied(dtype, 1, 5)),
        ([three], tied(dtype, 4, 5)),
        ([three], tied(dtype, 2, 4, 5)),
        ([three.byte()], tied(dtype, 2, 1, 5)),
        ([torch.zeros_like(whole)], tied(dtype, 0)),
    ]
    for indices, values in puts:
        for accumulate in (False, True):
            for y in (x, permuted(x, 1, 2, 0)):
                arguments = [y, indices, values, accumulate]
                calls.append(Call("aten::index_put.out", arguments, [torch.empty_like(y)]))
    for sizes, strides, offset in (([2, 3], [20, 1], 3), ([3], [7], None), ([], [], 5), ([2, 0], [1, 1], 0)):
        for y in (x, permuted(x, 2, 0, 1)):
            arguments = [y, tied(dtype, *sizes), sizes, strides, offset]
            calls.append(Call("aten::as_strided_scatter.out", arguments, [torch.empty_like(y)]))
    check_calls(calls, tmp_path)


def test_counts_that_do_not_match_a_mask(tmp_path: Path) -> None:
    """The function returns 1, because the number of selected elements is known at run time only."""
    x, mask = torch.zeros(4), torch.tensor([True, False, True, True])
    calls = [
        Call("aten::masked_scatter.out", [x, mask, torch.ones(2)], [torch.empty(4)]),
        Call("aten::masked_scatter.out", [x, mask, torch.ones(0)], [torch.empty(4)]),
        Call("aten::index_put.out", [x, [mask], torch.ones(2), False], [torch.empty(4)]),
        Call("aten::index_put.out", [x, [mask], torch.ones(4), False], [torch.empty(4)]),
        Call("aten::index_put.out", [x, [mask], torch.ones(0), False], [torch.empty(4)]),
    ]
    text = program_of(calls)
    library = Library(compile_library(text, "model", tmp_path, next(iter(compilers()))), text)
    for index, call in enumerate(calls):
        tensors = [x, mask, call.arguments[2]]
        with pytest.raises(RuntimeError, match="returned 1"):
            library(f"call_{index}", *tensors)


REFUSED = [
    ("exceeds the memory", "as_strided_scatter.out", [torch.ones(4), torch.ones(2), [2], [4], 0], 4),
    ("exceeds the memory", "as_strided_scatter.out", [torch.ones(4), torch.ones(2), [2], [-1], 1], 4),
    ("twice", "as_strided_scatter.out", [torch.ones(4), torch.ones(2, 2), [2, 2], [1, 1], 0], 4),
    ("exceeds the memory", "as_strided_copy.out", [torch.ones(4), [2], [-1], 0], 2),
    ("only at run time", "index.Tensor_out", [torch.ones(4), [torch.ones(4, dtype=torch.bool)]], 4),
]


@pytest.mark.parametrize(("message", "name", "arguments", "size"), REFUSED)
def test_refused_calls(message: str, name: str, arguments: list[object], size: int) -> None:
    with pytest.raises(AotCError, match=message):
        program_of([Call(f"aten::{name}", arguments, [torch.empty(size)])])


def test_searches(tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Call] = []
    for dtype in REAL[:-1]:
        for other in (dtype, torch.float32, torch.int64, torch.bfloat16):
            x = permuted(tied(dtype, 3, 4), 1, 0)
            rows = tied(other, 3, 9).sort(dim=1).values
            sorter = torch.randint(-1, 11, (3, 9))  # positions out of range select 0
            for right in (False, True):
                out = torch.empty_like(x, dtype=torch.int64)
                calls.append(Call("aten::bucketize.Tensor_out", [x, rows[0].clone(), False, right], [out]))
                for side, order in ((None, None), ("left", None), ("right", sorter)):
                    arguments = [rows, x, True, right, side, order]
                    out = torch.empty_like(x, dtype=torch.int32)
                    calls.append(Call("aten::searchsorted.Tensor_out", arguments, [out]))
    for number in (-2, 3, 0.5, float("nan"), True):
        for dtype in (torch.float16, torch.int32, torch.float64):
            boundaries = torch.tensor([-1, 0, 2]).to(dtype)
            arguments = [number, boundaries, False, False]
            calls.append(Call("aten::bucketize.Scalar_out", arguments, [torch.empty((), dtype=torch.int64)]))
    empty = torch.empty(0)
    calls.append(
        Call("aten::bucketize.Tensor_out", [torch.ones(2), empty, False, False], [torch.ones(2).long()])
    )
    calls.append(
        Call(
            "aten::searchsorted.Tensor_out",
            [empty, torch.ones(2), False, False, None, None],
            [torch.ones(2).long()],
        )
    )
    check_calls(calls, tmp_path)
