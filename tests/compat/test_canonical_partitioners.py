"""Partitions of graphs in the form of torch's partitioner, and partitions that do not split groups."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
import torch
from tests.passes.support import edge_of
from torch.fx import Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupportBase

from rushlight.compat.canonical_partitioners import GroupBasedPartitioner, generate_pattern_op_partitions


class Takes(OperatorSupportBase):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        return node.name in self.names


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a = x + y
        c = (a * x).sin()
        e = (c + a) * y
        g = e.cos() + x - c
        return g.exp() * a, e.neg(), torch.split(x, 1)[0] + 1


def names(parts: list[Partition]) -> list[list[str]]:
    return sorted(sorted(node.name for node in part.nodes) for part in parts)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("single", [False, True])
def test_without_groups_the_parts_are_those_of_torch(seed: int, single: bool) -> None:
    module = edge_of(Net(), torch.ones(2, 2), torch.ones(2, 2)).graph_module
    nodes = [node.name for node in module.graph.nodes if node.op == "call_function"]
    chosen = Takes(set(random.Random(seed).sample(nodes, 7)))
    ours = GroupBasedPartitioner(module, chosen, allows_single_node_partition=single)
    torchs = CapabilityBasedPartitioner(module, chosen, allows_single_node_partition=single)
    assert names(ours.propose_partitions()) == names(torchs.propose_partitions())


def test_groups_stay_together() -> None:
    module = edge_of(Net(), torch.ones(2, 2), torch.ones(2, 2)).graph_module
    nodes = [node for node in module.graph.nodes if node.op == "call_function"]
    first, second = nodes[0], next(node for node in nodes if "neg" in node.name)
    chosen = Takes({first.name, second.name})
    parts = GroupBasedPartitioner(module, chosen, True, node_groups=[[first], [second]]).propose_partitions()
    assert all(len(part.nodes) >= 1 for part in parts)
    grouped = [node for node in nodes if "cos" in node.name or "exp" in node.name]
    chosen = Takes({node.name for node in nodes})
    (part,) = GroupBasedPartitioner(module, chosen, node_groups=[grouped]).propose_partitions()
    assert {node.name for node in grouped} <= {node.name for node in part.nodes}


def test_a_supported_placeholder_goes_with_the_part_that_uses_it() -> None:
    module = edge_of(Net(), torch.ones(2, 2), torch.ones(2, 2)).graph_module
    (cos,) = [node for node in module.graph.nodes if "cos" in node.name]
    (mul,) = [node for node in module.graph.nodes if node.name == "aten_mul_tensor_1"]
    y = next(node for node in module.graph.nodes if node.name == "y")
    chosen = Takes({cos.name, mul.name, y.name})
    parts = generate_pattern_op_partitions(module, op_support=chosen)
    (holder,) = [part for part in parts if y in part.nodes]
    assert mul in holder.nodes
    without = generate_pattern_op_partitions(module, op_support=Takes({cos.name, y.name}))
    assert names(without) == [[cos.name]]
