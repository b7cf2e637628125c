"""Errors of whole networks in float32 against float64, compared with those of eager PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from models.catalog import build

import rushlight

NETWORKS = [
    *"mobilenet_v3_small bert gpt2_step lstm conformer".split(),
    *(
        pytest.param(name, marks=pytest.mark.long)
        for name in "resnet18 deit_tiny gru_text llama_prefill llama_step mixer wave_encoder".split()
    ),
]


def largest_error(got: Sequence[torch.Tensor], want: Sequence[torch.Tensor]) -> float:
    """Returns the largest difference of an output, relative to its largest magnitude."""
    pairs = zip(got, want, strict=True)
    return max(float((a.double() - b).abs().max() / b.abs().max()) for a, b in pairs)


def tensors(outputs: object) -> list[torch.Tensor]:
    """Returns the floating-point tensors in the outputs of a network."""
    found = torch.utils._pytree.tree_leaves(outputs)
    found = [torch.as_tensor(item) for item in found if isinstance(item, (torch.Tensor, np.ndarray))]
    return [item for item in found if item.is_floating_point()]


@pytest.mark.parametrize("name", NETWORKS)
def test_full_float32_is_as_precise_as_eager(name: str) -> None:
    network = build(name)
    in_double = [item.double() if item.is_floating_point() else item for item in network.inputs]
    with torch.no_grad():
        want = tensors(copy.deepcopy(network.module).double()(*in_double))
        eager = tensors(copy.deepcopy(network.module)(*network.inputs))
        program = rushlight.compile(network.module, network.inputs)
    got = tensors(rushlight.load(program.buffer).method("forward")(*network.inputs))
    assert largest_error(got, want) <= 4 * largest_error(eager, want)
