"""Convolutions of one input whose results lie next to each other, as phases of a transposed one, as one."""

from __future__ import annotations

from dataclasses import replace

import torch

from rushlight.backends.cpu.drafts import ConvolutionDraft, Draft
from rushlight.backends.cpu.lowering import Lowering
from rushlight.backends.cpu.sizes import same


def join_neighbours(lowering: Lowering) -> None:
    """Joins drafts that follow each other; takes those that are not finished."""
    drafts: list[Draft] = []
    for draft in lowering.drafts:
        if drafts and _may_join(drafts[-1], draft):
            drafts[-1] = _joined(drafts[-1], draft)
        else:
            drafts.append(draft)
    lowering.drafts[:] = drafts


def _may_join(a: Draft, b: Draft) -> bool:
    if type(a) is not ConvolutionDraft or type(b) is not ConvolutionDraft:
        return False
    x, y = a.out, b.out
    return (
        a.operands[:-1] == b.operands[:-1]
        and (a.bias is None) == (b.bias is None)
        and a.residual is None
        and a.groups == b.groups == 1
        and (a.stride, a.padding, a.dilation) == (b.stride, b.padding, b.dilation)
        and a.weight.shape[1:] == b.weight.shape[1:]
        and (a.stored, a.rounds, a.epilogue) == (b.stored, b.rounds, b.epilogue)
        and x.storage is y.storage
        and x.strides == y.strides
        and x.sizes[:3] == y.sizes[:3]
        and same(x.strides[3], 1)
        and same(x.offset + x.sizes[3], y.offset)
    )


def _joined(a: Draft, b: Draft) -> ConvolutionDraft:
    assert isinstance(a, ConvolutionDraft) and isinstance(b, ConvolutionDraft)
    outputs = a.weight.shape[0] + b.weight.shape[0]
    return replace(
        a,
        operands=[*a.operands[:-1], replace(a.out, sizes=(*a.out.sizes[:3], outputs))],
        weight=torch.cat((a.weight, b.weight)),
        bias=None if a.bias is None or b.bias is None else torch.cat((a.bias, b.bias)),
        nodes=[*a.nodes, *(node for node in b.nodes if node not in a.nodes)],
    )
