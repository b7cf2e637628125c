"""Matrix products, convolutions, pooling, resampling and Fourier transforms agree with eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.ops.harness import (
    COMPLEX,
    FLOAT16_TYPES,
    FLOATS,
    INTS,
    Case,
    assert_same,
    blank,
    check,
    compute,
    expected,
)
from tests.ops.samples import channels_last, tensor

from rushlight.runtime import call_kernel
from rushlight.runtime.errors import RushlightError

f32 = torch.float32
MATRIX = (*FLOATS, *FLOAT16_TYPES, torch.int32, torch.int64, torch.uint8, torch.int8, torch.int16, *COMPLEX)


def x(*shape: int, dtype: torch.dtype = f32, seed: int = 0) -> torch.Tensor:
    return tensor(dtype, *shape, seed=seed, low=-2, high=2)


def cl(value: torch.Tensor) -> torch.Tensor:
    if value.dim() == 5:
        return value.contiguous(memory_format=torch.channels_last_3d)
    return channels_last(value)


def convolutions(dtype: torch.dtype = f32) -> list[Case]:
    """Returns cases: input, weight, bias, stride, padding, dilation, transposed, output padding, groups."""
    t = lambda *shape, seed=0: x(*shape, dtype=dtype, seed=seed)  # noqa: E731
    return [
        Case(t(2, 3, 8, 9), t(4, 3, 3, 3), t(4), [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
        Case(t(2, 4, 8, 9), t(6, 2, 3, 2), None, [2, 1], [1, 0], [1, 2], False, [0, 0], 2),
        Case(t(1, 6, 7, 7), t(6, 1, 3, 3), t(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 6),
        Case(t(1, 70, 6, 6), t(40, 70, 1, 1), t(40), [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
        Case(t(2, 3, 10), t(5, 3, 4), t(5), [2], [2], [1], False, [0], 1),
        Case(t(1, 2, 5, 6, 7), t(3, 2, 2, 3, 3), t(3), [1, 2, 1], [1, 1, 0], [1, 1, 2], False, [0] * 3, 1),
        Case(t(2, 4, 5, 6), t(4, 3, 3, 3), t(3), [2, 2], [1, 1], [1, 1], True, [1, 0], 1),
        Case(t(2, 4, 5, 6), t(4, 2, 3, 2), t(4), [3, 1], [0, 1], [2, 1], True, [0, 0], 2),
        Case(t(2, 4, 9), t(4, 3, 3), None, [2], [1], [1], True, [1], 1),
        Case(t(1, 2, 3, 4, 5), t(2, 3, 2, 2, 3), t(3), [2, 1, 1], [0, 1, 1], [1, 1, 1], True, [1, 0, 0], 1),
        Case(t(0, 3, 8, 9), t(4, 3, 3, 3), t(4), [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ]


def gradients(mask: tuple[bool, bool, bool]) -> list[Case]:
    """Returns the arguments of convolution_backward for every case of convolutions()."""
    cases = []
    for case in convolutions():
        image, weight, bias, *rest = case.args
        if image.shape[0] == 0:
            continue
        grad = x(*torch.ops.aten.convolution.default(*case.args).shape, seed=5)
        sizes = [weight.shape[1] * rest[-1] if rest[3] else weight.shape[0]]
        cases.append(Case(grad, image, weight, sizes, *rest, mask))
    return cases


def images(dims: int) -> list[torch.Tensor]:
    """Returns an image of each dtype, and an image in channels-last order."""
    shape = (2, 3, 5, 7, 6)[: dims + 2]
    return [*[x(*shape, dtype=d) for d in (*FLOATS, *FLOAT16_TYPES)], cl(x(*shape))]


def byte_image(*shape: int) -> torch.Tensor:
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


def resizes(dims: int, *rest: object, byte: bool = False) -> list[Case]:
    """Returns cases with larger, smaller and equal sizes."""
    sizes = ([11, 4, 9], [3, 14, 6], [5, 7, 6], [1, 1, 1], [10, 14, 12])
    cases = [Case(image, size[:dims], *rest) for image in images(dims) for size in sizes]
    if byte:
        cases += [
            Case(byte_image(2, 3, 9, 12), size, *rest) for size in ([11, 4], [3, 30], [9, 13], [20, 12])
        ]
    return cases


def scaled(dims: int, *rest: object) -> list[Case]:
    """Returns cases with a factor that is not the quotient of the sizes."""
    return [Case(image, [8, 11, 10][:dims], *rest, *[1.7] * dims) for image in images(dims)]


def copied(dims: int, *rest: object) -> list[Case]:
    """Returns cases with an axis of equal size, where an infinite element does not change its neighbors."""
    image = x(*(1, 2, 3, 4, 5)[: dims + 2])
    image.flatten()[3] = float("inf")
    sizes = list(image.shape[2:])
    return [Case(image, sizes, *rest), Case(image, [7, *sizes[1:]] if dims > 1 else sizes, *rest)]


def without_halves(cases: list[Case]) -> list[Case]:
    return [case for case in cases if case.args[0].dtype not in FLOAT16_TYPES]


def samples(dims: int, *rest: object) -> list[Case]:
    """Returns cases with an image and a grid that exceeds it."""
    shape, points = (2, 3, 5, 7, 6)[: dims + 2], (2, 4, 6, 3)[: dims + 1]
    return [
        *[
            Case(x(*shape, dtype=d), x(*points, dims, dtype=d, seed=1), *rest)
            for d in (*FLOATS, *FLOAT16_TYPES)
        ],
        Case(cl(x(*shape)), x(*points, dims, seed=2), *rest),
    ]


# Powers of two, products of small primes, small and large primes.
LENGTHS = (1, 2, 3, 8, 12, 30, 49, 61, 67, 134, 1009)


def half_spectrum(*shape: int, dtype: torch.dtype = torch.complex64) -> torch.Tensor:
    """Returns the half spectrum of a real signal with the shape."""
    return x(*shape[:-1], shape[-1] // 2 + 1, dtype=dtype)


CASES: dict[str, Callable[[], list[Case]]] = {
    "aten::mm.out": lambda: [
        *[Case(x(5, 7, dtype=d), x(7, 6, dtype=d, seed=1)) for d in MATRIX],
        Case(x(70, 130), x(130, 90, seed=1)),
        Case(x(3, 0), x(0, 4)),
        Case(x(0, 3), x(3, 4)),
        Case(x(1, 300), x(300, 1)),
    ],
    "aten::bmm.out": lambda: [
        *[Case(x(3, 5, 7, dtype=d), x(3, 7, 6, dtype=d, seed=1)) for d in MATRIX],
        Case(x(2, 40, 70), x(2, 70, 33, seed=1)),
        Case(x(0, 5, 7), x(0, 7, 6)),
    ],
    "aten::addmm.out": lambda: [
        *[Case(x(6, dtype=d), x(5, 7, dtype=d), x(7, 6, dtype=d, seed=1)) for d in MATRIX],
        Case(x(5, 6), x(5, 7), x(7, 6, seed=1), beta=0.5, alpha=-2),
        Case(x(5, 1), x(5, 7), x(7, 6, seed=1), beta=2, alpha=3),
        Case(torch.tensor(float("nan")), x(5, 7), x(7, 6, seed=1), beta=0),
        Case(x(1), x(5, 0), x(0, 6)),
    ],
    "aten::baddbmm.out": lambda: [
        *[Case(x(3, 5, 6, dtype=d), x(3, 5, 7, dtype=d), x(3, 7, 6, dtype=d, seed=1)) for d in FLOATS],
        Case(x(5, 1), x(3, 5, 7), x(3, 7, 6, seed=1), beta=2, alpha=0.5),
        Case(x(3, 1, 6), x(3, 5, 7), x(3, 7, 6, seed=1)),
    ],
    "aten::linear.out": lambda: [
        *[
            Case(x(4, 7, dtype=d), x(5, 7, dtype=d, seed=1), x(5, dtype=d, seed=2))
            for d in (*FLOATS, *FLOAT16_TYPES)
        ],
        Case(x(2, 3, 7), x(5, 7, seed=1)),
        Case(x(7), x(5, 7, seed=1), x(5, seed=2)),
        Case(x(2, 7), x(7, seed=1)),
        Case(cl(x(2, 3, 4, 7)), x(5, 7, seed=1), x(5, seed=2)),
        Case(x(0, 7), x(5, 7)),
    ],
    "aten::convolution.out": lambda: [
        *convolutions(),
        *convolutions(torch.float64),
        *[case for d in FLOAT16_TYPES for case in convolutions(d)[:10]],
        *[case.map(cl) for case in convolutions()],
        *convolutions(torch.int64)[:3],
    ],
    "aten::avg_pool1d.out": lambda: [Case(x(2, 3, 9), [3]), Case(x(3, 9), [4], [2], [1], True, False)],
    "aten::avg_pool2d.out": lambda: [
        *[Case(x(2, 3, 7, 8, dtype=d), [3, 2]) for d in (*FLOATS, *FLOAT16_TYPES, torch.int64)],
        *[
            Case(image, [3, 2], [2, 1], [1, 1], ceil, count, divisor)
            for image in (x(2, 3, 7, 8), x(3, 7, 8), cl(x(2, 3, 7, 8)))
            for ceil in (False, True)
            for count in (False, True)
            for divisor in (None, 5)
        ],
        Case(x(0, 3, 7, 8), [2, 2]),
    ],
    "aten::avg_pool3d.out": lambda: [
        Case(x(2, 3, 5, 6, 7), [2, 3, 2]),
        Case(x(3, 5, 6, 7), [3, 3, 2], [2], [1], True, False),
        Case(cl(x(2, 3, 5, 6, 7)), [2], [1], [1, 0, 1], False, True, 3),
    ],
    "aten::max_pool2d_with_indices.out": lambda: [
        *[Case(x(2, 3, 7, 8, dtype=d), [3, 2]) for d in (*FLOATS, *FLOAT16_TYPES, *INTS)],
        *[
            Case(image, [3, 2], [2, 1], [1, 1], dilation, ceil)
            for image in (x(2, 3, 9, 10), x(3, 9, 10), cl(x(2, 3, 9, 10)))
            for ceil in (False, True)
            for dilation in ([1, 1], [2, 3])
        ],
        Case(torch.tensor([[[float("nan"), 1.0], [2.0, 3.0]]]), [2, 2]),
        Case(torch.full((1, 2, 2), -float("inf")), [2, 2]),
    ],
    "aten::max_pool3d_with_indices.out": lambda: [
        *[Case(x(2, 3, 5, 6, 7, dtype=d), [2, 3, 2]) for d in (*FLOATS, *FLOAT16_TYPES, torch.int64)],
        Case(x(3, 5, 6, 7), [2], [1], [1], [2], True),
        Case(x(2, 3, 5, 6, 7), [3], [2], [1], [1], True),
    ],
    "aten::adaptive_max_pool2d.out": lambda: [
        *[Case(x(2, 3, 7, 8, dtype=d), [3, 5]) for d in (*FLOATS, *FLOAT16_TYPES)],
        Case(x(3, 7, 8), [1, 1]),
        Case(cl(x(2, 3, 7, 8)), [3, 4]),
    ],
    "aten::adaptive_max_pool3d.out": lambda: [
        Case(x(2, 3, 5, 6, 7), [2, 3, 4]),
        Case(x(3, 5, 6, 7), [1, 1, 1]),
    ],
    "aten::adaptive_avg_pool1d.out": lambda: [Case(x(2, 3, 9), [4]), Case(x(3, 9), [1])],
    "aten::adaptive_avg_pool2d.out": lambda: [Case(x(2, 3, 7, 8), [3, 5]), Case(x(3, 7, 8), [1, 1])],
    "aten::_adaptive_avg_pool2d.out": lambda: [
        *[Case(x(2, 3, 7, 8, dtype=d), [3, 5]) for d in (*FLOATS, *FLOAT16_TYPES)],
        Case(x(3, 7, 8), [1, 1]),
        Case(x(2, 3, 3, 3), [7, 5]),
        Case(cl(x(2, 3, 7, 8)), [3, 4]),
        Case(x(2, 3, 7, 8), [0, 4]),
    ],
    **{
        f"aten::{name}{n}d.out": lambda n=n: [*resizes(n), *scaled(n)]  # type: ignore[misc]
        for name in ("upsample_nearest", "_upsample_nearest_exact")
        for n in (1, 2, 3)
    },
    "aten::upsample_nearest2d.vec_out": lambda: [
        Case(x(2, 3, 5, 7), [9, 4], None),
        Case(x(2, 3, 5, 7), None, [2.0, 1.3]),
        Case(byte_image(2, 3, 5, 7), None, [2.0, 0.5]),
        # The size of an axis stays or doubles, and the factor is not the quotient of the sizes.
        Case(x(2, 3, 10, 2), None, [1.3, 1.3]),
        Case(x(2, 8, 2, 2), None, [2.2, 1.4]),
    ],
    **{
        f"aten::{name}.out": lambda name=name, n=n, byte=byte: [  # type: ignore[misc]
            *resizes(n, False, byte=byte),
            *resizes(n, True, byte=byte),
            *scaled(n, False),
            *(copied(n, False) if "linear" in name else []),
        ]
        for name, n, byte in (
            ("upsample_linear1d", 1, False),
            ("upsample_bilinear2d", 2, True),
            ("upsample_trilinear3d", 3, False),
            ("upsample_bicubic2d", 2, True),
        )
    },
    **{
        f"aten::{name}.out": lambda: without_halves(
            [
                *resizes(2, False, byte=True),
                *resizes(2, True, byte=True),
                *scaled(2, False),
                Case(x(1, 2, 9, 1200), [4, 80], False, None, None),
                Case(x(1, 1, 5, 1200), [2, 3], False, None, None),
            ]
        )
        for name in ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")
    },
    "aten::upsample_bilinear2d.vec_out": lambda: [
        Case(x(2, 3, 5, 7), [9, 4], True, None),
        Case(x(2, 3, 5, 7), None, False, [2.0, 1.3]),
    ],
    "aten::grid_sampler_2d.out": lambda: (
        [
            case
            for mode in (0, 1, 2)
            for padding in (0, 1, 2)
            for corners in (False, True)
            for case in without_halves(samples(2, mode, padding, corners))
        ]
        + [Case(x(1, 1, 1, 1), x(1, 3, 3, 2), 0, 2, True)]
    ),
    "aten::grid_sampler_3d.out": lambda: [
        case
        for mode in (0, 1)
        for padding in (0, 1, 2)
        for corners in (False, True)
        for case in without_halves(samples(3, mode, padding, corners))
    ],
    "aten::_fft_r2c.out": lambda: [
        *[Case(x(3, n, dtype=d), [1], 0, True) for n in LENGTHS for d in FLOATS],
        *[Case(x(4, 6, 5), [0, 2, 1], norm, one) for norm in (0, 1, 2) for one in (False, True)],
        Case(x(4, 6), [0], 0, True),
    ],
    "aten::_fft_c2r.out": lambda: [
        *[Case(half_spectrum(3, n, dtype=d), [1], 0, n) for n in LENGTHS for d in COMPLEX],
        *[Case(half_spectrum(4, 3, n), [0, 1, 2], norm, n) for norm in (0, 1, 2) for n in (6, 7)],
    ],
    "aten::_fft_c2c.out": lambda: [
        *[Case(x(3, n, dtype=d), [1], 0, way) for n in LENGTHS for d in COMPLEX for way in (False, True)],
        *[
            Case(x(4, 6, 5, dtype=COMPLEX[0]), [2, 0], norm, way)
            for norm in (0, 1, 2)
            for way in (False, True)
        ],
        Case(x(4, dtype=COMPLEX[0]), [], 0, True),
    ],
    "aten::im2col.out": lambda: [
        *[Case(x(2, 3, 7, 8, dtype=d), [3, 2], [1, 1], [0, 0], [1, 1]) for d in (*FLOATS, *FLOAT16_TYPES)],
        Case(x(3, 7, 8), [3, 2], [2, 1], [1, 2], [2, 3]),
        Case(cl(x(2, 3, 7, 8)), [3, 2], [1, 2], [1, 0], [1, 2]),
        Case(x(2, 3, 4, 2), [2, 2], [1, 3], [3, 4], [1, 2]),  # some lines have padding only
    ],
    "aten::col2im.out": lambda: [
        *[Case(x(2, 18, 35, dtype=d), [7, 8], [3, 2], [1, 1], [0, 0], [1, 1]) for d in FLOATS],
        Case(x(18, 12), [7, 8], [3, 2], [2, 1], [1, 2], [2, 3]),
        Case(x(12, 36), [4, 2], [2, 2], [1, 3], [3, 4], [1, 2]),  # some lines have padding only
    ],
    "aten::_adaptive_avg_pool2d_backward.out": lambda: [
        *[Case(x(2, 3, 3, 5, dtype=d), x(2, 3, 7, 8, dtype=d)) for d in (*FLOATS, *FLOAT16_TYPES)],
        Case(x(3, 1, 1), x(3, 7, 8)),
    ],
    "aten::_adaptive_avg_pool3d.out": lambda: [
        *[Case(x(2, 3, 5, 6, 7, dtype=d), [2, 3, 4]) for d in (*FLOATS, *FLOAT16_TYPES)],
        Case(x(3, 5, 6, 7), [1, 1, 1]),
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_nn(name: str) -> None:
    for case in CASES[name]():
        # Sums have another order than in eager PyTorch, and sums of float16 are computed in float32.
        half = any(isinstance(a, torch.Tensor) and a.dtype in FLOAT16_TYPES for a in case.args)
        check(name, case, **({"rtol": 1e-2, "atol": 5e-2} if half else {"rtol": 1e-4, "atol": 1e-5}))  # type: ignore[arg-type]


@pytest.mark.parametrize("mask", [(True, True, True), (True, False, False), (False, True, True)])
def test_convolution_backward(mask: tuple[bool, bool, bool]) -> None:
    for case in gradients(mask):
        wanted = torch.ops.aten.convolution_backward.default(*case.args)
        outs = [blank(w) if w is not None else torch.empty(0) for w in wanted]
        call_kernel("aten::convolution_backward.out", [*case.args, *outs], "portable")
        for out, reference in zip(outs, wanted, strict=True):
            if reference is not None:
                torch.testing.assert_close(out, reference, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", FLOAT16_TYPES)
@pytest.mark.parametrize("dims", [2, 3])
def test_grids_of_halves_are_sampled_in_float(dims: int, dtype: torch.dtype) -> None:
    name = f"aten::grid_sampler_{dims}d.out"
    for case in samples(dims, 0, 1, False):
        case = case.map(lambda t: t.to(dtype))
        wanted = [w.to(dtype) for w in expected(name, case.map(lambda t: t.float()))]
        assert_same(compute(name, case, [blank(w) for w in wanted]), wanted, case)


@pytest.mark.parametrize("dtype", FLOATS)
def test_pools_backward(dtype: torch.dtype) -> None:
    for ceil in (False, True):
        for make in (lambda t: t, cl, lambda t: t[0]):
            image = make(x(2, 3, 7, 8, dtype=dtype))
            window = ([3, 2], [2, 1], [1, 1], [1, 1], ceil)
            pooled, indices = torch.ops.aten.max_pool2d_with_indices.default(image, *window)
            grad = torch.rand_like(pooled)
            wanted = torch.ops.aten.max_pool2d_with_indices_backward.default(grad, image, *window, indices)
            out = blank(wanted)
            name = "aten::max_pool2d_with_indices_backward.grad_input"
            call_kernel(name, [grad, image, *window, indices, out], "portable")
            assert_same([out], [wanted], (name, window))
            for count, divisor in ((False, None), (True, None), (True, 5)):
                rest = (*window[:3], ceil, count, divisor)
                grad = torch.rand_like(torch.ops.aten.avg_pool2d.default(image, *rest))
                wanted = torch.ops.aten.avg_pool2d_backward.default(grad, image, *rest)
                out = blank(wanted)
                call_kernel("aten::avg_pool2d_backward.grad_input", [grad, image, *rest, out], "portable")
                assert_same([out], [wanted], rest)


@pytest.mark.parametrize("threads", [1, 3])
def test_products_on_threads(threads: int) -> None:
    case = Case(x(100, 65), x(65, 120, seed=1))
    wanted = expected("aten::mm.out", case)
    outs = [blank(w) for w in wanted]
    call_kernel("aten::mm.out", [*case.args, *outs], "portable", threads)
    assert_same(outs, wanted, case)


REFUSED: list[tuple[str, list[object], str]] = [
    ("aten::mm.out", [x(2, 3), x(4, 2), x(2, 2)], "n x m and m x p"),
    ("aten::mm.out", [x(2, 3), x(3, 2).double(), x(2, 2)], "float32 and float64"),
    ("aten::addmm.out", [x(3), x(2, 3), x(3, 2), 1, 1, x(2, 2)], "does not broadcast"),
    ("aten::linear.out", [x(2, 3), x(4, 2), None, x(2, 4)], "3 features"),
    (
        "aten::convolution.out",
        [x(1, 3, 5, 5), x(4, 2, 3, 3), None, [1], [0], [1], False, [0], 1, x(1, 4, 3, 3)],
        "3 channels",
    ),
    (
        "aten::convolution.out",
        [x(1, 3, 5, 5), x(4, 3, 3, 3), None, [0], [0], [1], False, [0], 1, x(1, 4, 3, 3)],
        "stride",
    ),
    (
        "aten::convolution.out",
        [x(1, 3, 2, 2), x(4, 3, 3, 3), None, [1], [0], [1], False, [0], 1, x(1, 4, 1, 1)],
        "shape",
    ),
    (
        "aten::convolution.out",
        [x(1, 3, 5, 5), x(4, 3, 3, 3), x(3), [1], [0], [1], False, [0], 1, x(1, 4, 3, 3)],
        "bias",
    ),
    ("aten::upsample_nearest1d.out", [x(1, 1, 4), [9], 1e-30, x(1, 1, 9)], "too small"),
    ("aten::upsample_nearest1d.out", [x(1, 1, 4), [0], None, x(1, 1, 0)], "cannot be resized"),
    ("aten::upsample_bilinear2d.vec_out", [x(1, 1, 4, 4), None, False, None, x(1, 1, 4, 4)], "must be given"),
    (
        "aten::grid_sampler_2d.out",
        [x(1, 1, 4, 4), x(1, 2, 2, 3), 0, 0, False, x(1, 1, 2, 2)],
        "3 coordinates",
    ),
    (
        "aten::grid_sampler_3d.out",
        [x(1, 1, 4, 4, 4), x(1, 2, 2, 2, 3), 2, 0, False, x(1, 1, 2, 2, 2)],
        "mode 2",
    ),
    ("aten::_fft_r2c.out", [x(4), [0], 3, True, x(3, dtype=COMPLEX[0])], "normalization 3"),
    ("aten::_fft_r2c.out", [x(4), [0], 0, True, x(3, dtype=COMPLEX[1])], "complex128"),
    ("aten::col2im.out", [x(5, 4), [3, 3], [2, 2], [1], [0], [1], x(1, 3, 3)], "5 x 4"),
    ("aten::im2col.out", [x(1, 3, 3), [4, 4], [1], [0], [1], x(16, 1)], "does not fit"),
    ("aten::avg_pool2d.out", [x(1, 4, 4), [2], [2], [2], False, True, None, x(1, 3, 3)], "more than half"),
    ("aten::avg_pool2d.out", [x(1, 4, 4), [5], [], [0], False, True, None, x(1, 3, 3)], "does not fit"),
    ("aten::avg_pool2d.out", [x(1, 4, 4), [2], [], [0], False, True, 0, x(1, 2, 2)], "divisor"),
]


@pytest.mark.parametrize(("name", "args", "text"), REFUSED)
def test_refused(name: str, args: list[object], text: str) -> None:
    with pytest.raises(RushlightError, match=text):
        call_kernel(name, args, "portable")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
def test_max_pools_of_long_lines(dtype: torch.dtype) -> None:
    image = tensor(dtype, 2, 70, 9, 150)
    special = tensor(torch.float32, 1, 3, 8, 150)
    special[0, 0, 2, 5:40:3] = float("nan")
    special[0, 1] = -float("inf")
    inputs = [image, channels_last(image)] + ([special] if dtype == torch.float32 else [])
    for x in inputs:
        for kernel, stride, padding, dilation in (
            ([1, 3], [1, 3], [0, 1], [1, 1]),
            ([3, 4], [3, 5], [1, 2], [2, 3]),
            ([2, 2], [2, 1], [0, 0], [1, 1]),
        ):
            for ceil_mode in (False, True):
                case = Case(x, kernel, stride, padding, dilation, ceil_mode)
                if dtype == torch.int64 and x.is_contiguous(memory_format=torch.channels_last):
                    continue
                check("aten::max_pool2d_with_indices.out", case)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
def test_resampling_of_many_channels_last(mode: str) -> None:
    image = tensor(torch.float32, 2, 70, 5, 6)
    arguments = [] if mode == "nearest" else [False]
    for size in ([11, 9], [3, 4]):
        name = f"aten::upsample_{mode}2d.out"
        for given in (channels_last(image), image):
            check(name, Case(given, size, *arguments), atol=1e-5)
