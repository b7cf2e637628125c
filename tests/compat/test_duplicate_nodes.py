"""Shared dequantize nodes, constants and dynamic quantization chains are duplicated for each user."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import MinMaxObserver
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec

from rushlight.compat.duplicate_nodes import DuplicateDequantNodePass, duplicate_constant_node
from rushlight.exir import to_edge
from rushlight.ir import quantized_ops
from rushlight.ir.errors import CompileError
from rushlight.quantize.dynamic_chains import DuplicateDynamicQuantChainPass

qd = torch.ops.quantized_decomposed
assert quantized_ops


class _Shared(nn.Module):
    state: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))
        self.register_buffer("state", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.add_(self.weight)
        return x * self.weight - self.weight


@pytest.fixture
def shared() -> ExportedProgram:
    return to_edge(torch.export.export(_Shared(), (torch.randn(4),))).exported_program()


def test_constants(shared: ExportedProgram) -> None:
    x = torch.randn(4)
    expected = shared.module()(x)
    assert duplicate_constant_node(shared, "p_weight") == {"p_weight_copy_0", "p_weight_copy_1"}
    shared.validate()
    copies = [node for node in shared.graph.nodes if node.name.startswith("p_weight")]
    assert [len(node.users) for node in copies] == [1, 1, 1]
    assert len({shared.state_dict[name].data_ptr() for name in shared.state_dict if "weight" in name}) == 3
    torch.testing.assert_close(shared.module()(x), expected)
    assert duplicate_constant_node(shared, "p_weight") == set()
    assert duplicate_constant_node(shared, "nothing") == set()


@pytest.mark.parametrize(("name", "message"), [("x", "is a user input"), ("b_state", "is mutable")])
def test_what_is_no_constant_is_refused(shared: ExportedProgram, name: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        duplicate_constant_node(shared, name)


def _dequantizes(module: GraphModule) -> list[Node]:
    return [node for node in module.graph.nodes if "dequantize" in str(node.target)]


def test_dequantize_nodes() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            y = qd.dequantize_per_tensor(
                qd.quantize_per_tensor(x, 0.1, 0, -128, 127, torch.int8), 0.1, 0, -128, 127, torch.int8
            )
            return torch.relu(y), y + y, y

    program = to_edge(torch.export.export(Model(), (torch.randn(4),))).exported_program()
    x = torch.randn(4)
    expected = program.module()(x)
    result = DuplicateDequantNodePass()(program.graph_module)
    assert result is not None and result.modified
    found = _dequantizes(result.graph_module)
    assert [len(node.users) for node in found] == [1, 1, 1]
    torch.testing.assert_close(program.module()(x), expected)
    again = DuplicateDequantNodePass()(result.graph_module)
    assert again is not None and not again.modified


def _dynamic(annotated: tuple[bool, ...]) -> GraphModule:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
            scale, zero_point = qd.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
            q = qd.quantize_per_tensor.tensor(x, scale, zero_point, -128, 127, torch.int8)
            y = qd.dequantize_per_tensor.tensor(q, scale, zero_point, -128, 127, torch.int8)
            return [torch.relu(y) for _ in annotated]

    module = torch.export.export(Model(), (torch.randn(4),)).module()
    assert isinstance(module, GraphModule)
    users = [node for node in module.graph.nodes if node.target is torch.ops.aten.relu.default]
    for node, is_annotated in zip(users, annotated, strict=True):
        if is_annotated:
            spec = QuantizationSpec(torch.int8, MinMaxObserver)
            node.meta["quantization_annotation"] = QuantizationAnnotation({node.args[0]: spec})
    return module


@pytest.mark.parametrize(
    ("annotated", "chains"),
    [((True,), 1), ((True, True, True), 3), ((True, False, True), 2), ((False, False), 1)],
)
def test_dynamic_chains(annotated: tuple[bool, ...], chains: int) -> None:
    module = _dynamic(annotated)
    x = torch.randn(4)
    expected = module(x)
    result = DuplicateDynamicQuantChainPass()(module)
    assert result is not None and result.modified == (chains > 1)
    for kind in ("choose_qparams", "quantize_per_tensor", "dequantize_per_tensor"):
        nodes = [n for n in module.graph.nodes if str(n.target).startswith(f"quantized_decomposed.{kind}.")]
        assert len(nodes) == chains, kind
    module.graph.lint()
    torch.testing.assert_close(module(x), expected)
