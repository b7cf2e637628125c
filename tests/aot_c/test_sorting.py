"""`generators/sorting.py` and the scans with positions: ties, NaN, layouts, empty rows and long rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.aot_c.harness import compilers
from tests.aot_c.one_call import Call
from tests.aot_c.same_calls import check_calls, permuted
from tests.ops.harness import REAL

SPECIAL = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0)


def tied(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """Returns random elements of which many are equal; floating-point elements include SPECIAL."""
    x = torch.randint(0, 7, shape)
    if dtype.is_floating_point:
        chosen = torch.tensor(SPECIAL)[torch.randint(0, len(SPECIAL), shape)]
        return torch.where(torch.rand(shape) < 0.4, chosen, x - 3.0).to(dtype)
    return (x if dtype == torch.uint8 else x - 3).to(dtype)


def like(x: torch.Tensor, dtype: torch.dtype | None = None) -> torch.Tensor:
    return torch.empty_like(x, dtype=dtype)


def sorts(x: torch.Tensor, dim: int) -> Iterator[Call]:
    for descending in (False, True):
        yield Call("aten::sort.values", [x, dim, descending], [like(x), like(x, torch.int64)])
        for stable in (False, True, None):
            outs = [like(x), like(x, torch.int64)]
            yield Call("aten::sort.values_stable", [x, stable, dim, descending], outs)
        yield Call("aten::argsort.stable_out", [x, True, dim, descending], [like(x, torch.int64)])
    for name in ("cummax", "cummin"):
        yield Call(f"aten::{name}.out", [x, dim], [like(x), like(x, torch.int64)])
    if x.is_floating_point():
        yield Call("aten::logcumsumexp.out", [x, dim], [like(x)])


def selections(x: torch.Tensor, dim: int) -> Iterator[Call]:
    length = x.shape[dim] if x.dim() else 1
    first = x.narrow(dim, 0, 1) if x.dim() else x
    for keep in (False, True):
        out = like(first if keep or not x.dim() else first.squeeze(dim))
        for name, arguments in (
            ("median.dim_values", [x, dim, keep]),
            ("mode.values", [x, dim, keep]),
            ("kthvalue.values", [x, 1, dim, keep]),
            ("kthvalue.values", [x, (length + 1) // 2, dim, keep]),
            ("kthvalue.values", [x, length, dim, keep]),
        ):
            yield Call(f"aten::{name}", arguments, [like(out), like(out, torch.int64)])


def largest(x: torch.Tensor, dim: int) -> Iterator[Call]:
    length = x.shape[dim] if x.dim() else 1
    for k in {1, length // 64, length // 64 + 1, length}:
        if k > length or not x.dim():
            continue
        for most in (False, True):
            for in_order in (False, True):
                out = x.narrow(dim, 0, k)
                outs = [like(out), like(out, torch.int64)]
                yield Call("aten::topk.values", [x, k, dim, most, in_order], outs)


@pytest.mark.parametrize("dtype", REAL)
def test_ranks_and_layouts(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    inputs = [
        (tied(dtype), 0),
        (tied(dtype, 1), -1),
        (tied(dtype, 30, 4), 0),
        (permuted(tied(dtype, 2, 18, 3, 2), 0, 2, 3, 1), 1),
    ]
    calls: list[Call] = []
    for x, dim in inputs:
        calls += sorts(x, dim)
        if dtype != torch.bool:
            calls += [*selections(x, dim), *largest(x, dim)]
            calls.append(Call("aten::median.out", [x], [x.new_empty(())]))
    names = list(compilers())
    check_calls(calls, tmp_path, names[REAL.index(dtype) % len(names)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_long_rows_with_ties(dtype: torch.dtype, tmp_path: Path) -> None:
    """The order of equal elements depends on each step of the algorithm."""
    torch.manual_seed(1)
    calls: list[Call] = []
    for length in (17, 300, 3000):
        x = tied(dtype, 2, length)
        wide = torch.randint(0, length, (2, length)).to(dtype)
        for rows in (x, wide, wide.sort(dim=1).values, wide.sort(dim=1, descending=True).values // 3):
            calls += [*sorts(rows, 1), *largest(rows, 1)]
    check_calls(calls, tmp_path)


def worst_row(n: int) -> torch.Tensor:
    """Returns a row for which quicksort with a median of three divides off few elements at a time.

    Source: McIlroy, A killer adversary for quicksort, 1999.
    """
    values, solid, candidate = [n] * n, 0, 0
    order = list(range(n))

    def before(i: int, j: int) -> bool:
        nonlocal solid, candidate
        a, b = order[i], order[j]
        if values[a] == values[b] == n:
            values[a if a == candidate else b] = solid
            solid += 1
        if values[a] == n:
            candidate = a
        elif values[b] == n:
            candidate = b
        return values[a] < values[b]

    def swap(i: int, j: int) -> None:
        order[i], order[j] = order[j], order[i]

    last = n
    while last > 16:
        a, b, c = 1, last // 2, last - 1
        if before(a, b):
            median = b if before(b, c) else c if before(a, c) else a
        else:
            median = a if before(a, c) else c if before(b, c) else b
        swap(0, median)
        low, high = 1, last
        while True:
            while before(low, 0):
                low += 1
            high -= 1
            while before(0, high):
                high -= 1
            if low >= high:
                break
            swap(low, high)
            low += 1
        if last - low > low:  # the longer part is the last one
            order[:] = order[low:last] + order[:low] + order[last:]
            last -= low
        else:
            last = low
    return torch.tensor(values)


def test_rows_that_exhaust_the_depth(tmp_path: Path) -> None:
    calls: list[Call] = []
    for divisor in (1, 2, 5):
        x = (worst_row(600) // divisor).float()
        calls += [*sorts(x, 0)]
        for k in (100, 300, 599):
            for most in (False, True):
                for in_order in (False, True):
                    out = x[:k]
                    outs = [like(out), like(out, torch.int64)]
                    calls.append(Call("aten::topk.values", [x, k, 0, most, in_order], outs))
    check_calls(calls, tmp_path)


def test_empty_rows(tmp_path: Path) -> None:
    x = torch.empty(2, 0, 3)
    calls = [*sorts(x, 1), *sorts(x, 0), *largest(x, 0)]
    for dtype in REAL[:-1]:
        calls.append(Call("aten::median.out", [torch.empty(0, dtype=dtype)], [torch.empty((), dtype=dtype)]))
    check_calls(calls, tmp_path)
