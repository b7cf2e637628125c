"""Kernels that move elements agree with eager PyTorch: all element sizes, no elements, channels last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from tests.ops.harness import COMPLEX, FLOAT16_TYPES, FLOATS, REAL, Case, assert_same, blank, check
from tests.ops.samples import channels_last, tensor

from rushlight.runtime import call_kernel
from rushlight.runtime.errors import RushlightError

SIZES = (torch.uint8, torch.bfloat16, torch.float32, torch.int64, torch.complex128)
f32 = torch.float32


def x(*shape: int, dtype: torch.dtype = f32, seed: int = 0) -> torch.Tensor:
    return tensor(dtype, *shape, seed=seed)


def cl(*shape: int, dtype: torch.dtype = f32) -> torch.Tensor:
    return channels_last(tensor(dtype, *shape))


def every_size(*shape: int, args: Sequence[object] = ()) -> list[Case]:
    return [Case(tensor(dtype, *shape), *args) for dtype in SIZES]


CASES: dict[str, Callable[[], list[Case]]] = {
    "aten::view_copy.out": lambda: [
        *every_size(2, 3, 4, args=([6, 4],)),
        Case(x(2, 3, 4), [-1]),
        Case(x(2, 6), [3, -1, 2]),
        Case(x(), [1, 1]),
        Case(x(1), []),
        Case(x(0, 3), [3, 0]),
        Case(x(0, 3), [-1, 3]),
        Case(cl(2, 3, 4, 5), [2, 3, 4, 5]),
    ],
    "aten::_unsafe_view.out": lambda: [Case(x(2, 3, 4), [4, -1])],
    "aten::alias_copy.out": lambda: [*every_size(3, 4), Case(cl(2, 3, 4, 5)), Case(x())],
    "aten::permute_copy.out": lambda: [
        *every_size(2, 3, 4, args=([2, 0, 1],)),
        *every_size(33, 70, args=([1, 0],)),
        Case(x(2, 3, 4, 5), [0, -2, 3, 1]),
        Case(x(5, 1, 40, 3, 50), [4, 1, 2, 0, 3]),
        Case(x(), []),
        Case(x(0, 3), [1, 0]),
        Case(cl(2, 3, 4, 5), [0, 2, 3, 1]),
    ],
    "aten::transpose_copy.int_out": lambda: [
        *every_size(300, 41, args=(0, -1)),
        Case(x(2, 3, 4), 1, 1),
        Case(x(), 0, -1),
        Case(x(2, 0, 3), 1, 2),
        Case(x(16, 3, 16, 3), 0, 2),
    ],
    "aten::t_copy.out": lambda: [*every_size(3, 4), Case(x(5)), Case(x())],
    "aten::unsqueeze_copy.out": lambda: [
        *every_size(3, 4, args=(1,)),
        Case(x(3, 4), -1),
        Case(x(3, 4), -3),
        Case(x(), 0),
        Case(x(0), 1),
    ],
    "aten::squeeze_copy.out": lambda: [Case(x(1, 3, 1)), Case(x(1, 1)), Case(x())],
    "aten::squeeze_copy.dim_out": lambda: [
        Case(x(1, 3, 1), 0),
        Case(x(1, 3, 1), 1),
        Case(x(1, 3, 1), -1),
        Case(x(), 0),
    ],
    "aten::squeeze_copy.dims_out": lambda: [
        Case(x(1, 3, 1), [0, -1]),
        Case(x(1, 3, 1), [1]),
        Case(x(1, 3), []),
    ],
    "aten::select_copy.int_out": lambda: [
        *every_size(3, 4, 5, args=(1, -2)),
        Case(x(3, 4, 5), -1, 4),
        Case(x(3), 0, 1),
        Case(x(3, 0), 0, 2),
        Case(cl(2, 3, 4, 5), 1, 1),
    ],
    "aten::slice_copy.Tensor_out": lambda: [
        *every_size(6, 5, args=(0, 1, -1, 2)),
        Case(x(6, 5)),
        Case(x(6, 5), 1, None, 3),
        Case(x(6, 5), 1, -100, 100),
        Case(x(6, 5), -1, 4, 2),
        Case(x(6, 5), -2, 1, 6, 4),
        Case(x(6, 5), 0, 0, 9223372036854775807, 1000),
        Case(x(6, 5), 0, 4, None, 9218868437227405311),  # the product of step and stride exceeds 64 bits
        Case(cl(2, 6, 4, 5), 1, 1, 5, 2),
        Case(cl(2, 6, 4, 5), 3, 1, 4),
    ],
    "aten::narrow_copy.out": lambda: [
        *every_size(6, 5, args=(0, 2, 3)),
        Case(x(6, 5), -1, -2, 2),
        Case(x(6), 0, 6, 0),
    ],
    "aten::select_scatter.out": lambda: [
        *[Case(tensor(d, 3, 4), tensor(d, 4, seed=1), 0, 1) for d in SIZES],
        Case(x(3, 4), x(3, seed=1), -1, -4),
        Case(x(3), x(seed=1), 0, 2),
    ],
    "aten::slice_scatter.out": lambda: [
        *[Case(tensor(d, 6, 4), tensor(d, 3, 4, seed=1), 0, 0, 6, 2) for d in SIZES],
        Case(x(6, 4), x(6, 2, seed=1), 1, -2),
        Case(x(6, 4), x(0, 4), 0, 3, 3),
    ],
    "aten::expand_copy.out": lambda: [
        *every_size(3, 1, args=([2, 3, 4],)),
        Case(x(3, 1), [-1, 5]),
        Case(x(), [2, 3]),
        Case(x(1, 0), [4, 0]),
        Case(x(3), [0, 3]),
        Case(x(3, 4), [3, 4]),
    ],
    "aten::cat.out": lambda: [
        *[Case([tensor(d, 2, 3), tensor(d, 4, 3, seed=1)]) for d in (*REAL, *COMPLEX)],
        Case([x(2, 3), x(2, 1), x(2, 0)], -1),
        Case([x(0), x(2, 3), x(0)], 1),
        Case([x(0), x(0)]),
        Case([x(2, 3), tensor(torch.int32, 2, 3)]),
        Case([tensor(torch.uint8, 3), tensor(torch.int8, 3), tensor(torch.bool, 2)]),
        Case([cl(2, 3, 4, 5), cl(2, 1, 4, 5)], 1),
        Case([x(5, 700), x(3, 700, seed=1)], 0),
    ],
    "aten::stack.out": lambda: [
        *[Case([tensor(d, 2, 3), tensor(d, 2, 3, seed=1)], 1) for d in SIZES],
        Case([x(), x()]),
        Case([x(2, 3)] * 3, -1),
        Case([x(2, 3), tensor(torch.int64, 2, 3)], -3),
        Case([x(0, 2), x(0, 2)], 0),
    ],
    "aten::repeat.out": lambda: [
        *every_size(2, 3, args=([2, 1, 3],)),
        Case(x(), [2, 3]),
        Case(x(2, 3), [0, 2]),
        Case(x(0, 3), [2, 2]),
        Case(x(3), [1]),
        Case(x(), []),
    ],
    "aten::repeat_interleave.Tensor_out": lambda: [
        Case(torch.tensor([2, 0, 3])),
        Case(torch.tensor([2, 0, 3], dtype=torch.int32), output_size=5),
        Case(torch.tensor([], dtype=torch.int64)),
    ],
    "aten::roll.out": lambda: [
        *every_size(3, 4, args=([1, -2], [0, 1])),
        Case(x(3, 4), [5]),
        Case(x(3, 4), [-1]),
        Case(x(3, 4), [2, 2], [0, 0]),
        Case(x(2, 3, 4), [7, -7, 1], [-1, 1, 0]),
        Case(x(0, 3), [1], [0]),
        Case(x(), [3]),
        Case(cl(2, 3, 4, 5), [1, 2], [2, 3]),
    ],
    "aten::flip.out": lambda: [
        *every_size(3, 4, args=([0, -1],)),
        *every_size(3, 75, args=([-1],)),
        Case(x(3, 4), []),
        Case(x(3, 400), [1]),
        Case(x(), []),
        Case(x(), [0]),
        Case(x(0, 3), [0]),
        Case(cl(2, 3, 4, 5), [1]),
    ],
    "aten::as_strided_copy.out": lambda: [
        *every_size(12, args=([3, 2], [1, 4], 2)),
        Case(x(4, 5), [3, 3], [0, 1]),
        Case(x(4, 5), [], [], 19),
        Case(x(4, 5), [0, 3], [100, 1]),
    ],
    "aten::diagonal_copy.out": lambda: [
        *every_size(4, 5),
        *[Case(x(4, 5), offset) for offset in (1, -2, 4, 5, -4)],
        Case(x(2, 3, 4), 1, -1, 0),
        Case(x(0, 3)),
    ],
    "aten::diagonal_scatter.out": lambda: [
        *[Case(tensor(d, 4, 5), tensor(d, 4, seed=1)) for d in SIZES],
        Case(x(4, 5), x(3, seed=1), 2),
        Case(x(2, 3, 4), x(3, 2, seed=1), -1, -1, 0),
        Case(x(4, 5), x(0), 5),
    ],
    "aten::as_strided_scatter.out": lambda: [
        *[Case(tensor(d, 12), tensor(d, 3, 2, seed=1), [3, 2], [1, 4], 2) for d in SIZES],
        Case(x(4, 5), x(seed=1), [], [], 19),
    ],
    "aten::view_copy.dtype_out": lambda: [
        Case(x(3, 4), torch.int32),
        Case(x(3, 4), torch.uint8),
        Case(tensor(torch.uint8, 3, 8), torch.float64),
        Case(tensor(torch.int16, 0, 2), torch.float32),
        Case(x(), torch.int32),
    ],
    "aten::unfold_copy.out": lambda: [
        *every_size(7, 2, args=(0, 3, 2)),
        Case(x(2, 7), -1, 7, 1),
        Case(x(2, 7), 1, 0, 3),
        Case(x(), 0, 1, 1),
        Case(x(), 0, 0, 1),
    ],
    "aten::pixel_shuffle.out": lambda: [
        *every_size(2, 8, 3, 4, args=(2,)),
        Case(x(9, 2, 1), 3),
        Case(x(2, 0, 4, 3, 3), 2),
    ],
    "aten::pixel_unshuffle.out": lambda: [*every_size(2, 2, 6, 4, args=(2,)), Case(x(1, 6, 3), 3)],
    "aten::constant_pad_nd.out": lambda: [
        *[Case(tensor(d, 3, 4), [1, 2], 3) for d in (*REAL, *COMPLEX)],
        Case(x(3, 4), [1, 2, 0, 3], 0.5),
        Case(x(3, 4), [-1, -2], 7),
        Case(x(3, 4), [-1, 2, 2, -3], 7),
        Case(x(3, 4), []),
        Case(x(0, 4), [0, 0, 1, 1], 2),
        Case(cl(2, 3, 4, 5), [1, 1, 2, 0], -1),
        Case(x(), []),
    ],
    "aten::tril.out": lambda: [
        *every_size(4, 5),
        *[Case(x(2, 4, 3), k) for k in (-5, -2, 0, 1, 3, 2**40, -(2**40))],
        Case(x(0, 3)),
    ],
    "aten::triu.out": lambda: [
        *every_size(4, 5),
        *[Case(x(2, 4, 3), k) for k in (-5, -2, 0, 1, 3, 2**40, -(2**40))],
        Case(x(3, 0)),
    ],
    "aten::view_as_real_copy.out": lambda: (
        [Case(tensor(d, 3, 4)) for d in COMPLEX] + [Case(tensor(COMPLEX[0]))]
    ),
    "aten::view_as_complex_copy.out": lambda: [Case(x(3, 4, 2)), Case(x(2, dtype=torch.float64))],
    **{
        f"aten::{mode}_pad{n}d.out": (
            lambda n=n: [  # type: ignore[misc]
                *[
                    Case(tensor(d, 2, *range(4, 4 + n)), [1, 2] * n)
                    for d in (*FLOAT16_TYPES, *FLOATS, *COMPLEX)
                ],
                Case(x(2, 3, *range(4, 4 + n)), list(range(2 * n))[::-1] if n < 3 else [0, 1, 2, 3, 3, 0]),
                Case(x(2, 3, *[6] * n), [-1, 2] * n),
                Case(x(2, 3, *[6] * n), [3, -2] * n),
                Case(x(0, 3, *[6] * n), [1] * 2 * n),
                *([Case(x(2, 3, *[6] * n), [-6, 0, *[1] * (2 * n - 2)])] if n > 1 else []),
            ]
        )
        for mode in ("reflection", "replication")
        for n in (1, 2, 3)
    },
}


@pytest.mark.parametrize("name", CASES)
def test_shape(name: str) -> None:
    for case in CASES[name]():
        check(name, case)


LISTS: dict[str, list[tuple[list[object], Callable[[torch.Tensor], Sequence[torch.Tensor]]]]] = {
    "aten::split_copy.Tensor_out": [
        ([2, 0], lambda t: t.split(2, 0)),
        ([3, -1], lambda t: t.split(3, -1)),
        ([100, 1], lambda t: t.split(100, 1)),
    ],
    "aten::split_with_sizes_copy.out": [
        ([[1, 0, 4], 0], lambda t: t.split([1, 0, 4], 0)),
        ([[2, 4], -1], lambda t: t.split([2, 4], -1)),
    ],
    "aten::unbind_copy.int_out": [([0], lambda t: t.unbind(0)), ([-1], lambda t: t.unbind(-1))],
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("dtype", SIZES)
def test_parts(name: str, dtype: torch.dtype) -> None:
    source = tensor(dtype, 5, 6)
    for args, reference in LISTS[name]:
        wanted = [part.contiguous() for part in reference(source)]
        outs = [blank(part) for part in wanted]
        call_kernel(name, [source, *args, outs], "portable")
        assert_same(outs, wanted, f"{name} {args}")


@pytest.mark.parametrize("dtype", REAL)
def test_to_dim_order_copy_casts_and_lays_out_anew(dtype: torch.dtype) -> None:
    source = tensor(f32, 2, 3, 4, 5, low=0, high=100)
    out = torch.empty(2, 3, 4, 5, dtype=dtype).contiguous(memory_format=torch.channels_last)
    call_kernel("dim_order_ops::_to_dim_order_copy.out", [source, False, [0, 2, 3, 1], out], "portable")
    torch.testing.assert_close(out, source.to(dtype))


def test_clone_dim_order_lays_out_anew() -> None:
    source = cl(2, 3, 40, 50)
    for order, fmt in (
        ([0, 1, 2, 3], torch.contiguous_format),
        ([0, 2, 3, 1], torch.channels_last),
        (None, None),
    ):
        out = torch.empty(2, 3, 40, 50).contiguous(memory_format=fmt or torch.channels_last)
        call_kernel("dim_order_ops::_clone_dim_order.out", [source, False, order, out], "portable")
        assert torch.equal(out, source)
    with pytest.raises(RushlightError, match="dim order"):
        call_kernel("dim_order_ops::_clone_dim_order.out", [source, False, [0, 1, 2, 3], out], "portable")


def test_empty_dim_order_sets_the_shape() -> None:
    out = torch.empty(5, 6)
    shapes = call_kernel("dim_order_ops::_empty_dim_order.out", [[2, 3], [0, 1], out], "portable")
    assert shapes[-1] == (2, 3)


@pytest.mark.parametrize("name", ["et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"])
def test_device_copies_copy(name: str) -> None:
    source, out = x(3, 4), torch.zeros(3, 4)
    call_kernel(name, [source, out], "portable")
    assert torch.equal(out, source)


def test_views_of_channels_last_follow_the_order_of_indices() -> None:
    source, out = cl(2, 3, 4, 5), torch.empty(6, 20)
    call_kernel("aten::view_copy.out", [source, [6, 20], out], "portable")
    assert torch.equal(out, source.reshape(6, 20))


@pytest.mark.parametrize("threads", [1, 3])
def test_large_copies_on_threads(threads: int) -> None:
    source = x(300, 7, 1100)
    for dims in ([2, 1, 0], [1, 0, 2], [0, 2, 1]):
        out = torch.empty([source.shape[d] for d in dims])
        call_kernel("aten::permute_copy.out", [source, dims, out], "portable", threads)
        assert torch.equal(out, source.permute(dims))
    out = torch.empty(300 * 7 * 1100)
    call_kernel("aten::view_copy.out", [source, [-1], out], "portable", threads)
    assert torch.equal(out, source.flatten())


# Full cache-line blocks, partial blocks, strips that end inside a block, pixels with few channels.
@pytest.mark.parametrize("dtype", SIZES, ids=str)
@pytest.mark.parametrize(
    "shape",
    [(2, 64, 64), (3, 70, 130), (1, 129, 1100), (2, 2, 999), (2, 3, 257), (2, 4, 64), (2, 5, 65)],
    ids=str,
)
def test_transposes_of_all_element_sizes(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    source = torch.arange(2 * 130 * 1100)[: shape[0] * shape[1] * shape[2]].view(shape).to(dtype)
    for dims in ([0, 2, 1], [2, 0, 1], [2, 1, 0]):
        for given, order in ((source, dims), (source.mT.contiguous(), dims)):
            out = torch.empty([given.shape[d] for d in order], dtype=dtype)
            call_kernel("aten::permute_copy.out", [given, order, out], "portable", 2)
            assert torch.equal(out, given.permute(order))


@pytest.mark.parametrize("dtype", SIZES, ids=str)
@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 33, 100])
def test_rows_backwards_and_by_steps(dtype: torch.dtype, length: int) -> None:
    source = torch.arange(3 * length).view(3, length).to(dtype)
    out = torch.empty_like(source)
    call_kernel("aten::flip.out", [source, [1], out], "portable")
    assert torch.equal(out, source.flip(1))
    for step in (2, 3):
        expected = source[:, ::step].contiguous()
        out = torch.empty_like(expected)
        call_kernel("aten::slice_copy.Tensor_out", [source, 1, None, None, step, out], "portable")
        assert torch.equal(out, expected)


REFUSED: list[tuple[str, list[object], str]] = [
    ("aten::view_copy.out", [x(2, 3), [4, 2], x(4, 2)], "6 elements"),
    ("aten::view_copy.out", [x(2, 3), [-1, -1], x(4, 2)], "6 elements"),
    ("aten::view_copy.out", [x(2, 3), [-2, -3], x(3, 2)], "6 elements"),
    ("aten::view_copy.out", [x(2, 3), [6], x(6, dtype=torch.float64)], "float32 and float64"),
    ("aten::permute_copy.out", [x(2, 3), [0, 0], x(2, 3)], "named twice"),
    ("aten::permute_copy.out", [x(2, 3), [0, 2], x(2, 3)], "dim 2"),
    ("aten::select_copy.int_out", [x(2, 3), 0, 2, x(3)], "index 2"),
    ("aten::slice_copy.Tensor_out", [x(2, 3), 0, 0, 2, 0, x(2, 3)], "step"),
    ("aten::expand_copy.out", [x(2, 3), [2, 4], False, x(2, 4)], "cannot be expanded"),
    ("aten::cat.out", [[x(2, 3), x(3, 2)], 0, x(5, 3)], "differ in a dim"),
    ("aten::as_strided_copy.out", [x(4), [2], [4], 0, x(2)], "storage of 4"),
    ("aten::as_strided_copy.out", [x(4), [2], [2**62], 0, x(2)], "storage of 4"),
    ("aten::as_strided_copy.out", [x(4), [1], [1], -1, x(1)], "storage of 4"),
    ("aten::split_copy.Tensor_out", [x(4), 2, 0, [x(2)]], "2 parts"),
    ("aten::split_with_sizes_copy.out", [x(4), [2, 3], 0, [x(2), x(3)]], "do not sum"),
    ("aten::constant_pad_nd.out", [x(4), [-3, -2], 0, x(0)], "cannot be padded"),
    ("aten::unfold_copy.out", [x(4), 0, 5, 1, x(1, 5)], "windows of 5"),
    ("aten::repeat.out", [x(2, 2), [2], x(4)], "1 repeats"),
    ("aten::roll.out", [x(2, 2), [], [], x(2, 2)], "0 shifts"),
    ("aten::roll.out", [x(2, 2), [1, 2], [], x(2, 2)], "2 shifts"),
    ("aten::reflection_pad1d.out", [x(1, 4), [4, 0], x(1, 8)], "padded by 4"),
]


@pytest.mark.parametrize(("name", "args", "text"), REFUSED)
def test_refused(name: str, args: list[object], text: str) -> None:
    with pytest.raises(RushlightError, match=text):
        call_kernel(name, args, "portable")


@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32, torch.float64, torch.complex128])
def test_copies_of_short_rows(dtype: torch.dtype) -> None:
    """Short rows are copied in blocks: repeated rows or elements, rows with gaps, and reversed rows."""
    for rows, columns in ((700, 3), (3, 70), (2, 1), (301, 17), (0, 3), (40, 99)):
        x = tensor(dtype, rows, columns)
        check("aten::repeat.out", Case(x, [1, 5]))
        check("aten::repeat.out", Case(x, [2, 3, 4]))
        check("aten::expand_copy.out", Case(x.view(rows, 1, columns, 1), [rows, 4, columns, 3]))
        check("aten::flip.out", Case(x, [1]))
        check("aten::flip.out", Case(x, [0, 1]))
        check("aten::slice_copy.Tensor_out", Case(x, 1, 1, columns, 1))
        check("aten::slice_copy.Tensor_out", Case(x, 1, 0, columns, 2))
        check("aten::roll.out", Case(x, [1], [1]))
