"""The operator that dequantizes packed 4-bit integers."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from rushlight.compat.llm_export import int4_ops  # noqa: F401  (defines the operator)

dequantize = torch.ops.torchao.dequantize_int4_tensor
PARTS = (
    torch.tensor([[0x21, 0xF0], [0x88, 0x7A]], dtype=torch.uint8),
    torch.tensor([[1.0, 0.5], [2.0, 4.0]]),
    torch.tensor([[0.0, 8.0], [1.0, 7.0]]),
)


def test_values() -> None:
    values = dequantize(*PARTS, 2, torch.float32)
    assert values.tolist() == [[1, 2, -2, 28], [0, 0, 12, 0]]
    assert dequantize(*PARTS, 2).dtype is torch.bfloat16


def test_shapes() -> None:
    with FakeTensorMode() as mode:
        value = dequantize(*map(mode.from_tensor, PARTS), 2, torch.float16)
    assert value.shape == (2, 4) and value.dtype is torch.float16
