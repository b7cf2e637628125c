"""Optimized Fourier transforms, compared with float64."""

from __future__ import annotations

import math

import pytest
import torch
from tests.ops.optimized_check import run

pytestmark = pytest.mark.threads

LENGTHS = [
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    12,
    15,
    16,
    30,
    49,
    61,
    64,
    67,
    100,
    122,
    128,
    400,
    441,
    512,
    1024,
    1440,
]
COMPLEX = torch.complex64


def check(name: str, args: list[object], exact: torch.Tensor, points: int) -> None:
    """The error is a few units of the last place of the largest number, as in eager PyTorch."""
    dtype = COMPLEX if exact.is_complex() else torch.float32
    for threads in (1, 2):
        (got,) = run(name, args, [exact.to(dtype)], threads=threads)
        error = (got.to(exact.dtype) - exact).abs().amax()
        assert error <= 2e-7 * math.log2(points + 1) * exact.abs().amax()


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("lines", [1, 3, 8, 21])
def test_lines(n: int, lines: int) -> None:
    x = torch.randn(lines, n)
    z = torch.randn(lines, n, dtype=COMPLEX)
    half = torch.randn(lines, n // 2 + 1, dtype=COMPLEX)
    check("aten::_fft_r2c.out", [x, [1], 0, True], torch.fft.rfft(x.double()), n)
    check("aten::_fft_r2c.out", [x, [1], 1, False], torch.fft.fft(x.double(), norm="ortho"), n)
    check("aten::_fft_c2c.out", [z, [1], 0, True], torch.fft.fft(z.to(torch.complex128)), n)
    check("aten::_fft_c2c.out", [z, [1], 2, False], torch.fft.ifft(z.to(torch.complex128)), n)
    # The imaginary parts of points that are their own conjugates are ignored.
    check("aten::_fft_c2r.out", [half, [1], 2, n], torch.fft.irfft(half.to(torch.complex128), n), n)


@pytest.mark.parametrize("dims", [[0], [1], [2], [0, 1], [2, 1], [0, 1, 2]], ids=str)
def test_dims(dims: list[int]) -> None:
    x = torch.randn(10, 14, 12)
    z = torch.randn(10, 14, 12, dtype=COMPLEX)
    points = math.prod(x.shape[d] for d in dims)
    check("aten::_fft_r2c.out", [x, dims, 0, True], torch.fft.rfftn(x.double(), dim=dims), points)
    check(
        "aten::_fft_c2c.out",
        [z, dims, 1, True],
        torch.fft.fftn(z.to(torch.complex128), dim=dims, norm="ortho"),
        points,
    )
    half = torch.fft.rfftn(x.double(), dim=dims)
    check("aten::_fft_c2r.out", [half.to(COMPLEX), dims, 2, x.shape[dims[-1]]], x.double(), points)


def test_layouts() -> None:
    x = torch.randn(6, 40, 16)
    check(
        "aten::_fft_r2c.out",
        [x.transpose(1, 2), [2], 0, True],
        torch.fft.rfft(x.transpose(1, 2).double()),
        40,
    )
    z = torch.randn(5, 16, 9, dtype=COMPLEX)
    want = torch.fft.ifft(z.transpose(0, 2).to(torch.complex128))
    check("aten::_fft_c2c.out", [z.transpose(0, 2), [2], 2, False], want, 5)


def test_nothing_and_not_finite_numbers() -> None:
    (empty,) = run(
        "aten::_fft_r2c.out", [torch.randn(0, 8), [1], 0, True], [torch.empty(0, 5, dtype=COMPLEX)], threads=1
    )
    assert empty.shape == (0, 5)
    x = torch.randn(9, 16)
    x[4, 3] = math.nan
    x[6, 0] = math.inf
    (got,) = run("aten::_fft_r2c.out", [x, [1], 0, True], [torch.fft.rfft(x)], threads=1)
    assert got[4].isnan().all()
    others = torch.tensor([0, 1, 2, 3, 5, 7, 8])
    torch.testing.assert_close(got[others], torch.fft.rfft(x[others]))
    assert not got[6].isfinite().any()


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 8), (4, 6), (6, 7), (5, 34)], ids=str)
def test_points_that_are_their_own_conjugates_are_real(shape: tuple[int, int], name: str) -> None:
    """Their imaginary parts are 0 and not -0, as in eager PyTorch, so that the angle of -1 is pi."""
    x = torch.randn(shape, dtype=getattr(torch, name))
    for dims in ([1], [0], [0, 1]):
        for is_half in (True, False):
            want = torch.fft.rfftn(x, dim=dims) if is_half else torch.fft.fftn(x, dim=dims)
            (got,) = run("aten::_fft_r2c.out", [x, dims, 0, is_half], [want], threads=1)
            torch.testing.assert_close(got, want)
            real = want.imag == 0
            assert real.any() and not torch.signbit(got.imag[real]).any()


@pytest.mark.parametrize("n", [256, 272, 1000, 2048, 16384, 60000])
def test_long_lines(n: int) -> None:
    """A few long lines are transformed as matrices."""
    for shape, dim in (((n,), 0), ((2, n), 1), ((n, 3), 0), ((1, n, 2), 1)):
        z = torch.randn(shape, dtype=COMPLEX)
        wide = z.to(torch.complex128)
        check("aten::_fft_c2c.out", [z, [dim], 0, True], torch.fft.fft(wide, dim=dim), n)
        check("aten::_fft_c2c.out", [z, [dim], 2, False], torch.fft.ifft(wide, dim=dim), n)
    x = torch.randn(1, n)
    check("aten::_fft_r2c.out", [x, [1], 0, True], torch.fft.rfft(x.double()), n)
