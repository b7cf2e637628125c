"""A partitioner that consists of configurations."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.export import ExportedProgram
from torch.fx import Node

from rushlight.compat.config_partitioner import ConfigerationBasedPartitioner, PartitionerConfig
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.delegate.partitioner import DelegationSpec
from rushlight.delegate.report import get_non_lowered_nodes
from rushlight.exir import to_edge_transform_and_lower
from rushlight.ir.errors import CompileError


class ConfiguredBackend(BackendDetails):
    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        return PreprocessResult(b"configured")


class Linear(PartitionerConfig):
    """Selects linear layers with a bias, and the relu after them."""

    target_name = "linear.default"

    def check_constraints(self, node: Node, ep: ExportedProgram) -> bool:
        return len(node.args) == 3

    def get_original_aten(self) -> torch._ops.OpOverload:
        return torch.ops.aten.linear.default

    def get_partition(self, node: Node, ep: ExportedProgram) -> list[Node]:
        relus = [user for user in node.users if "relu" in str(user.target)]
        return [node, *node.all_input_nodes[1:], *relus]


class Add(PartitionerConfig):
    target_name = "add.Tensor"

    def check_constraints(self, node: Node, ep: ExportedProgram) -> bool:
        return True

    def get_original_aten(self) -> None:
        return None

    def get_partition(self, node: Node, ep: ExportedProgram) -> list[Node]:
        return [node]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x)) + x
        return self.first(self.second(y)) + y


def test_it_takes_what_its_configurations_match() -> None:
    partitioner = ConfigerationBasedPartitioner(DelegationSpec("ConfiguredBackend", []), [Linear(), Add()])
    model, x = Model(), torch.randn(2, 4)
    program = to_edge_transform_and_lower(
        torch.export.export(model, (x,)), partitioner=[partitioner]
    ).exported_program()
    left = {str(node.target._op) for node in get_non_lowered_nodes(program.graph)}  # type: ignore[union-attr]
    assert left == {"aten.permute_copy.default", "aten.mm.default"}
    lowered = get_lowered_backend_modules(program.graph_module)
    operators = [
        {str(n.target._op) for n in part.original_module.graph.nodes if n.op == "call_function"}
        for part in lowered
    ]
    assert operators == [
        {"aten.linear.default", "aten.relu.default", "aten.add.Tensor"},
        {"aten.linear.default", "aten.add.Tensor"},
    ]
    # Both parts contain the weight that they share.
    assert [sorted(part.original_module.state_dict) for part in lowered] == [
        ["first.bias", "first.weight"]
    ] * 2
    torch.testing.assert_close(program.module()(x), model(x))


def test_two_configurations_of_one_operator_are_refused() -> None:
    class Other(Add):
        pass

    with pytest.raises(CompileError, match=r"Add and Other are both for add\.Tensor"):
        ConfigerationBasedPartitioner(DelegationSpec("ConfiguredBackend", []), [Add(), Other()])
