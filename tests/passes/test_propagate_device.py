"""Devices of delegates, and copies between devices."""

from __future__ import annotations

from typing import Any, final

import pytest
import torch
from tests.passes.support import calls

from rushlight.compat.canonical_partitioners import generate_partitions_from_list_of_nodes
from rushlight.compiler.config import ExecutorchBackendConfig, PropagateDeviceConfig
from rushlight.compiler.edge import to_edge_transform_and_lower
from rushlight.compiler.executorch import ExecutorchProgramManager
from rushlight.delegate.backend import BackendDetails, CompileSpec, PreprocessResult
from rushlight.delegate.partitioner import DelegationSpec, Partitioner, PartitionResult
from rushlight.ir import meta
from rushlight.ir.edge_ops import ops
from rushlight.ir.errors import CompileError
from rushlight.ir.spec import DeviceType
from rushlight.memory.algorithms import greedy
from rushlight.memory.planning_pass import MemoryPlanningPass
from rushlight.memory.problem import DeviceMemoryError
from rushlight.passes.base import PassResult
from rushlight.passes.propagate_device import (
    TARGET_DEVICE_COMPILE_SPEC_KEY,
    PropagateDevicePass,
    parse_device,
)


@final
class DeviceTestBackend(BackendDetails):
    @staticmethod
    def preprocess(edge_program: torch.export.ExportedProgram, specs: list[CompileSpec]) -> PreprocessResult:
        return PreprocessResult(processed_bytes=b"payload")


class Takes(Partitioner):
    """Selects one operator for a device."""

    def __init__(self, operator: Any, device: bytes | None) -> None:
        super().__init__()
        self.operator = operator
        specs = [CompileSpec(TARGET_DEVICE_COMPILE_SPEC_KEY, device)] if device is not None else []
        self.spec_of_parts = DelegationSpec("DeviceTestBackend", specs)

    def partition(self, exported_program: torch.export.ExportedProgram) -> PartitionResult:
        nodes = [n for n in exported_program.graph.nodes if n.target is self.operator]
        tags = {}
        for part in generate_partitions_from_list_of_nodes(
            exported_program.graph_module, [[n] for n in nodes]
        ):
            tag = f"{id(self)}_{part.id}"
            tags[tag] = self.spec_of_parts
            for node in part.nodes:
                meta.set_delegation_tag(node, tag)
        return PartitionResult(exported_program, tags)


ADD, MUL = ops.edge.aten.add.Tensor, ops.edge.aten.mul.Tensor


class Between(torch.nn.Module):
    """Two additions with a product between them."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x + y) * x + y


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


def lower(model: torch.nn.Module, *partitioners: Partitioner, **options: Any) -> ExecutorchProgramManager:
    inputs = (torch.ones(2, 2), torch.ones(2, 2))
    edge = to_edge_transform_and_lower(torch.export.export(model, inputs), partitioner=list(partitioners))
    return edge.to_executorch(ExecutorchBackendConfig(**options))


def memories(manager: ExecutorchProgramManager) -> list[tuple[int, str, int]]:
    """Returns (memory, device type, device index) of every planned tensor in the file."""
    found = []
    for value in manager.executorch_program.execution_plan[0].values:
        tensor: Any = value.val
        place = getattr(tensor, "allocation_info", None)
        if place is not None:
            info = tensor.extra_tensor_info
            device = ("CPU", 0) if info is None else (info.device_type.name, info.device_index)
            found.append((place.memory_id, *device))
    return found


def operators(manager: ExecutorchProgramManager) -> list[str]:
    return [
        name for name in calls(manager.exported_program().graph_module) if "copy" in name or "mul" in name
    ]


def test_arguments_and_results_are_copied_at_the_borders_of_a_delegate() -> None:
    manager = lower(Between(), Takes(ADD, b"cuda:1"))
    copies = ["_h2d_copy.out", "_h2d_copy.out", "_d2h_copy.out"]
    named = [name.removeprefix("et_copy.") for name in operators(manager)]
    assert named == [*copies, "mul.out", *copies]
    plan = manager.executorch_program.execution_plan[0]
    assert [op.name for op in plan.operators] == ["et_copy::_h2d_copy", "et_copy::_d2h_copy", "aten::mul"]
    (device,) = plan.non_const_buffer_device or []
    assert (device.buffer_idx, device.device_type.name, device.device_index) == (2, "CUDA", 1)
    assert len(plan.non_const_buffer_sizes) == 3
    assert set(memories(manager)) == {(1, "CPU", 0), (2, "CUDA", 1)}


def test_delegates_on_one_device_hand_over_their_results_there() -> None:
    manager = lower(Between(), Takes(ADD, b"cuda:0"), Takes(MUL, b"cuda:0"))
    named = [name.removeprefix("et_copy.") for name in operators(manager)]
    assert named == ["_h2d_copy.out"] * 4 + ["_d2h_copy.out"]


def test_each_device_has_a_memory() -> None:
    manager = lower(Between(), Takes(ADD, b"cuda:0"), Takes(MUL, b"cuda:1"))
    assert set(memories(manager)) == {(1, "CPU", 0), (2, "CUDA", 0), (3, "CUDA", 1)}
    named = [name.removeprefix("et_copy.") for name in operators(manager)]
    assert named.count("_d2h_copy.out") == 3


def test_an_algorithm_of_specs_plans_each_device() -> None:
    manager = lower(Sum(), Takes(ADD, b"cuda"), memory_planning_pass=MemoryPlanningPass(greedy))
    assert set(memories(manager)) == {(1, "CPU", 0), (2, "CUDA", 0)}


@pytest.mark.parametrize("by_method", [False, True])
def test_the_caller_copies_what_the_config_says(by_method: bool) -> None:
    config: Any = PropagateDeviceConfig(skip_h2d_for_method_inputs=True, skip_d2h_for_method_outputs=True)
    config = {"forward": config} if by_method else config
    manager = lower(Sum(), Takes(ADD, b"cuda"), propagate_device_config=config)
    assert operators(manager) == []
    assert set(memories(manager)) == {(1, "CUDA", 0)}


def test_an_input_with_other_users_stays_on_the_host() -> None:
    config = PropagateDeviceConfig(skip_h2d_for_method_inputs=True)
    with pytest.raises(CompileError, match="the input x has 2 users"):
        lower(Between(), Takes(ADD, b"cuda"), propagate_device_config=config)


def test_without_device_memory_only_the_specs_name_the_device() -> None:
    manager = lower(Between(), Takes(ADD, b"cuda"), enable_non_cpu_memory_planning=False)
    plan = manager.executorch_program.execution_plan[0]
    assert operators(manager) == ["mul.out"] and plan.non_const_buffer_device is None
    assert (1, "CUDA", 0) in memories(manager) and len(plan.non_const_buffer_sizes) == 2
    with pytest.raises(ValueError, match="enable_non_cpu_memory_planning=True"):
        PropagateDevicePass(skip_h2d_for_method_inputs=True)


def test_delegates_without_a_device_stay_as_they_are() -> None:
    manager = lower(Between(), Takes(ADD, None))
    assert operators(manager) == ["mul.out"]
    assert set(memories(manager)) == {(1, "CPU", 0)}


def test_chosen_memories_and_devices_are_not_mixed() -> None:
    def choose(module: torch.fx.GraphModule) -> Any:
        for node in module.graph.nodes:
            if node.op == "placeholder":
                meta.get_spec(node).mem_id = 3
        return PassResult(module, True)

    class Chooses(MemoryPlanningPass):
        def run(self, graph_module: torch.fx.GraphModule, *rest: Any) -> Any:
            choose(graph_module)
            return super().run(graph_module, *rest)

    with pytest.raises(DeviceMemoryError, match="a pass has set mem_id"):
        lower(Sum(), Takes(ADD, b"cuda"), memory_planning_pass=Chooses())


def test_devices_are_read_in_either_case() -> None:
    assert parse_device(b"CUDA:2") == (DeviceType.CUDA, 2)
    assert parse_device(b" cpu ") == (DeviceType.CPU, 0)
    with pytest.raises(ValueError, match="Valid types: CPU, CUDA"):
        parse_device(b"npu:0")
