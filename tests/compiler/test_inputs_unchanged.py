"""A compilation does not change its input programs, their symbols and the user's configuration."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.export import Dim, export

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.compiler.preserved_ops import PRESERVED_OPS
from rushlight.emit.program import emit_program
from rushlight.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from rushlight.ir.fingerprint import fingerprint, first_difference
from rushlight.memory.apply import PlanOptions, read_problem
from rushlight.memory.planning_pass import MemoryPlanningPass


class Select(torch.nn.Module):
    """The real range of its selection is larger than in torch.export."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.masked_select(x, mask) * 2


class Count(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2))
        self.state = torch.nn.Buffer(torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.add_(1)
        return torch.nn.functional.pad(self.norm(x), (1, 1, 1, 1), mode="reflect") + self.state.sum()


def programs() -> dict[str, Any]:
    batch = Dim("batch", min=1, max=8)
    return {
        "select": export(Select(), (torch.randn(3), torch.ones(4, 3, dtype=torch.bool))),
        "count": export(Count().eval(), (torch.ones(2, 1, 8, 8),), dynamic_shapes=({0: batch},)),
    }


def fields_of(config: Any) -> dict[str, Any]:
    """Returns the fields of a configuration: objects by identity, lists by their items."""
    values = {name: getattr(config, name) for name in config.__dataclass_fields__}
    return {name: list(value) if isinstance(value, list) else value for name, value in values.items()}


@pytest.mark.parametrize("partitioned", [False, True])
def test_programs_and_configurations_stay_as_they_are(partitioned: bool) -> None:
    methods = programs()
    before = {name: fingerprint(program) for name, program in methods.items()}
    edge_config = EdgeCompileConfig(core_aten_only=False, preserve_ops=list(PRESERVED_OPS))
    planner = MemoryPlanningPass(alloc_graph_input=False)
    config = ExecutorchBackendConfig(memory_planning_pass=planner)
    options = {name: value for name, value in vars(planner).items() if name not in ("reports", "_shared")}
    fields = fields_of(edge_config), fields_of(config)
    if partitioned:
        edge = to_edge_transform_and_lower(
            methods, partitioner=[CpuPartitioner()], compile_config=edge_config
        )
    else:
        edge = to_edge(methods, compile_config=edge_config)
    edge_before = {name: fingerprint(edge.exported_program(name)) for name in edge.methods}
    edge.to_executorch(config)
    for name, program in methods.items():
        assert first_difference(before[name], fingerprint(program)) is None
        assert first_difference(edge_before[name], fingerprint(edge.exported_program(name))) is None
    assert (fields_of(edge_config), fields_of(config)) == fields
    assert {name: vars(planner)[name] for name in options} == options


def test_reading_the_problem_of_a_plan_and_emission_change_nothing() -> None:
    manager = to_edge(programs(), compile_config=EdgeCompileConfig(core_aten_only=False)).to_executorch()
    planned = {name: manager.exported_program(name) for name in manager.methods}
    before = {name: fingerprint(program) for name, program in planned.items()}
    for program in planned.values():
        read_problem(program.graph_module, program.graph_signature, PlanOptions(alignment=64, in_place=False))
    emit_program(planned)
    for name, program in planned.items():
        assert first_difference(before[name], fingerprint(program)) is None
