"""Programs of each system with XNNPACK delegates run in the other, and agree with eager PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.interop.cases import HALF, NAMES, Ask, build

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compiler.to_backend import to_backend
from rushlight.delegate.lowered import get_lowered_backend_modules
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.runtime import BackendRegistry, Runtime

TOLERANCE = 1e-4
# The largest ratio of our error in float16 to that of the peer. Each system rounds in another order.
HALF_FACTOR = 1.5

pytestmark = pytest.mark.skipif(
    not BackendRegistry().is_available("XnnpackBackend"), reason="this build has no XnnpackBackend"
)


def assert_agree(got: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert (a - b).abs().max() <= TOLERANCE * max(1.0, float(b.abs().max()))


def assert_as_close(got: list[torch.Tensor], theirs: list[torch.Tensor], exact: list[torch.Tensor]) -> None:
    """Asserts that results in float16 are as close to exact ones as the peer's own results are.

    How far results in float16 lie from exact ones depends on the processor: with native arithmetic XNNPACK
    also accumulates in float16. So the peer, which ran its own file on the same inputs, sets the limit.
    """
    assert len(got) == len(theirs) == len(exact)
    for a, b, reference in zip(got, theirs, exact, strict=True):
        assert a.shape == b.shape == reference.shape and a.dtype == b.dtype == torch.float16
        rounding = torch.finfo(torch.float16).eps * float(reference.abs().max())
        error, allowed = (float((item.double() - reference).abs().max()) for item in (a, b))
        assert error <= HALF_FACTOR * allowed + rounding


def exact_outputs(name: str) -> list[torch.Tensor]:
    """Returns the outputs of the model in float64, with the same weights and inputs."""
    module, inputs = build(name)
    with torch.no_grad():
        return torch.utils._pytree.tree_leaves(module.double()(*(item.double() for item in inputs)))


def compile_there(name: str, peer: Ask, folder: Path) -> list[torch.Tensor]:
    """Compiles model.pte with ExecuTorch, and returns its inputs."""
    peer({"compile": name, "folder": str(folder), "backend": "xnnpack"})
    return list(torch.load(folder / "expected.pt")["inputs"])


def compile_here(name: str, path: Path) -> list[torch.Tensor]:
    """Compiles the file with Rushlight, and returns its inputs."""
    module, inputs = build(name)
    edge = to_edge_transform_and_lower(
        torch.export.export(module, inputs), partitioner=[XnnpackPartitioner()]
    )
    assert get_lowered_backend_modules(edge.exported_program().graph_module)
    path.write_bytes(bytes(edge.to_executorch().buffer))
    return list(inputs)


def run_here(path: Path, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    method = Runtime.get().load_program(path).load_method("forward")
    return [torch.as_tensor(item).clone() for item in method.execute(inputs)]


def run_there(path: Path, inputs: list[torch.Tensor], peer: Ask) -> list[torch.Tensor]:
    tensors = path.with_suffix(".pt")
    torch.save({"inputs": inputs}, tensors)
    peer({"run": str(path), "tensors": str(tensors)})
    return list(torch.load(tensors)["outputs"])


@pytest.mark.parametrize("name", NAMES)
def test_its_files_run_here(name: str, peer: Ask, tmp_path: Path) -> None:
    inputs = compile_there(name, peer, tmp_path)
    assert_agree(run_here(tmp_path / "model.pte", inputs), torch.load(tmp_path / "expected.pt")["outputs"])


@pytest.mark.parametrize("name", NAMES)
def test_our_files_run_there(name: str, peer: Ask, tmp_path: Path) -> None:
    module, inputs = build(name)
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(module(*inputs))
    path = tmp_path / "ours.pte"
    assert_agree(run_there(path, compile_here(name, path), peer), expected)


@pytest.mark.parametrize("name", [f"{name}_half" for name in HALF])
def test_files_of_float16_run_in_both(name: str, peer: Ask, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.pte", tmp_path / "model.pte"
    inputs, exact = compile_here(name, ours), exact_outputs(name)
    own_results = run_there(theirs, compile_there(name, peer, tmp_path), peer)
    assert_as_close(run_there(ours, inputs, peer), own_results, exact)
    assert_as_close(run_here(theirs, inputs), own_results, exact)
    assert_as_close(run_here(ours, inputs), own_results, exact)


def test_a_lowered_module_alone_runs_there(peer: Ask, tmp_path: Path) -> None:
    module, inputs = build("digits")
    with torch.no_grad():
        expected = module(*inputs)
    program = to_edge(torch.export.export(module, inputs)).exported_program()
    partial = to_backend(program, XnnpackPartitioner())
    (part,) = get_lowered_backend_modules(partial.graph_module)
    for index, lowered in enumerate((to_backend("XnnpackBackend", program, []), part)):
        path = tmp_path / f"{index}.pte"
        path.write_bytes(lowered.buffer())
        assert_agree(run_there(path, list(inputs), peer), [expected])
