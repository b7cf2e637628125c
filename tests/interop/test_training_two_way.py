"""Both systems train programs of both systems, with the same losses and parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.interop.cases import Ask

from rushlight.compat.training_examples import XOR, _export_model
from rushlight.runtime.training import SGD, load_for_training

STEPS = 200


@pytest.mark.parametrize("author", ["ours", "theirs"])
def test_training_is_the_same(author: str, peer: Ask, tmp_path: Path) -> None:
    path, tensors = tmp_path / "model.pte", tmp_path / "tensors.pt"
    if author == "ours":
        torch.manual_seed(0)
        _export_model().save(str(path))
    else:
        peer({"joint": str(tmp_path)})
    inputs = [(XOR[0][i % 4, None], XOR[1][i % 4, None]) for i in range(STEPS)]
    torch.save({"inputs": inputs}, tensors)
    peer({"train": str(path), "tensors": str(tensors)})
    theirs = torch.load(tensors)

    module = load_for_training(path)
    optimizer = SGD(module.named_parameters(), 0.5, 0.9, 0.1, 1e-4)
    losses = []
    for batch in inputs:
        losses.append(float(module.forward_backward("forward", batch)[0]))
        optimizer.step(module.named_gradients())
    assert losses[:40] == pytest.approx(theirs["losses"][:40], rel=1e-3, abs=1e-4)
    assert max(losses[-4:]) < 0.1 and max(theirs["losses"][-4:]) < 0.1
    parameters = module.named_parameters()
    assert parameters.keys() == theirs["parameters"].keys()
    for name, value in theirs["parameters"].items():
        torch.testing.assert_close(parameters[name], value, rtol=1e-2, atol=1e-2)
