"""A damaged program with an XNNPACK delegate causes an error or returns a result, but never crashes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from rushlight.backends.xnnpack import XnnpackPartitioner
from rushlight.exir import to_edge_transform_and_lower
from rushlight.format.program import Program, Tensor
from rushlight.format.pte import read_pte, write_pte
from rushlight.runtime import Runtime


class Tail(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[1:]


def tensor(program: Program, index: int) -> Tensor:
    value = program.execution_plan[0].values[index].val
    assert isinstance(value, Tensor)
    return value


@pytest.mark.damage
@pytest.mark.parametrize("distance", [-4, 0, 4, 64])
def test_the_output_of_a_copy_overlaps_its_input(distance: int) -> None:
    """A copy between overlapping memory has no undefined behaviour; `make asan` checks this."""
    inputs = torch.arange(33.0)
    exported = torch.export.export(Tail(), (inputs,))
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    file = read_pte(edge.to_executorch().buffer)
    plan = file.program.execution_plan[0]
    assert len(plan.delegates) == 1
    source = tensor(file.program, plan.inputs[0]).allocation_info
    target = tensor(file.program, plan.outputs[0]).allocation_info
    assert source is not None and target is not None
    source.memory_offset_low = 128
    target.memory_offset_low = 128 + distance
    plan.non_const_buffer_sizes[1] = 1024
    method = Runtime.get().load_program(bytes(write_pte(file))).load_method("forward")
    (output,) = method.execute([inputs])
    assert torch.equal(torch.as_tensor(output), inputs[1:])
