"""The quantized operators have out variants, and are equal to dequantize, compute, quantize."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from rushlight.ir import quantized_ops
from rushlight.ir.out_variants import find_out_variant
from rushlight.ir.quantized_reference import exponentials, pack, unpack

qd = torch.ops.quantized_decomposed
rl = torch.ops.rushlight

FUNCTIONAL = [
    *(f"{ns}::{schema.partition('(')[0]}" for ns, table in quantized_ops._NEW.items() for schema in table),
    *(f"quantized_decomposed::{name}" for name in quantized_ops._OUT_VARIANTS.values()),
]


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_every_operator_has_an_out_variant(name: str) -> None:
    namespace, op = name.split("::")
    assert find_out_variant(quantized_ops._op(namespace, op)) is not None


def quantize(x: torch.Tensor, scale: float, zero: int) -> torch.Tensor:
    return qd.quantize_per_tensor(x, scale, zero, -128, 127, torch.int8)


def dequantize(q: torch.Tensor, scale: float, zero: int) -> torch.Tensor:
    return qd.dequantize_per_tensor(q, scale, zero, -128, 127, torch.int8)


def weights(*shape: int, axis: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    real = torch.randn(*shape)
    scales = real.abs().amax([dim for dim in range(len(shape)) if dim != axis]) / 127
    zeros = torch.zeros(shape[axis], dtype=torch.int64)
    q = qd.quantize_per_channel(real, scales, zeros, axis, -127, 127, torch.int8)
    return q, scales, qd.dequantize_per_channel(q, scales, zeros, axis, -127, 127, torch.int8)


def assert_within_a_quantum(got: torch.Tensor, expected: torch.Tensor) -> None:
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert (got.int() - expected.int()).abs().max() <= 1
    assert got.float().std() > 5


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolution(transposed: bool, groups: int) -> None:
    torch.manual_seed(0)
    x = quantize(torch.randn(2, 4, 9, 9), 0.03, 5)
    axis = 1 if transposed and groups == 1 else 0
    shape = (4, 6 // groups, 3, 3) if transposed else (6, 4 // groups, 3, 3)
    w, scales, real = weights(*shape, axis=axis)
    if transposed and groups == 2:
        w, scales = w, torch.full((6,), float(scales.max()))
        real = w * scales[0]
    bias = torch.randn(6)
    numbers = ([2, 1], [1, 0], [1, 2], transposed, [0, 0], groups)
    got = rl.quantized_convolution(x, 0.03, 5, w, scales, bias, *numbers, 0.1, -7, -7, 127)
    conv = torch.ops.aten.convolution(dequantize(x, 0.03, 5), real, bias, *numbers)
    assert_within_a_quantum(got, quantize(conv.relu(), 0.1, -7))


def test_linear() -> None:
    torch.manual_seed(0)
    x = quantize(torch.randn(3, 5, 16), 0.03, 5)
    w, scales, real = weights(7, 16)
    bias = torch.randn(7)
    got = rl.quantized_linear(x, 0.03, 5, w, scales, bias, 0.1, 3, -128, 127)
    assert_within_a_quantum(got, quantize(F.linear(dequantize(x, 0.03, 5), real, bias), 0.1, 3))


@pytest.mark.parametrize(("op", "real"), [(qd.add, torch.add), (rl.quantized_mul, torch.mul)])
def test_binary(op: object, real: object) -> None:
    torch.manual_seed(0)
    a, b = quantize(torch.randn(3, 8), 0.03, 5), quantize(torch.randn(8), 0.02, -4)
    got = op(a, 0.03, 5, -128, 127, b, 0.02, -4, -128, 127, 0.05, 2, -128, 127)  # type: ignore[operator]
    expected = real(dequantize(a, 0.03, 5), dequantize(b, 0.02, -4))  # type: ignore[operator]
    assert_within_a_quantum(got, quantize(expected, 0.05, 2))


def test_lookup() -> None:
    x = torch.arange(-128, 128, dtype=torch.int8)
    table = torch.flip(x, [0]).contiguous()
    assert torch.equal(rl.quantized_lookup(x, table), table)
    raised = torch.arange(256, dtype=torch.uint8)
    assert torch.equal(rl.quantized_lookup(raised, table), table)


def test_softmax() -> None:
    torch.manual_seed(0)
    x = quantize(torch.randn(3, 40), 0.03, 5)
    got = rl.quantized_softmax(x, exponentials(0.03), 1, 1 / 256, -128, -128, 127)
    assert_within_a_quantum(got, quantize(torch.softmax(dequantize(x, 0.03, 5), 1), 1 / 256, -128))
    # A table of zeros, which only a damaged program can have, does not cause infinite numbers.
    zeros = torch.zeros(256, dtype=torch.int32)
    assert (rl.quantized_softmax(x, zeros, 1, 1 / 256, -128, -128, 127) == -128).all()


@pytest.mark.parametrize("kind", ["tensor", "symmetric", "token", "symmetric token"])
def test_dynamic_linear(kind: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 5, 16) + 0.5
    w, scales, real = weights(7, 16)
    bias = torch.randn(7)
    eps = torch.finfo(torch.float32).eps
    got = rl.dynamic_linear(x, w, scales, bias, "token" in kind, "symmetric" in kind, -128, 127, eps)
    if "token" in kind:
        s, z = qd.choose_qparams_per_token_asymmetric(x, torch.int8)
        if "symmetric" in kind:
            s, z = rl.choose_qparams_per_token_symmetric(x, -128, 127, eps, torch.int8)
            for row, scale in zip(x.flatten(0, 1), s.flatten(), strict=True):
                expected = qd.choose_qparams_symmetric.tensor(row, -128, 127, eps, torch.int8)[0]
                assert scale == expected and not z.any()
        q = qd.quantize_per_token(x, s, z, -128, 127, torch.int8)
        rounded = qd.dequantize_per_token(q, s, z, -128, 127, torch.int8, torch.float32)
    else:
        choose = qd.choose_qparams_symmetric if kind == "symmetric" else qd.choose_qparams
        s, z = choose.tensor(x, -128, 127, eps, torch.int8)
        q = qd.quantize_per_tensor.tensor(x, s, z, -128, 127, torch.int8)
        rounded = qd.dequantize_per_tensor.tensor(q, s, z, -128, 127, torch.int8)
    torch.testing.assert_close(got, F.linear(rounded, real, bias), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bits", [2, 4])
def test_packed_numbers_come_back(bits: int) -> None:
    half = 1 << (bits - 1)
    weight = torch.randint(-half, half, (5, 8), dtype=torch.int8)
    packed = pack(weight, bits)
    assert packed.shape == (5, bits) and packed.dtype == torch.uint8
    assert torch.equal(unpack(packed, bits), weight)
    assert pack(torch.tensor([[-8, 7]], dtype=torch.int8), 4).item() == 0x0F


def test_4bit_operators_dequantize_by_group() -> None:
    torch.manual_seed(0)
    weight = torch.randint(-8, 8, (6, 32), dtype=torch.int8)
    scales = torch.rand(6, 4) + 0.1
    zeros = torch.zeros(6, 4)
    real = qd.dequantize_per_channel_group(weight, scales, zeros, -8, 7, torch.int8, 8, torch.float32)
    x, bias = torch.randn(3, 32), torch.randn(6)
    packed = pack(weight, 4)
    torch.testing.assert_close(rl.linear_4bit(x, packed, scales, None, bias), F.linear(x, real, bias))
    torch.testing.assert_close(qd.mixed_linear(x, weight, scales, None), F.linear(x, real))
    indices = torch.tensor([[3, 0], [5, 5]])
    torch.testing.assert_close(qd.embedding_4bit(packed, scales, None, -8, 7, indices), real[indices])
    torch.testing.assert_close(qd.embedding_byte(weight, scales, None, -8, 7, indices), real[indices])


def test_an_out_variant_writes_into_what_it_is_given() -> None:
    out = torch.empty(0, dtype=torch.int8)
    x = torch.randn(4, 4)
    qd.quantize_per_tensor.out(x, 0.1, 0, -128, 127, torch.int8, out=out)
    assert torch.equal(out, quantize(x, 0.1, 0))
    scale, zero = torch.empty(1, dtype=torch.float64), torch.empty(1, dtype=torch.int64)
    qd.choose_qparams.Tensor_out(x, -128, 127, 1e-6, torch.int8, scale_out=scale, zero_point_out=zero)
    expected = qd.choose_qparams.tensor(x, -128, 127, 1e-6, torch.int8)
    assert scale == expected[0] and zero == expected[1]


@pytest.mark.parametrize("name", ["embedding_byte", "embedding_4bit", "embedding_2bit"])
def test_an_out_variant_with_the_dtype_is_preferred(name: str) -> None:
    operator = getattr(torch.ops.quantized_decomposed, name)
    plain, typed = find_out_variant(operator.default), find_out_variant(operator.dtype)
    assert plain is not None and plain.op == operator.out
    assert typed is not None and typed.op == operator.dtype_out
