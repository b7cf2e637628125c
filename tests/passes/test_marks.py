"""Marks on buffers and constants that later stages follow."""

from __future__ import annotations

import torch
from torch.export import export

from rushlight.exir import ExecutorchBackendConfig, to_edge
from rushlight.format.pte import read_pte
from rushlight.ir import meta
from rushlight.passes.external_constants import delegate_external_constants_pass_unlifted
from rushlight.passes.initial_state import InitializedMutableBufferPass


class Cache(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kv_cache", torch.zeros(3))
        self.register_buffer("other", torch.zeros(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.kv_cache += x
        self.other += 1
        return self.kv_cache.sum() + self.other.sum()


def test_initial_zeros_are_written_where_asked() -> None:
    edge = to_edge(export(Cache(), (torch.ones(3),)))
    config = ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(["kv_cache"])])
    file = read_pte(edge.to_executorch(config).buffer)
    assert [bytes(data) for data in file.mutable_data if len(data)] == [bytes(12)]


def test_constants_for_a_backend_are_tagged_before_they_are_lifted() -> None:
    captured = export(torch.nn.Linear(3, 2), (torch.ones(1, 3),)).module()
    result = delegate_external_constants_pass_unlifted(
        captured, lambda node: "weights" if "weight" in str(node.target) else None
    )
    assert result.modified
    tags = {
        str(node.target): meta.get_delegate_constant_tag(node)
        for node in captured.graph.nodes
        if node.op == "get_attr"
    }
    assert tags == {"weight": "weights", "bias": None}
