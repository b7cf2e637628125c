"""Operator support classes that exclude nodes from a backend, and comparisons of nodes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, ExportedProgram, export

from rushlight.compat.graph_comparison import is_identical_graph, is_same_node, is_shape_dynamic
from rushlight.compat.operator_support import DontPartition, DontPartitionModule, DontPartitionName
from rushlight.exir import to_edge
from rushlight.ir.edge_ops import ops


class Gate(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x) * x


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Gate(), Gate()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x) + x)


@pytest.fixture(scope="module")
def program() -> ExportedProgram:
    rows = Dim("rows", min=2, max=9)
    return to_edge(export(Model(), (torch.randn(3, 4),), dynamic_shapes=({0: rows},))).exported_program()


@pytest.mark.parametrize(
    ("support", "skipped"),
    [
        (DontPartition(torch.ops.aten.mul.Tensor), ["mul", "mul"]),
        (DontPartition(ops.edge.aten.add.Tensor, "aten.sigmoid.default"), ["sigmoid", "add", "sigmoid"]),
        (DontPartition("sigmoid"), []),
        (DontPartition("sigmoid", exact=False), ["sigmoid", "sigmoid"]),
        (DontPartitionName("aten_mul_tensor"), ["mul"]),
        (DontPartitionName("aten_mul_tensor", exact=False), ["mul", "mul"]),
        (DontPartitionModule(module_name="Gate"), ["sigmoid", "mul", "sigmoid", "mul"]),
        (DontPartitionModule(module_name=f"{__name__}.Gate"), ["sigmoid", "mul", "sigmoid", "mul"]),
        (DontPartitionModule(module_name="elsewhere.Gate"), []),
        (DontPartitionModule(instance_name="second"), ["sigmoid", "mul"]),
    ],
)
def test_what_is_skipped(support: Any, skipped: list[str], program: ExportedProgram) -> None:
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    refused = [node for node in nodes if not support.is_node_supported({}, node)]
    assert [str(node.target._op).split(".")[1] for node in refused] == skipped
    assert support.rejected_nodes() == refused and support.num_rejected() == len(refused)
    assert support.has_rejected_node() == bool(skipped)


def test_comparisons(program: ExportedProgram) -> None:
    nodes = {node.name: node for node in program.graph.nodes}
    assert is_shape_dynamic(nodes["x"])
    first, second = nodes["aten_sigmoid_default"], nodes["aten_sigmoid_default_1"]
    assert is_same_node(first, first) and not is_same_node(first, second)
    assert is_same_node([first, second], [first, second]) and not is_same_node([first], [first, second])
    same = to_edge(export(Model(), (torch.randn(3, 4),))).exported_program()
    assert not is_shape_dynamic(next(iter(same.graph.nodes)))
    (ours,), (theirs,) = (p.graph.output_node().args[0] for p in (program, same))
    assert is_same_node(ours, theirs)
    assert is_identical_graph(program.graph_module, same.graph_module)
    other = to_edge(export(Gate(), (torch.randn(3, 4),))).exported_program()
    assert not is_identical_graph(program.graph_module, other.graph_module)


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 8), nn.BatchNorm1d(8).eval()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (*torch.topk(self.norm(self.linear(x)).clone().relu_(), 2), torch.nn.functional.mish(x))


def test_operators_of_a_decomposition_are_skipped_by_its_name() -> None:
    graph = to_edge(export(Layers().eval(), (torch.randn(2, 8),))).exported_program().graph
    found = {node.name: str(node.meta["original_aten"]) for node in graph.nodes if node.op == "call_function"}
    assert found["aten_permute_copy_default"] == "aten.t.default"
    assert found["aten_addmm_default"] == "aten.addmm.default"
    assert found["getitem"] == "aten._native_batch_norm_legit_no_training.default"
    assert found["aten_relu_default"] == "aten.relu.default"
    assert found["getitem_1"] == found["getitem_2"] == "aten.topk.default"
    mish = {name for name, op in found.items() if op == "aten.mish.default"}
    assert {"aten_exp_default", "aten_log1p_default", "aten_tanh_default", "aten_mul_tensor"} <= mish
    support = DontPartition("aten.mish.default")
    assert {node.name for node in graph.nodes if not support.is_node_supported({}, node)} == mish
