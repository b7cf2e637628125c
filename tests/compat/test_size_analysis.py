"""Sizes of tensors and delegates."""

from __future__ import annotations

import json

import torch
from torch.export import export

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.compat.size_analysis import generate_model_size_information
from rushlight.exir import to_edge, to_edge_transform_and_lower


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.small, self.large = torch.nn.Linear(8, 2), torch.nn.Linear(4, 8)
        self.register_buffer("shift", torch.zeros(2, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.small(self.large(x)) + self.shift


def test_tensors_are_listed_by_size() -> None:
    program = to_edge(export(Net(), (torch.ones(1, 4),))).exported_program()
    facts = generate_model_size_information(program)
    assert [row["num_bytes"] for row in facts["tensor_data"]] == [128, 64, 32, 16, 8]
    first = facts["tensor_data"][0]
    assert first["name"] == "p_large_weight" and first["shape"] == [8, 4] and first["numel"] == 32
    assert (first["dtype"], first["element_size"]) == ("float32", 4)
    assert facts["overview"] == {"total_tensor_data_size": 248, "total_delegate_blob_data_size": 0}
    assert json.loads(json.dumps(facts)) == facts


def test_delegates_are_listed_with_what_their_bytes_say() -> None:
    edge = to_edge_transform_and_lower(export(Net(), (torch.ones(1, 4),)), partitioner=[CpuPartitioner()])
    program, file = edge.exported_program(), edge.to_executorch().buffer
    facts = generate_model_size_information(
        program, {"CpuBackend": lambda data: {"head": data[:4].hex()}}, file
    )
    (blob,) = facts["delegate_blob_data"]
    assert blob["backend_id"] == "CpuBackend" and blob["num_bytes"] > 0 and len(blob["head"]) == 8
    overview = facts["overview"]
    assert (
        overview["model_size"]
        == len(file)
        == sum(
            overview[name]
            for name in (
                "total_tensor_data_size",
                "total_delegate_blob_data_size",
                "serialization_metadata_size",
            )
        )
    )
