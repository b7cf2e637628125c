"""Distances, histograms, sums without NaN, ranges, and parts of floating-point numbers."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
import torch
from tests.aot_c.harness import Library, compile_library, compilers
from tests.aot_c.one_call import Call
from tests.aot_c.same_calls import check_calls, permuted, program_of
from tests.aot_c.test_sorting import tied
from tests.ops.harness import FLOAT16_TYPES, FLOATS, INTS, REAL

FLOATING = (*FLOATS, *FLOAT16_TYPES)
ORDERS = (0.0, 1.0, 2.0, 3.5, math.inf)


@pytest.mark.parametrize("dtype", FLOATING)
def test_distances(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Call] = []
    shapes = (
        ((4, 7), (5, 7)),
        ((2, 1, 4, 3), (3, 5, 3)),
        ((3, 300), (2, 2, 300)),
        ((2, 0), (3, 0)),
        ((0, 4), (3, 4)),
    )
    for (left, right), p in itertools.product(shapes, ORDERS):
        a, b = torch.randn(left).to(dtype), tied(dtype, *right)
        batch = torch.broadcast_shapes(left[:-2], right[:-2])
        out = torch.empty(*batch, left[-2], right[-2], dtype=dtype)
        calls.append(Call("aten::_cdist_forward.out", [a, b, p, None], [out]))
        turned = [permuted(x, *range(x.dim() - 2), x.dim() - 1, x.dim() - 2) for x in (a, b, out)]
        calls.append(Call("aten::_cdist_forward.out", [*turned[:2], p, 1], turned[2:]))
    for rows, columns, p in itertools.product((0, 1, 5), (0, 3, 200), ORDERS):
        x = torch.randn(rows, columns).to(dtype)
        out = torch.empty(max(rows * (rows - 1) // 2, 0), dtype=dtype)
        for y in (x, permuted(x, 1, 0)):
            calls.append(Call("aten::_pdist_forward.out", [y, p], [torch.empty_like(out)]))
    check_calls(calls, tmp_path)


def test_histograms_and_sums_without_nan(tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Call] = []
    for dtype in FLOATS:
        values = torch.randn(5, 40, dtype=dtype)
        special = torch.tensor([0.0, 1.0, math.nan, math.inf, -0.0, 0.5], dtype=dtype)
        for x, bins, low, high in (
            (values, 10, 0, 0),
            (permuted(values, 1, 0), 7, -1, 1.5),
            (torch.full((4,), 2.0, dtype=dtype), 3, 0, 0),
            (special, 4, 0, 1),
            (torch.empty(0, dtype=dtype), 2, 0, 0),
        ):
            calls.append(Call("aten::histc.out", [x, bins, low, high], [torch.empty(bins, dtype=dtype)]))
    for dtype in REAL:
        x = tied(dtype, 4, 3, 7)
        result = dtype if dtype.is_floating_point else torch.int64
        for y, dims, keep in (
            (x, [2], False),
            (permuted(x, 2, 0, 1), [0, 1], True),
            (x, None, False),
            (x[:0], [0], False),
        ):
            wanted = torch.empty_like(torch.nansum(y, dims, keep, dtype=result))
            calls.append(Call("aten::nansum.out", [y, dims, keep, None], [wanted]))
    check_calls(calls, tmp_path)


def test_ranges_of_histograms_that_are_not_finite(tmp_path: Path) -> None:
    call = Call("aten::histc.out", [torch.tensor([0.0, math.inf]), 2, 0, 0], [torch.empty(2)])
    text = program_of([call])
    library = Library(compile_library(text, "model", tmp_path, next(iter(compilers()))), text)
    with pytest.raises(RuntimeError, match="returned 1"):
        library("call_0", call.arguments[0])


def test_ranges(tmp_path: Path) -> None:
    calls: list[Call] = []
    for dtype in (*FLOATING, *INTS):
        for start, end, steps in ((0, 10, 5), (3, 9, 1), (3, 9, 0), (1.5, 100.25, 12), (7, 7, 3), (9, 2, 8)):
            out = torch.empty(steps, dtype=dtype)
            calls.append(Call("aten::linspace.out", [start, end, steps], [out]))
    for dtype in (torch.int64, torch.int32):
        for rows, columns, offset in itertools.product((0, 1, 4, 7), (0, 1, 5), (-9, -4, -1, 0, 1, 3, 9)):
            for name in ("tril_indices", "triu_indices"):
                out = torch.empty_like(getattr(torch, name)(rows, columns, offset, dtype=dtype))
                calls.append(Call(f"aten::{name}.out", [rows, columns, offset], [out]))
    turned = permuted(torch.empty(2, 6, dtype=torch.int64), 1, 0)
    calls.append(Call("aten::tril_indices.out", [3, 3, 0], [turned]))
    check_calls(calls, tmp_path)


def test_parts_of_floating_point_numbers(tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Call] = []
    for dtype in FLOATING:
        limits = torch.finfo(dtype)
        numbers = [
            0.0,
            -0.0,
            math.inf,
            -math.inf,
            math.nan,
            limits.max,
            limits.min,
            limits.tiny,
            -limits.tiny,
        ]
        x = torch.tensor([*numbers, limits.smallest_normal / 4, 1.0, -3.7], dtype=dtype)
        x = torch.cat([x, torch.randn(12).to(dtype)]).reshape(4, 6)
        outs = [torch.empty_like(x), torch.empty_like(x, dtype=torch.int32)]
        calls.append(Call("aten::frexp.Tensor_out", [x], outs))
        for a, b in (
            (x.flatten()[:, None], x.flatten()[None]),
            (permuted(x, 1, 0), x),
            (x, tied(torch.int8, 6)),
        ):
            common = torch.result_type(a, b)
            out = torch.empty(torch.broadcast_shapes(a.shape, b.shape), dtype=common)
            calls.append(
                Call(
                    "aten::nextafter.out",
                    [
                        a.contiguous() if a.dim() == 2 and a.shape[1] == 1 else a,
                        b.contiguous(),
                    ],
                    [out],
                )
            )
    check_calls(calls, tmp_path)
