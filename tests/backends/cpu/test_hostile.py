"""A damaged plan with quantized steps causes an error or returns a result, but never crashes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.backends.cpu.support import damaged, lower, plan_of, refusals, run
from torch import nn

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.payload import read_plan, write_plan
from rushlight.backends.cpu.plan.tables import CumulativeSum, Expression, Resize2d
from rushlight.backends.cpu.quantizer import CpuQuantizer
from rushlight.exir import to_edge_transform_and_lower
from rushlight.format.pte import PTELayout, read_pte, write_pte
from rushlight.quantize.flow import quantize
from rushlight.quantize.specs import dynamic_int8, dynamic_int8_weight_int4, static_int8
from rushlight.runtime import RushlightError

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


@pytest.mark.damage
@pytest.mark.parametrize("scale", [1e4, 1e18, 1e20, 3e38, math.inf, math.nan, -7.0])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_scales_of_damaged_resize_steps(mode: str, scale: float) -> None:
    """Positions that a large scale moves out of the image are moved back to its edges."""
    inputs = (torch.randn(1, 3, 6, 6),)
    model = nn.Sequential(nn.ReLU(), nn.Upsample(size=(9, 11), mode=mode))
    program = lower(model, inputs)[0]
    plan = plan_of(program)
    old = write_plan(plan)
    assert program.count(old) == 1
    for step in plan.steps:
        if isinstance(step.operation, Resize2d):
            step.operation.scale_h = step.operation.scale_w = scale
    changed = program.replace(old, write_plan(plan))
    assert len(changed) == len(program)
    if not 0 <= scale < math.inf:
        with pytest.raises(RushlightError, match="scale of a resize is negative or not finite"):
            run(changed, inputs)
        return
    (result,) = run(changed, inputs)
    assert result.shape == (1, 3, 9, 11)
    if mode == "nearest":
        assert set(result.flatten().tolist()) <= set(inputs[0].relu().flatten().tolist())


@pytest.mark.damage
def test_the_stride_of_one_element_is_not_used() -> None:
    x = torch.randn(3, 1, 4)
    file = read_pte(lower(Sums(), (x,))[0])
    plan = read_plan(bytes(file.delegate_data[0]))
    plan.expressions.append(Expression(code=[0, (1 << 61) - 1]))
    step = next(s.operation for s in plan.steps if isinstance(s.operation, CumulativeSum))
    for index in (step.input, step.output):
        plan.values[index].strides[step.axis] = len(plan.expressions) - 1
    file.delegate_data = [write_plan(plan)]
    (result,) = run(write_pte(file, PTELayout()), (x,))
    torch.testing.assert_close(result, torch.exp(torch.relu(x)))


class Sums(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.exp(torch.cumsum(torch.relu(x), 1))


@pytest.mark.damage
@pytest.mark.parametrize("offset", [1 << 61, (1 << 63) - 1])
def test_a_view_without_elements_may_begin_anywhere(offset: int) -> None:
    x = torch.randn(3, 4)
    file = read_pte(lower(nn.Sequential(nn.ReLU(), nn.Softmax(-1)), (x,))[0])
    plan = read_plan(bytes(file.delegate_data[0]))
    first = len(plan.expressions)
    plan.expressions += [Expression(code=[0, number]) for number in (offset, 0, 1)]
    view = replace(plan.values[0], offset=first, sizes=[first + 1], strides=[first + 2])
    plan.values.append(view)
    file.delegate_data = [write_plan(plan)]
    (result,) = run(write_pte(file, PTELayout()), (x,))
    torch.testing.assert_close(result, torch.softmax(torch.relu(x), -1))
