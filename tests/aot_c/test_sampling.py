"""`generators/sampling.py`, `columns.py` and antialiased resizing: dtypes, layouts and places outside."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.aot_c.harness import compilers
from tests.aot_c.one_call import Call
from tests.aot_c.same_calls import check_calls, permuted
from tests.aot_c.test_sorting import tied
from tests.ops.harness import FLOAT16_TYPES, FLOATS, REAL

FLOATING = (*FLOATS, *FLOAT16_TYPES)
FAR = (float("nan"), float("inf"), -float("inf"), 1e9, -3e9, 1e30, 2.5, -7.25, 1.0, -1.0)


def points(dims: int) -> torch.Tensor:
    """Returns a grid, one quarter of whose coordinates are from FAR."""
    shape = (2, *(3, 4, 5)[:dims], dims)
    far = torch.tensor(FAR)[torch.randint(0, len(FAR), shape)]
    return torch.where(torch.rand(shape) < 0.25, far, torch.rand(shape) * 3 - 1.5)


@pytest.mark.parametrize("dtype", FLOATING)
def test_grids(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Call] = []
    for dims, mode in ((2, 0), (2, 1), (2, 2), (3, 0), (3, 1)):
        for padding in (0, 1, 2):
            for align in (False, True):
                image = torch.randn(2, 3, *(4, 5, 1)[:dims]).to(dtype)
                if padding == 1:  # infinities and NaN also at the place that stands for those outside
                    image = tied(dtype, *image.shape)
                grid = points(dims).to(dtype)
                out = torch.empty(2, 3, *grid.shape[1:-1], dtype=dtype)
                if align:
                    order = (*range(2, dims + 2), 0, 1)
                    image, grid, out = (permuted(x, *order) for x in (image, grid, out))
                arguments = [image, grid, mode, padding, align]
                calls.append(Call(f"aten::grid_sampler_{dims}d.out", arguments, [out]))
    names = list(compilers())
    check_calls(calls, tmp_path, names[FLOATING.index(dtype) % len(names)])


@pytest.mark.parametrize("dtype", FLOATING)
def test_antialiased_resizing(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Call] = []
    # Of the last shapes, the portable kernel adds rows first only where a block of results has few columns.
    for source, size in (
        ((7, 9), (3, 4)),
        ((4, 5), (9, 13)),
        ((6, 6), (6, 2)),
        ((3, 900), (2, 100)),
        ((2, 90), (2, 70)),
    ):
        for kind in ("bilinear", "bicubic"):
            for align, scales in ((False, (None, None)), (True, (None, None)), (False, (0.4, 0.7))):
                image = torch.randn(2, 2, *source).to(dtype)
                out = torch.empty(2, 2, *size, dtype=dtype)
                layouts = [(image, out)]
                if source[1] < 10:
                    swapped = (0, 2, 3, 1)
                    layouts += [(permuted(image, *swapped), out), (image, permuted(out, *swapped))]
                for x, y in layouts:
                    arguments = [x, list(size), align, *scales]
                    calls.append(Call(f"aten::_upsample_{kind}2d_aa.out", arguments, [torch.empty_like(y)]))
    check_calls(calls, tmp_path)


def test_columns(tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Call] = []
    windows = (
        ([3, 2], [1, 1], [0, 0], [1, 1]),
        ([2, 2], [2, 1], [1, 3], [1, 2]),
        ([2, 3], [1, 2], [2, 0], [3, 1]),
    )
    for dtype in REAL:
        for batch in ((), (2,)):
            image = tied(dtype, *batch, 3, 6, 7)
            rotated = permuted(image, *range(1, image.dim()), 0)
            for kernel, dilation, padding, stride in windows:
                count = [
                    (n + 2 * p - d * (k - 1) - 1) // s + 1
                    for n, k, d, p, s in zip((6, 7), kernel, dilation, padding, stride, strict=True)
                ]
                matrix = tied(dtype, *batch, 3 * kernel[0] * kernel[1], count[0] * count[1])
                window = [kernel, dilation, padding, stride]
                for x in (image, rotated):
                    calls.append(Call("aten::im2col.out", [x, *window], [torch.empty_like(matrix)]))
                for y in (matrix, permuted(matrix, *range(1, matrix.dim()), 0)):
                    calls.append(Call("aten::col2im.out", [y, [6, 7], *window], [torch.empty_like(image)]))
    check_calls(calls, tmp_path)


def test_bytes(tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls: list[Call] = []
    for source, size in (
        ((7, 9), (3, 4)),
        ((4, 5), (9, 13)),
        ((6, 6), (6, 2)),
        ((6, 6), (2, 6)),
        ((3, 3), (3, 3)),
    ):
        for name in (
            "upsample_bilinear2d",
            "upsample_bicubic2d",
            "_upsample_bilinear2d_aa",
            "_upsample_bicubic2d_aa",
        ):
            for align, scales in ((False, (None, None)), (True, (None, None)), (False, (0.4, 1.7))):
                image = torch.randint(0, 256, (2, 3, *source), dtype=torch.uint8)
                out = torch.empty(2, 3, *size, dtype=torch.uint8)
                for x, y in ((image, out), (permuted(image, 0, 2, 3, 1), permuted(out, 0, 2, 3, 1))):
                    calls.append(Call(f"aten::{name}.out", [x, list(size), align, *scales], [y]))
    check_calls(calls, tmp_path)
