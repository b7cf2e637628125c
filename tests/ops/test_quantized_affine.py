"""quantized_decomposed: every kernel that quantizes or dequantizes has the same bits as eager PyTorch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (defines quantized_decomposed)

from rushlight.ir import quantized_ops  # noqa: F401  (defines the operators of rushlight)
from rushlight.runtime import call_kernel

RANGES = {
    torch.uint8: (0, 255),
    torch.int8: (-128, 127),
    torch.int16: (-32768, 32767),
    torch.uint16: (0, 65535),
    torch.int32: (-(2**31), 2**31 - 1),
}
INPUTS = (torch.float32, torch.float16, torch.bfloat16)
RESULTS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
SHAPES = [(), (1,), (0,), (7,), (3, 0, 5), (5, 33), (2, 3, 4, 5), (1, 2, 3, 4, 5), (70000,)]
eager = torch.ops.quantized_decomposed


def run(name: str, args: Sequence[Any], wanted: Sequence[torch.Tensor], threads: int = 2) -> None:
    """Requires the bits and the layout of `wanted`, with the quantized library and with the default one."""
    for library in ("quantized", None):
        outs = [torch.empty_like(w).fill_(77) for w in wanted]
        full_name = name if "::" in name else f"quantized_decomposed::{name}"
        call_kernel(full_name, [*args, *outs], library, threads=threads)  # type: ignore[arg-type]
        for out, want in zip(outs, wanted, strict=True):
            if want.is_floating_point():
                torch.testing.assert_close(out, want, rtol=0, atol=0, equal_nan=True, check_stride=False)
            else:
                assert torch.equal(out, want), (name, library, out, want)


def reals(shape: Sequence[int], dtype: torch.dtype, spread: float = 5.0) -> torch.Tensor:
    torch.manual_seed(len(shape))
    return (torch.randn(tuple(shape)) * spread).to(dtype)


def wholes(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    low, high = RANGES[dtype]
    low, high = max(low, -(2**24)), min(high, 2**24)
    return torch.randint(low, high + 1, tuple(shape), generator=torch.Generator().manual_seed(3)).to(dtype)


@pytest.mark.parametrize("to", RANGES)
@pytest.mark.parametrize("dtype", INPUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_quantize_per_tensor(shape: tuple[int, ...], dtype: torch.dtype, to: torch.dtype) -> None:
    low, high = RANGES[to]
    x = reals(shape, dtype)
    for scale, zero, least, most in [
        (0.037, 3, low, high),
        (0.5, 0 if low == 0 else -3, low, high),
        (1.7, 10, 2, 100),
    ]:
        args: list[Any] = [x, scale, zero, least, most, to]
        want = eager.quantize_per_tensor(*args)
        run("quantize_per_tensor.out", args, [want])
        scale_tensor, zero_tensor = torch.tensor([scale], dtype=torch.float64), torch.tensor([zero])
        args[1:3] = scale_tensor, zero_tensor
        run("quantize_per_tensor.Tensor_out", args, [want])
        args[3:5] = torch.tensor(least), torch.tensor([most])
        run("quantize_per_tensor.tensor2_out", args, [want])


def test_quantize_rounds_ties_to_even_and_takes_infinities_and_nan() -> None:
    ties = torch.arange(-40, 40) * 0.25
    odd = torch.tensor([math.inf, -math.inf, math.nan, 1e30, -1e30, 8388607.5, -0.0, 1e-45, 4194304.5])
    for x in (ties, odd, torch.cat([odd] * 9)):
        for to in (torch.uint8, torch.int8, torch.int16, torch.int32):
            args = [x, 0.5, 1, *RANGES[to], to]
            run("quantize_per_tensor.out", args, [eager.quantize_per_tensor(*args)])


def test_quantize_keeps_the_layout() -> None:
    x = reals((2, 5, 6, 7), torch.float32).to(memory_format=torch.channels_last)
    args: list[Any] = [x, 0.05, -3, -128, 127, torch.int8]
    q = eager.quantize_per_tensor(*args)
    assert q.is_contiguous(memory_format=torch.channels_last)
    run("quantize_per_tensor.out", args, [q])
    back: list[Any] = [q, 0.05, -3, -128, 127, torch.int8, None]
    run("dequantize_per_tensor.out", back, [eager.dequantize_per_tensor(*back[:6])])
    scales, zeros = torch.rand(5) + 0.01, torch.arange(5)
    per_channel: list[Any] = [x, scales, zeros, 1, -128, 127, torch.int8]
    q = eager.quantize_per_channel(*per_channel).contiguous(memory_format=torch.channels_last)
    run("quantize_per_channel.out", per_channel, [q])
    back = [q, scales, zeros, 1, -128, 127, torch.int8, None]
    want = eager.dequantize_per_channel(*back[:7]).contiguous(memory_format=torch.channels_last)
    run("dequantize_per_channel.out", back, [want])


@pytest.mark.parametrize("result", [None, *RESULTS])
@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize("shape", SHAPES)
def test_dequantize_per_tensor(
    shape: tuple[int, ...], dtype: torch.dtype, result: torch.dtype | None
) -> None:
    q = wholes(shape, dtype)
    for scale, zero in [(0.037, 3), (1.7, -5), (0.5, 0)]:
        args: list[Any] = [q, scale, zero, *RANGES[dtype], dtype]
        want = eager.dequantize_per_tensor(*args, out_dtype=result)
        run("dequantize_per_tensor.out", [*args, result], [want])
        args[1:3] = torch.tensor([scale], dtype=torch.float64), torch.tensor([zero])
        run("dequantize_per_tensor.Tensor_out", [*args, result], [want])
        args[3:5] = torch.tensor(0), torch.tensor(1)
        run("dequantize_per_tensor.tensor2_out", [*args, result], [want])


@pytest.mark.parametrize("scale_type", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("dtype", INPUTS)
@pytest.mark.parametrize("to", RANGES)
def test_quantize_per_channel(to: torch.dtype, dtype: torch.dtype, scale_type: torch.dtype) -> None:
    for shape, axis in [
        ((5,), 0),
        ((4, 33), 0),
        ((4, 33), 1),
        ((2, 3, 4, 5), 1),
        ((2, 3, 0), 1),
        ((3, 2), -1),
    ]:
        scales = (torch.rand(shape[axis]) + 0.02).to(scale_type)
        for zeros in (torch.arange(shape[axis]), torch.arange(shape[axis], dtype=torch.int32)):
            args: list[Any] = [reals(shape, dtype), scales, zeros, axis, *RANGES[to], to]
            run("quantize_per_channel.out", args, [eager.quantize_per_channel(*args)])


@pytest.mark.parametrize("result", [None, *RESULTS])
@pytest.mark.parametrize("scale_type", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_dequantize_per_channel(
    dtype: torch.dtype, scale_type: torch.dtype, result: torch.dtype | None
) -> None:
    for shape, axis in [((5,), 0), ((4, 33), 0), ((4, 33), 1), ((2, 3, 4, 5), 1), ((3, 2), -1)]:
        scales = (torch.rand(shape[axis]) + 0.02).to(scale_type)
        count = shape[axis]
        for zeros in (None, torch.arange(count), torch.arange(count).int(), torch.rand(count)):
            args: list[Any] = [wholes(shape, dtype), scales, zeros, axis, *RANGES[dtype], dtype]
            want = eager.dequantize_per_channel(*args, out_dtype=result)
            run("dequantize_per_channel.out", [*args, result], [want.contiguous()])


@pytest.mark.parametrize("scale_type", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("dtype", [*INPUTS, torch.float64])
@pytest.mark.parametrize("to", [torch.int8, torch.uint8, torch.int16, torch.int32])
def test_per_token_and_per_group(to: torch.dtype, dtype: torch.dtype, scale_type: torch.dtype) -> None:
    low, high = RANGES[to]
    low, high = max(low, -32768), min(high, 32767)
    for shape in [(7,), (5, 16), (2, 3, 8), (3, 0, 4), (2, 300)]:
        parts = (*shape[:-1], 1)
        scales = (torch.rand(parts) + 0.02).to(scale_type)
        for zeros in (torch.randint(-5, 5, parts), torch.randint(-5, 5, parts).to(scale_type)):
            args: list[Any] = [reals(shape, dtype), scales, zeros, low, high, to]
            run("quantize_per_token.out", args, [eager.quantize_per_token(*args)])
            for result in RESULTS:
                back: list[Any] = [wholes(shape, to), scales, zeros, low, high, to, result]
                run("dequantize_per_token.out", back, [eager.dequantize_per_token(*back)])
    for shape, group in [((4, 32), 8), ((3, 64), 64), ((1, 6), 2), ((5, 12), 20)]:
        parts = (shape[0], max(1, shape[1] // group))
        scales = (torch.rand(parts) + 0.02).to(scale_type)
        zeros = torch.randint(-5, 5, parts)
        args = [reals(shape, dtype), scales, zeros, low, high, to, group]
        run("quantize_per_channel_group.out", args, [eager.quantize_per_channel_group(*args)])
        for result in RESULTS:
            for points in (zeros, None):
                back = [wholes(shape, to), scales, points, low, high, to, group, result]
                run("dequantize_per_channel_group.out", back, [eager.dequantize_per_channel_group(*back)])


RANGED = [
    (torch.int8, -128, 127),
    (torch.int8, -127, 127),
    (torch.uint8, 0, 255),
    (torch.int16, -32768, 32767),
]


@pytest.mark.parametrize("dtype", INPUTS)
@pytest.mark.parametrize("to,low,high", RANGED)
def test_choose_qparams(to: torch.dtype, low: int, high: int, dtype: torch.dtype) -> None:
    for shape in [(), (1,), (40,), (3, 70), (2, 3, 4, 5)]:
        for shift in (0.0, 20.0, -20.0):
            x = (reals(shape, torch.float32) + shift).to(dtype)
            for data in (x, torch.zeros_like(x)):
                for eps in (1.1920928955078125e-07, 0.01):
                    args: list[Any] = [data, low, high, eps, to]
                    run("choose_qparams.Tensor_out", args, eager.choose_qparams.tensor(*args))
                    run(
                        "choose_qparams_symmetric.Tensor_out",
                        args,
                        eager.choose_qparams_symmetric.tensor(*args),
                    )


@pytest.mark.parametrize("dtype", [*INPUTS, torch.float64])
def test_choose_qparams_per_token(dtype: torch.dtype) -> None:
    for shape in [(9,), (5, 33), (2, 3, 17)]:
        for shift in (0.0, 20.0, -20.0):
            x = (reals(shape, torch.float32) + shift).to(dtype)
            x[..., :1] = 0
            rows = torch.cat([x, torch.zeros_like(x), torch.full_like(x, 3e4)])
            args: list[Any] = [rows, torch.int8]
            scale, zero = eager.choose_qparams_per_token_asymmetric(*args)
            run("choose_qparams_per_token_asymmetric.out", args, [scale, zero])
            scale, zero = eager.choose_qparams_per_token(*args)
            run("choose_qparams_per_token.out", args, [scale, zero])
            run("choose_qparams_per_token.out", args, [scale.double(), zero.long()])


@pytest.mark.parametrize("bounds", [(-128, 127), (-64, 63)])
def test_choose_qparams_per_token_symmetric(bounds: tuple[int, int]) -> None:
    for shape in [(9,), (5, 33), (2, 3, 17), (0, 4)]:
        x = reals(shape, torch.float32)
        args: list[Any] = [torch.cat([x, x * 0, x * 1e-9, x * math.nan]), *bounds, 1e-7, torch.int8]
        wanted = torch.ops.rushlight.choose_qparams_per_token_symmetric(*args)
        run("rushlight::choose_qparams_per_token_symmetric.out", args, wanted)


def test_fake_quant_per_channel_and_convert_element_type() -> None:
    for shape, axis in [((5,), 0), ((4, 33), 1), ((2, 3, 4, 5), 1)]:
        scales, zeros = torch.rand(shape[axis]) + 0.02, torch.arange(shape[axis]) - 2
        args: list[Any] = [reals(shape, torch.float32), scales, zeros, axis, -128, 127]
        run("fake_quant_per_channel.out", args, [eager.fake_quant_per_channel(*args)])
        args[1] = scales.double()
        run("fake_quant_per_channel.out", args, [eager.fake_quant_per_channel(*args)])
    for to in (torch.float32, torch.float16, torch.int32):
        x = reals((3, 7), torch.bfloat16)
        run("convert_element_type.no_fuse_out", [x, to], [eager.convert_element_type.no_fuse(x, to)])


X = torch.ones(2, 6)
Q = torch.ones(2, 6, dtype=torch.int8)


@pytest.mark.parametrize(
    "name,args,out,said",
    [
        ("quantize_per_tensor.out", [X, 0.1, 0, -129, 127, torch.int8], Q, "range"),
        ("quantize_per_tensor.out", [X, 0.1, 0, 0, 127, torch.uint8], Q, "int8, not uint8"),
        ("quantize_per_tensor.out", [X, 0.1, 0, 0, 1, torch.int64], Q.long(), "int64"),
        ("quantize_per_tensor.Tensor_out", [X, torch.ones(2), torch.ones(1), 0, 9, torch.int8], Q, "not one"),
        ("dequantize_per_tensor.out", [Q, 0.1, 0, 0, 9, torch.uint8, None], X, "int8, not uint8"),
        ("quantize_per_channel.out", [X, torch.ones(3), torch.ones(3), 1, 0, 9, torch.int8], Q, "6 parts"),
        ("quantize_per_channel.out", [X, torch.ones(6), torch.ones(6), 2, 0, 9, torch.int8], Q, "dim"),
        ("quantize_per_token.out", [X, torch.ones(3), torch.ones(2), 0, 9, torch.int8], Q, "2 parts"),
        (
            "quantize_per_channel_group.out",
            [X, torch.ones(2, 2), torch.ones(2, 2), 0, 9, torch.int8, 4],
            Q,
            "of 4",
        ),
    ],
)
def test_what_does_not_fit_is_said(name: str, args: list[Any], out: torch.Tensor, said: str) -> None:
    with pytest.raises(Exception, match=said):
        call_kernel(f"quantized_decomposed::{name}", [*args, out], "quantized")


@pytest.mark.parametrize("name", ["choose_qparams", "choose_qparams_symmetric"])
def test_a_range_of_nothing_is_refused(name: str) -> None:
    outs = [torch.ones(1, dtype=torch.float64), torch.ones(1, dtype=torch.int64)]
    with pytest.raises(Exception, match="no range"):
        call_kernel(
            f"quantized_decomposed::{name}.Tensor_out",
            [torch.ones(0), -128, 127, 1e-5, torch.int8, *outs],
            "quantized",
        )


@pytest.mark.parametrize("name", ["choose_qparams", "choose_qparams_symmetric"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_ranges_without_end_are_eagers(name: str, value: float) -> None:
    outs = [torch.ones(1, dtype=torch.float64), torch.ones(1, dtype=torch.int64)]
    arguments = [torch.tensor([1.0, value, -2.0]), -128, 127, 1e-5, torch.int8]
    call_kernel(f"quantized_decomposed::{name}.Tensor_out", [*arguments, *outs], "quantized")
    scale, zero_point = getattr(torch.ops.quantized_decomposed, name).tensor(*arguments)
    torch.testing.assert_close(outs[0], scale, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(outs[1], zero_point)
