"""Buffers whose initial values are part of the program are marked."""

from __future__ import annotations

import torch
from torch.export import export

from rushlight.exir import ExecutorchBackendConfig, to_edge
from rushlight.format.pte import read_pte
from rushlight.passes.initialized_mutable_buffer import InitializedMutableBufferPass


class Cache(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kv_cache = torch.nn.Buffer(torch.zeros(3))
        self.other = torch.nn.Buffer(torch.zeros(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.kv_cache.add_(x)
        self.other.add_(1)
        return self.kv_cache.sum() + self.other.sum()


def test_initial_zeros_are_written_where_asked() -> None:
    edge = to_edge(export(Cache(), (torch.ones(3),)))
    config = ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(["kv_cache"])])
    file = read_pte(edge.to_executorch(config).buffer)
    assert [bytes(data) for data in file.mutable_data if len(data)] == [bytes(12)]
