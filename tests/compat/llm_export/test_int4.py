"""Weights of packed 4-bit integers: their values, and models that are exported and compiled with them."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torchao.quantization import IntxUnpackedToInt8Tensor

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compat.llm_export.int4 import ExportableInt4Tensor
from rushlight.exir import to_edge_transform_and_lower
from rushlight.runtime import load

GROUP = 8
INT4: torch.dtype = torch.int4  # type: ignore[attr-defined]


def packed(dtype: torch.dtype = torch.float32) -> tuple[ExportableInt4Tensor, torch.Tensor]:
    """Returns a tensor [6, 32], and its values computed one by one."""
    generator = torch.Generator().manual_seed(0)
    integers = torch.randint(0, 16, (6, 32), generator=generator)
    scale = torch.rand(4, 6, generator=generator) + 0.5
    zero = torch.randint(0, 16, (4, 6), generator=generator).float()
    qdata = torch.zeros(6, 16, dtype=torch.uint8)
    values = torch.empty(6, 32)
    for row in range(6):
        for column in range(32):
            qdata[row, column // 2] += integers[row, column] * (16 if column % 2 else 1)
            group = column // GROUP
            values[row, column] = (integers[row, column] - zero[group, row]) * scale[group, row]
    return ExportableInt4Tensor(qdata, scale, zero, GROUP, dtype), values


def test_values() -> None:
    tensor, values = packed()
    assert tensor.shape == (6, 32) and tensor.dtype is torch.float32
    torch.testing.assert_close(tensor.dequantize(), values)
    assert tensor.dequantize(torch.float16).dtype is torch.float16
    torch.testing.assert_close(tensor.t(), values.t())


def test_another_dtype_keeps_the_integers() -> None:
    tensor, values = packed()
    half = tensor.to(torch.float16)
    assert half.dtype is half.scale.dtype is torch.float16 and torch.equal(half.qdata, tensor.qdata)
    torch.testing.assert_close(half.dequantize().float(), values, atol=0.02, rtol=0.01)
    with pytest.raises(AssertionError, match="torch.int32 is not a float dtype"):
        tensor.to(torch.int32)


def test_tensors_of_torchao() -> None:
    torch.manual_seed(0)
    parts = torch.randint(-8, 8, (6, 32), dtype=torch.int8), torch.rand(6, 4), torch.zeros(6, 4)
    unpacked = IntxUnpackedToInt8Tensor(*parts, INT4, (1, GROUP), torch.float32, None)
    tensor = ExportableInt4Tensor.from_intx_unpacked_to_int8_tensor(unpacked)
    torch.testing.assert_close(tensor.dequantize(), unpacked.dequantize())
    for dtype, activations, message in (
        (torch.int8, None, "torch.int8 cannot be packed"),
        (INT4, "int8_asym_per_token", "quantizes activations"),
    ):
        other = IntxUnpackedToInt8Tensor(*parts, dtype, (1, GROUP), torch.float32, activations)
        with pytest.raises(ValueError, match=message):
            ExportableInt4Tensor.from_intx_unpacked_to_int8_tensor(other)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.linear = nn.Embedding(6, 32), nn.Linear(32, 6)

    def forward(self, x: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.linear(x), self.embedding(tokens)


@pytest.mark.parametrize("in_xnnpack", [False, True])
def test_a_model_is_compiled(in_xnnpack: bool) -> None:
    tensor, values = packed()
    model, inputs = Model(), (torch.randn(3, 32), torch.tensor([5, 0, 2]))
    model.embedding.weight = model.linear.weight = nn.Parameter(tensor, requires_grad=False)
    expected = nn.functional.linear(inputs[0], values, model.linear.bias), values[inputs[1]]
    program = torch.export.export(model, inputs)
    assert "torchao.dequantize_int4_tensor" in program.run_decompositions({}).graph_module.code
    partitioner = [XnnpackPartitioner()] if in_xnnpack else None
    manager = to_edge_transform_and_lower(program, partitioner=partitioner)
    results = load(manager.to_executorch().buffer)(*inputs)
    for result, wanted in zip(results, expected, strict=True):
        torch.testing.assert_close(result, wanted, atol=1e-4, rtol=1e-4)
