"""Weights in the blocks of GGUF files: values, conversions, files, and models that are compiled with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from rushlight.compat.llm_export.gguf import Q4_K, Q5_K, Q6_K, ExportableGGUFTensor, iter_gguf, merged_groups
from rushlight.compat.llm_export.weight_conversion import fuse_along_output
from rushlight.compat.llm_export.weight_quantization import dequantize_weight
from rushlight.exir import to_edge_transform_and_lower
from rushlight.runtime import load

FORMATS = {"q4_k": Q4_K, "q5_k": Q5_K, "q6_k": Q6_K}
ROWS, BLOCKS = 3, 2


def make(kind: str) -> ExportableGGUFTensor:
    """Returns a matrix [3, 512] of random blocks, with values of the order of 1."""
    generator = torch.Generator().manual_seed(0)
    size = FORMATS[kind].size
    raw = torch.randint(0, 256, (ROWS * BLOCKS, size), dtype=torch.uint8, generator=generator)
    factors = torch.tensor([0.003, 0.02], dtype=torch.float16).view(torch.uint8)
    if kind == "q6_k":
        raw[:, -2:] = factors[:2]
    else:
        raw[:, :4] = factors
    return ExportableGGUFTensor.from_raw(raw.reshape(ROWS, BLOCKS * size), kind, torch.float32)


def values_of_block(block: np.ndarray, kind: str) -> list[np.float32]:
    """Computes the values of a block one by one, as `dequantize_row_*` of ggml does."""
    values = []
    if kind == "q6_k":
        low, high, scales = block[:128], block[128:192], block[192:208].view(np.int8)
        factor = np.float32(block[208:].view(np.float16)[0])
        for place in range(256):
            half, part, column = place // 128, place % 128 // 32, place % 32
            byte = int(low[64 * half + 32 * (part % 2) + column])
            integer = (byte >> 4 if part >= 2 else byte & 15) | (
                int(high[32 * half + column]) >> 2 * part & 3
            ) << 4
            values.append(factor * np.float32(scales[place // 16]) * np.float32(integer - 32))
        return values
    factor, factor_of_minimum = block[:4].view(np.float16).astype(np.float32)
    packed, high, low = [int(byte) for byte in block[4:16]], block[16:48], block[-128:]
    for place in range(256):
        group, column = place // 32, place % 32
        if group < 4:
            scale, minimum = packed[group] & 63, packed[group + 4] & 63
        else:
            scale = packed[group + 4] & 15 | packed[group - 4] >> 6 << 4
            minimum = packed[group + 4] >> 4 | packed[group] >> 6 << 4
        byte = int(low[32 * (group // 2) + column])
        integer = byte >> 4 if group % 2 else byte & 15
        if kind == "q5_k":
            integer |= (int(high[column]) >> group & 1) << 4
        values.append(
            factor * np.float32(scale) * np.float32(integer) - factor_of_minimum * np.float32(minimum)
        )
    return values


@pytest.mark.parametrize("kind", FORMATS)
def test_values(kind: str) -> None:
    tensor = make(kind)
    blocks = tensor.raw.reshape(ROWS * BLOCKS, -1).numpy()
    expected = torch.from_numpy(np.array([values_of_block(block, kind) for block in blocks]))
    assert tensor.shape == (3, 512) and torch.equal(tensor.dequantize(), expected.reshape(3, 512))
    half = tensor.to(torch.float16)
    assert torch.equal(half.raw, tensor.raw) and half.dtype == half.dequantize().dtype == torch.float16
    assert torch.equal(dequantize_weight(half), tensor.dequantize())
    with pytest.raises(AssertionError, match="not a float dtype"):
        tensor.to(torch.int8)


@pytest.mark.parametrize("kind", FORMATS)
def test_conversions_keep_the_values(kind: str) -> None:
    tensor = make(kind)
    integers = tensor.to_intx_unpacked_to_int8_tensor(scale_dtype=torch.float32)
    assert integers.block_size == (1, FORMATS[kind].group_size)
    torch.testing.assert_close(integers.dequantize(), tensor.dequantize(), atol=1e-5, rtol=1e-5)
    default = tensor.to_intx_unpacked_to_int8_tensor()
    assert default.dtype == default.scale.dtype == torch.float16
    if kind == "q4_k":
        packed = tensor.to_exportable_int4_tensor()
        torch.testing.assert_close(packed.dequantize(), tensor.dequantize(), atol=1e-5, rtol=1e-5)
    else:
        with pytest.raises(NotImplementedError, match=f"blocks of {kind} have more than 4 bits"):
            tensor.to_exportable_int4_tensor()


def test_equal_groups_are_merged() -> None:
    tensor = make("q6_k")
    tensor.raw.reshape(ROWS * BLOCKS, -1)[:, 192:208] = torch.arange(16, dtype=torch.uint8) // 4 + 1
    merged = tensor.to_intx_unpacked_to_int8_tensor(max_group_size=128, scale_dtype=torch.float32)
    assert merged.block_size == (1, 64) and torch.equal(merged.dequantize(), tensor.dequantize())
    ones, pairs = torch.ones(2, 8), torch.tensor([[1.0, 1, 2, 2, 3, 3, 4, 4]] * 2)
    assert merged_groups(ones, ones, 32, 128)[0] == 128
    assert merged_groups(ones, ones, 32, 100)[0] == 64
    group, scale, _ = merged_groups(pairs, ones, 32, 128)
    assert group == 64 and torch.equal(scale, torch.tensor([[1.0, 2, 3, 4]] * 2))
    assert merged_groups(ones, torch.arange(16.0).reshape(2, 8), 32, 128)[0] == 32
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(ones)
        assert merged_groups(fake, fake, 32, 128) == (32, fake, fake)


def test_concatenation() -> None:
    tensor = make("q5_k")
    fused = fuse_along_output([tensor, tensor])
    assert isinstance(fused, ExportableGGUFTensor)
    assert torch.equal(fused.dequantize(), torch.cat([tensor.dequantize()] * 2))


def test_wrong_blocks() -> None:
    with pytest.raises(NotImplementedError, match="'q2_k' is not one of q4_k, q5_k, q6_k"):
        ExportableGGUFTensor.from_raw(torch.zeros(1, 84, dtype=torch.uint8), "q2_k")
    for raw in (
        torch.zeros(1, 100, dtype=torch.uint8),
        torch.zeros(1, 144),
        torch.zeros(144, dtype=torch.uint8),
    ):
        with pytest.raises(ValueError, match="rows of q4_k are uint8, with blocks of 144 bytes"):
            ExportableGGUFTensor.from_raw(raw, "q4_k")


class Model(nn.Module):
    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)

    def forward(self, x: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return nn.functional.linear(x, self.weight), nn.functional.embedding(tokens, self.weight)


@pytest.mark.parametrize("kind", [*FORMATS, "int4", "q6_k integers"])
def test_a_model_is_compiled(kind: str) -> None:
    tensor: Any = make(kind if kind in FORMATS else "q4_k" if kind == "int4" else "q6_k")
    inputs = torch.randn(2, 512), torch.tensor([2, 0])
    expected = nn.functional.linear(inputs[0], tensor.dequantize()), tensor.dequantize()[inputs[1]]
    if kind == "int4":
        tensor = tensor.to_exportable_int4_tensor()
    elif kind not in FORMATS:
        tensor = tensor.to_intx_unpacked_to_int8_tensor(scale_dtype=torch.float32)
    program = torch.export.export(Model(tensor), inputs)
    if kind in FORMATS:
        assert "torchao.dequantize_gguf" in program.run_decompositions({}).graph_module.code
    buffer = to_edge_transform_and_lower(program).to_executorch().buffer
    for result, wanted in zip(load(buffer)(*inputs), expected, strict=True):
        torch.testing.assert_close(result, wanted, atol=1e-4, rtol=1e-4)


def test_files(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = str(tmp_path / "weights.gguf")
    writer = gguf.GGUFWriter(path, "test")
    floats = {dtype: np.arange(6, dtype=dtype).reshape(2, 3) for dtype in ("float16", "float32")}
    for name, data in floats.items():
        writer.add_tensor(name, data)
    tensor = make("q4_k")
    kind = gguf.GGMLQuantizationType.Q4_K
    writer.add_tensor("blocks", tensor.raw.numpy(), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = dict(iter_gguf(path))
    for name, data in floats.items():
        assert torch.equal(found[name], torch.from_numpy(data))
    blocks = found["blocks"]
    assert isinstance(blocks, ExportableGGUFTensor) and blocks.ggml_type == "q4_k"
    assert torch.equal(blocks.dequantize(torch.float32), tensor.dequantize())


def test_a_file_needs_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ImportError, match="pip install gguf"):
        next(iter_gguf("weights.gguf"))
