"""Linear layers and embeddings are fused to operators that read integer weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.passes.support import counted, quantized_edge
from torch.export import ExportedProgram, export
from torch.nn import functional as F
from torchao.quantization import quantize_
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.quant_api import IntxWeightOnlyConfig
from torchao.quantization.quant_primitives import MappingType

import rushlight
from rushlight.exir import to_edge
from rushlight.ir.edge_ops import is_op
from rushlight.passes.fuse_quantized_weights import fuse_quantized_weights
from rushlight.passes.quantized_rewriter import Rewriter
from rushlight.quantize import (
    dynamic_int8,
    dynamic_int8_weight_int4,
    weight_only_int4,
    weight_only_int8,
)

qd = torch.ops.quantized_decomposed
rl = torch.ops.rushlight


class Text(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(20, 64)
        self.up = torch.nn.Linear(64, 128)
        self.down = torch.nn.Linear(128, 64, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids)
        return x + self.down(F.gelu(self.up(x)))


def fused(edge: ExportedProgram) -> ExportedProgram:
    rewriter = Rewriter(edge, lambda op, dtype: True)
    fuse_quantized_weights(rewriter)
    assert rewriter.changed
    edge.graph.eliminate_dead_code()
    edge.graph_module.recompile()
    return edge


@pytest.mark.parametrize(
    ("config", "op", "embedding"),
    [
        (dynamic_int8(), rl.dynamic_linear.default, qd.embedding_byte.default),
        (dynamic_int8(per_token=True), rl.dynamic_linear.default, qd.embedding_byte.default),
        (dynamic_int8(per_channel=False), rl.dynamic_linear.default, None),
        (dynamic_int8_weight_int4(), rl.dynamic_linear_4bit.default, qd.embedding_4bit.default),
        (weight_only_int8(), qd.mixed_linear.default, qd.embedding_byte.default),
        (weight_only_int8(group_size=32), qd.mixed_linear.default, qd.embedding_byte.default),
        (weight_only_int4(), rl.linear_4bit.default, qd.embedding_4bit.default),
    ],
)
def test_weights_stay_whole_numbers(config: Any, op: Any, embedding: Any) -> None:
    torch.manual_seed(0)
    inputs = (torch.randint(0, 20, (2, 5)),)
    program, edge = quantized_edge(Text(), inputs, config)
    result = fused(edge)
    found = counted(result)
    assert found[op] == 2
    if embedding is not None:
        assert found[embedding] == 1
        assert not any(op is not None and "dequantize" in str(op) for op in found)
    torch.testing.assert_close(result.module()(*inputs), program.module()(*inputs), rtol=2e-2, atol=2e-2)


def test_four_bits_are_stored_as_two_a_byte() -> None:
    inputs = (torch.randint(0, 20, (2, 5)),)
    result = fused(quantized_edge(Text(), inputs, weight_only_int4())[1])
    stored = {
        name: value
        for name, value in result.state_dict.items()
        if value.dtype == torch.uint8 and any(node.target == name for node in result.graph.nodes)
    }
    assert sorted(tuple(value.shape) for value in stored.values()) == [(20, 32), (64, 64), (128, 32)]


def test_a_target_without_4_bits_gets_8() -> None:
    inputs = (torch.randint(0, 20, (2, 5)),)
    _, edge = quantized_edge(Text(), inputs, dynamic_int8_weight_int4())
    fuse_quantized_weights(Rewriter(edge, lambda op, dtype: "4bit" not in op))
    edge.graph.eliminate_dead_code()
    found = counted(edge)
    assert found[rl.dynamic_linear.default] == 2 and found[rl.dynamic_linear_4bit.default] == 0


@pytest.mark.parametrize("mapping", ["SYMMETRIC", "ASYMMETRIC"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("group", [32, None])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_embeddings_of_torchao(bits: int, group: int | None, dtype: torch.dtype, mapping: str) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(10, 64)).to(dtype)
    config = IntxWeightOnlyConfig(
        weight_dtype=getattr(torch, f"int{bits}"),
        granularity=PerAxis(0) if group is None else PerGroup(group),
        mapping_type=MappingType[mapping],
    )
    quantize_(model, config, lambda module, name: isinstance(module, torch.nn.Embedding))
    inputs = (torch.tensor([1, 2, 3]),)
    exported = export(model, inputs)
    result = fused(to_edge(exported).exported_program())
    operator = {2: qd.embedding_2bit, 4: qd.embedding_4bit, 8: qd.embedding_byte}[bits]
    target = operator.default if dtype == torch.float32 else operator.dtype
    node = next(node for node in result.graph.nodes if is_op(node, target))
    assert (node.args[2] is not None) == (mapping == "ASYMMETRIC")
    assert not any("dequantize" in str(op) for op in counted(result))
    expected = model(*inputs)
    torch.testing.assert_close(result.module()(*inputs), expected)
    program = to_edge(exported).to_executorch()
    name = operator._qualified_op_name
    assert name in {op.name for op in program.executorch_program.execution_plan[0].operators}
    torch.testing.assert_close(torch.as_tensor(rushlight.load(program)(*inputs)), expected)
