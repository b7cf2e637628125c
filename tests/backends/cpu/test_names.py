"""The names of the steps of a plan are those that the runtime gives them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import lower, plan_of
from torch import nn
from torch.nn import functional as F

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.names import _NAMES, step_name
from rushlight.backends.cpu.plan.wire_tables import CPU_PLAN
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.exir import to_edge_transform_and_lower
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import dynamic_int8, static_int8, weight_only_int4, weight_only_int8
from rushlight.runtime import Runtime

BY_FIELDS = {
    "Gemm",
    "Int8Gemm",
    "Winograd",
    "Int8Binary",
    "Convert",
    "Recurrent",
    "WeightOnlyGemm",
    "WeightOnlyRecurrent",
}


class Half(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * 2, -1)


class Products(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3), nn.Conv2d(4, 8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = self.first(x), self.second(x)
        return F.hardswish(a + b * a).mean((2, 3))


IMAGE = torch.randn(1, 4, 16, 16)
FLOATS: dict[str, tuple[nn.Module, torch.Tensor, set[str]]] = {
    "convolutions": (
        nn.Sequential(nn.Conv2d(4, 8, 3, stride=3), nn.Conv2d(8, 4, 1), nn.MaxPool2d(2), nn.Flatten()),
        IMAGE,
        {"convolution", "GEMM"},
    ),
    "winograd": (nn.Conv2d(32, 32, 3), torch.randn(1, 32, 30, 30), {"Winograd convolution F"}),
    "lstm": (nn.LSTM(4, 4), torch.randn(3, 2, 4), {"LSTM"}),
    "gru": (nn.GRU(4, 4), torch.randn(3, 2, 4), {"GRU"}),
    "half": (Half(), torch.randn(3, 4).half(), {"conversion to float32", "conversion from float32"}),
}
QUANTIZED: dict[str, tuple[nn.Module, torch.Tensor, Any, set[str]]] = {
    "static": (Products(), IMAGE, static_int8, {"int8 convolution", "int8 mult", "int8 add", "int8 mean"}),
    "dynamic": (nn.Linear(32, 8), torch.randn(2, 32), dynamic_int8, {"int8 GEMM", "dynamic quantization"}),
    "int8 LSTM": (nn.LSTM(32, 32), torch.randn(3, 2, 32), weight_only_int8, {"LSTM with int8 weights"}),
    "int4 GRU": (nn.GRU(32, 32), torch.randn(3, 2, 32), weight_only_int4, {"GRU with int4 weights"}),
    "int8": (nn.Linear(32, 8), torch.randn(2, 32), weight_only_int8, {"GEMM with int8 weights"}),
    "int4": (
        nn.Linear(32, 8),
        torch.randn(2, 32),
        lambda: weight_only_int4(group_size=32),
        {"GEMM with int4 weights"},
    ),
}


def check(program: bytes, x: torch.Tensor, parts: set[str]) -> None:
    """Compares the names with those of a run. The runtime may choose Winograd for an int8 convolution."""
    plan = plan_of(program)
    names = [step_name(plan, step.operation) for step in plan.steps]
    method = Runtime.get().load_program(program).load_timed_method("forward")
    method.execute([x])
    ran = [name for name, _, _, is_inside, _ in method.timings() if is_inside]
    assert names == [
        "int8 convolution" if name.startswith("int8 Winograd convolution") else name for name in ran
    ]
    assert all(any(part in name for name in names) for part in parts), names


@pytest.mark.parametrize("case", FLOATS)
def test_steps_over_floats(case: str) -> None:
    model, x, parts = FLOATS[case]
    program, _ = lower(model, (x,))
    check(program, x, parts)


@pytest.mark.parametrize("case", QUANTIZED)
def test_steps_over_integers(case: str) -> None:
    model, x, config, parts = QUANTIZED[case]
    exported = quantize(model.eval(), (x,), CpuQuantizer().set_global(config()), [(x,)])
    edge = to_edge_transform_and_lower(exported, partitioner=[CpuPartitioner()])
    check(edge.to_executorch().buffer, x, parts)


def test_each_operation_has_a_name() -> None:
    named = {kind.__name__ for kind in _NAMES} | BY_FIELDS | {"QuantizedGather"}
    assert named == {name for name, _ in CPU_PLAN.unions["Operation"]}
