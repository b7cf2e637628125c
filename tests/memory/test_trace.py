"""The record of the tensors that are alive in each step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch.export import export

from rushlight.exir import to_edge
from rushlight.memory.trace import generate_memory_trace


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x.exp(), x.sin()]).sum(0)


def test_each_step_lists_what_lives(tmp_path: Path) -> None:
    edge = to_edge(export(Net(), (torch.ones(2, 3),)))
    program = edge.to_executorch()
    file = tmp_path / "trace.json"
    generate_memory_trace(program, file, enable_memory_offsets=True)
    events = json.loads(file.read_text())["traceEvents"]
    assert {event["args"]["op_name"] for event in events} >= {"aten.cat.out", "aten.exp.out"}
    by_step: dict[int, list[tuple[int, int]]] = {}
    for event in events:
        by_step.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    planned = program.executorch_program.execution_plan[0].non_const_buffer_sizes[1]
    assert max(end for spans in by_step.values() for _, end in spans) <= planned
    generate_memory_trace(program, file, ommit_metadata=True)
    stacked = json.loads(file.read_text())["traceEvents"]
    assert all(event["args"] == {} for event in stacked) and min(event["ts"] for event in stacked) == 0
    with pytest.raises(ValueError, match="ExecutorchProgramManager"):
        generate_memory_trace(edge, file)
