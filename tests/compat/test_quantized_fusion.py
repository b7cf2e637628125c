"""Fusion of quantized operators as a pass."""

from __future__ import annotations

import pytest
import torch
from torch.export import export

from rushlight.backends.xnnpack.quantizer import XNNPACKQuantizer
from rushlight.compat.quantized_fusion import (
    QuantFusionPass,
    get_node_value_dict,
    quant_fusion_and_const_prop_pass,
)
from rushlight.compiler.config import EdgeCompileConfig
from rushlight.compiler.edge import EdgeProgramManager
from rushlight.exir import to_edge
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import static_int8


class Sum(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 5))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y + self.weight.exp()


def quantized() -> EdgeProgramManager:
    inputs = (torch.randn(3, 5), torch.randn(3, 5))
    program = quantize(Sum(), inputs, XNNPACKQuantizer().set_global(static_int8()), [inputs])
    return to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))


def names(manager: EdgeProgramManager) -> list[str]:
    nodes = manager.exported_program().graph.nodes
    return [getattr(node.target, "__name__", "") for node in nodes if node.op == "call_function"]


def test_the_pass_fuses() -> None:
    manager = quantized()
    assert names(manager).count("aten.add.Tensor") == 2
    fused = manager.transform([QuantFusionPass(_fix_node_meta_val=True)])
    assert names(fused).count("quantized_decomposed.add.default") == 2
    assert "aten.add.Tensor" not in names(fused)
    assert "executorch_exir_dialects_edge__ops_quantized_decomposed_add_default" in str(
        fused.exported_program().graph_module.code
    )
    operators = fused.to_executorch().executorch_program.execution_plan[0].operators
    assert "quantized_decomposed::add" in {operator.name for operator in operators}
    x, y = torch.randn(3, 5), torch.randn(3, 5)
    before, after = (m.exported_program().module()(x, y) for m in (manager, fused))
    torch.testing.assert_close(after, before, atol=0.05, rtol=0)


def test_given_values_must_be_those_of_the_program() -> None:
    manager = quantized()
    values = get_node_value_dict(manager.exported_program())
    (name,) = (name for name, tensor in values.items() if tensor.shape == (3, 5))
    fused = manager.transform([QuantFusionPass(node_value_dict=values)])
    assert names(fused).count("quantized_decomposed.add.default") == 2
    with pytest.raises(ValueError, match=f"another tensor as '{name}'"):
        manager.transform([QuantFusionPass(node_value_dict={name: values[name] + 1})])
    with pytest.raises(ValueError, match="no tensor named 'missing'"):
        manager.transform([QuantFusionPass(node_value_dict={"missing": values[name]})])
    with pytest.raises(ValueError, match="_fix_node_meta_val=False"):
        QuantFusionPass(_fix_node_meta_val=False)


def test_constants_are_computed_too() -> None:
    manager = quantized()
    program = quant_fusion_and_const_prop_pass(manager.exported_program())
    found = [getattr(node.target, "__name__", "") for node in program.graph.nodes]
    assert "quantized_decomposed.add.default" in found and "aten.add.Tensor" in names(manager)
    plain = to_edge(export(Sum(), (torch.ones(3, 5), torch.ones(3, 5)))).exported_program()
    program = quant_fusion_and_const_prop_pass(plain)
    found = [node.target.__name__ for node in program.graph.nodes if node.op == "call_function"]
    assert found == ["aten.add.Tensor", "aten.add.Tensor"]


def test_values_by_placeholder() -> None:
    module = Sum()
    program = export(module, (torch.ones(3, 5), torch.ones(3, 5)))
    values = get_node_value_dict(program)
    assert list(values) == ["p_weight"] and torch.equal(values["p_weight"], module.weight)


class Quantizing(torch.nn.Module):
    """An embedding whose weight is quantized in the program."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(6, 4))
        self.register_buffer("scales", self.weight.detach().amax(1) / 255)
        self.register_buffer("zeros", torch.arange(6.0))

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        given = (self.scales, self.zeros, 0, 0, 255, torch.uint8)
        stored = torch.ops.quantized_decomposed.quantize_per_channel(self.weight, *given)
        weight = torch.ops.quantized_decomposed.dequantize_per_channel(stored, *given)
        return torch.nn.functional.embedding(indices, weight)


def test_an_embedding_whose_weight_is_quantized_by_the_program() -> None:
    indices = torch.tensor([[3, 0], [5, 3]])
    module = Quantizing()
    exported = export(module, (indices,))
    manager = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    fused = manager.transform([QuantFusionPass(_fix_node_meta_val=True)])
    found = names(fused)
    assert found == [
        "quantized_decomposed.quantize_per_channel.default",
        "quantized_decomposed.embedding_byte.default",
    ]
    torch.testing.assert_close(fused.exported_program().module()(indices), module(indices))
    operators = fused.to_executorch().executorch_program.execution_plan[0].operators
    assert {operator.name for operator in operators} >= {"quantized_decomposed::embedding_byte"}
