"""Programs of each system run in the other, and agree with eager PyTorch to 1e-4 of the largest value."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.interop.cases import LANGUAGE, NAMES, Ask, build

from rushlight.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from rushlight.runtime import Runtime

TOLERANCE = 1e-4


def assert_agree(got: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert (a - b).abs().max() <= TOLERANCE * max(1.0, float(b.abs().max()))


@pytest.mark.parametrize("name", [*NAMES, *LANGUAGE])
def test_its_files_run_here(name: str, peer: Ask, tmp_path: Path) -> None:
    peer({"compile": name, "folder": str(tmp_path)})
    saved = torch.load(tmp_path / "expected.pt")
    program = Runtime.get().load_program(tmp_path / "model.pte")
    method = program.load_method("forward")
    assert_agree(list(method.execute(saved["inputs"])), saved["outputs"])


@pytest.mark.parametrize("lower", [to_edge, to_edge_transform_and_lower], ids=["to_edge", "lower"])
@pytest.mark.parametrize("name", [*NAMES, *LANGUAGE])
def test_our_files_run_there(name: str, lower: object, peer: Ask, tmp_path: Path) -> None:
    module, inputs = build(name)
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(module(*inputs))
    assert callable(lower)
    config = ExecutorchBackendConfig(digest=name == "add")  # ExecuTorch ignores the digest
    program = lower(torch.export.export(module, inputs)).to_executorch(config)
    path, tensors = tmp_path / "model.pte", tmp_path / "tensors.pt"
    program.save(str(path))
    torch.save({"inputs": list(inputs)}, tensors)
    peer({"run": str(path), "tensors": str(tensors)})
    assert_agree(torch.load(tensors)["outputs"], expected)
