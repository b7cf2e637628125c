"""Files with XNNPACK delegates of either system run in the other and agree with eager PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from cases import HALF, NAMES, Ask, build

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.delegate.to_backend import to_backend
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.runtime import BackendRegistry, Runtime

CASES = (*NAMES, *(f"{name}_half" for name in HALF))
TOLERANCE = 1e-4
# Over the 52 layers of MobileNetV2 float16 rounds eager's own result by 0.016 of the largest value.
HALF_TOLERANCE = 0.04

pytestmark = pytest.mark.skipif(
    not BackendRegistry().is_available("XnnpackBackend"), reason="this build has no XnnpackBackend"
)


def assert_agree(got: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        largest = float(b.abs().max())
        limit = HALF_TOLERANCE * largest if b.dtype == torch.float16 else TOLERANCE * max(1.0, largest)
        assert (a - b).abs().max() <= limit


@pytest.mark.parametrize("name", CASES)
def test_its_files_run_here(name: str, peer: Ask, tmp_path: Path) -> None:
    peer({"compile": name, "folder": str(tmp_path), "backend": "xnnpack"})
    saved = torch.load(tmp_path / "expected.pt")
    program = Runtime.get().load_program(tmp_path / "model.pte")
    method = program.load_method("forward")
    assert_agree([torch.as_tensor(item) for item in method.execute(saved["inputs"])], saved["outputs"])


@pytest.mark.parametrize("name", CASES)
def test_our_files_run_there(name: str, peer: Ask, tmp_path: Path) -> None:
    module, inputs = build(name)
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(module(*inputs))
    edge = to_edge_transform_and_lower(
        torch.export.export(module, inputs), partitioner=[XnnpackPartitioner()]
    )
    assert get_lowered_backend_modules(edge.exported_program().graph_module)
    path, tensors = tmp_path / "model.pte", tmp_path / "tensors.pt"
    path.write_bytes(bytes(edge.to_executorch().buffer))
    torch.save({"inputs": list(inputs)}, tensors)
    peer({"run": str(path), "tensors": str(tensors)})
    assert_agree(torch.load(tensors)["outputs"], expected)


def test_a_lowered_module_alone_runs_there(peer: Ask, tmp_path: Path) -> None:
    module, inputs = build("digits")
    with torch.no_grad():
        expected = module(*inputs)
    program = to_edge(torch.export.export(module, inputs)).exported_program()
    partial = to_backend(program, XnnpackPartitioner())
    (part,) = get_lowered_backend_modules(partial.graph_module)
    for index, lowered in enumerate((to_backend("XnnpackBackend", program, []), part)):
        path, tensors = tmp_path / f"{index}.pte", tmp_path / f"{index}.pt"
        path.write_bytes(lowered.buffer())
        torch.save({"inputs": list(inputs)}, tensors)
        peer({"run": str(path), "tensors": str(tensors)})
        assert_agree(torch.load(tensors)["outputs"], [expected])
