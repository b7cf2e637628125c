"""A damaged plan with quantized steps causes an error or returns a result, but never crashes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.backends.cpu.support import damaged, refusals
from torch import nn

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.exir import to_edge_transform_and_lower
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import dynamic_int8, dynamic_int8_weight_int4, static_int8

SAMPLES = 1200


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8)
        self.pool = nn.MaxPool2d(2)
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.pool(torch.relu(self.depthwise(self.conv(x)))).mean((2, 3))
        return torch.softmax(self.second(torch.relu(self.first(y + y))), -1)


CONFIGS: dict[str, Any] = {
    "static": static_int8(),
    "dynamic": dynamic_int8(),
    "4-bit": dynamic_int8_weight_int4(group_size=8),
}


@pytest.mark.damage
@pytest.mark.parametrize("kind", CONFIGS)
def test_a_damaged_plan(kind: str) -> None:
    inputs = torch.randn(1, 3, 16, 16)
    program = quantize(Net().eval(), (inputs,), CpuQuantizer().set_global(CONFIGS[kind]), [(inputs,)])
    edge = to_edge_transform_and_lower(program, partitioner=[CpuPartitioner()])
    assert refusals(damaged(edge.to_executorch().buffer, SAMPLES, 0), (inputs,)) > SAMPLES // 20
