"""Merges convolutions of the same input with adjacent results, such as phases of a transposed convolution."""

from __future__ import annotations

from dataclasses import replace

import torch

from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.plan.node import Convolution, PlanNode, nodes_of
from rushlight.backends.cpu.plan.sizes import same


def merge_convolutions(steps: list[PlanNode], context: Context) -> list[PlanNode]:
    """Merges consecutive convolutions whose results are adjacent channels of one tensor."""
    merged: list[PlanNode] = []
    for step in steps:
        before = merged[-1].of(Convolution) if merged else None
        convolution = step.of(Convolution)
        if before is not None and convolution is not None and _may_merge(before, convolution):
            merged[-1] = PlanNode(_merged(before, convolution), nodes_of((merged[-1], step)))
        else:
            merged.append(step)
    return merged


def _may_merge(a: Convolution, b: Convolution) -> bool:
    if type(a) is not Convolution or type(b) is not Convolution:
        return False
    x, y = a.output, b.output
    return (
        (a.input, a.more_inputs) == (b.input, b.more_inputs)
        and (a.bias is None) == (b.bias is None)
        and a.residual is None
        and b.residual is None
        and a.groups == b.groups == 1
        and (a.stride, a.padding, a.dilation) == (b.stride, b.padding, b.dilation)
        and a.weight.shape[1:] == b.weight.shape[1:]
        and (a.weight_dtype, a.rounds_input, a.epilogue) == (b.weight_dtype, b.rounds_input, b.epilogue)
        and x.storage is y.storage
        and x.strides == y.strides
        and x.sizes[:3] == y.sizes[:3]
        and same(x.strides[3], 1)
        and same(x.offset + x.sizes[3], y.offset)
    )


def _merged(a: Convolution, b: Convolution) -> Convolution:
    outputs = a.weight.shape[0] + b.weight.shape[0]
    return replace(
        a,
        output=replace(a.output, sizes=(*a.output.sizes[:3], outputs)),
        weight=torch.cat((a.weight, b.weight)),
        bias=None if a.bias is None or b.bias is None else torch.cat((a.bias, b.bias)),
    )
