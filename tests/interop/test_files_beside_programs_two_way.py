"""Each system reads data files and saved edge programs of the other."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from tests.interop.cases import Ask, build

from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compat.saved_programs import load, save
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.executorch import ExecutorchProgramManager
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.passes.move_constants_to_files import delegate_external_constants_pass_unlifted
from rushlight.runtime import Runtime

NAME = "digits"
BACKENDS = [None, "xnnpack"]


def request(backend: str | None, **values: str) -> dict[str, str]:
    return {**values, **({} if backend is None else {"backend": backend})}


def case() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...], list[torch.Tensor]]:
    module, inputs = build(NAME)
    with torch.no_grad():
        return module, inputs, torch.utils._pytree.tree_leaves(module(*inputs))


def assert_agree(got: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(torch.as_tensor(a), b, atol=1e-4, rtol=1e-4)


def with_weights_outside(backend: str | None) -> ExecutorchProgramManager:
    module, inputs, _ = case()
    exported = torch.export.export(module, inputs)
    if backend is None:
        config = ExecutorchBackendConfig(external_constants=lambda node: "weights")
        return to_edge(exported).to_executorch(config)
    captured = exported.module()
    delegate_external_constants_pass_unlifted(captured, lambda node: "weights")
    lowered = to_edge_transform_and_lower(
        torch.export.export(captured, inputs), partitioner=[XnnpackPartitioner()]
    )
    return lowered.to_executorch()


@pytest.mark.parametrize("backend", BACKENDS)
def test_our_data_files_are_read_there(backend: str | None, peer: Ask, tmp_path: Path) -> None:
    _, inputs, expected = case()
    manager = with_weights_outside(backend)
    manager.save(tmp_path / "model.pte")
    manager.write_tensor_data_to_file(tmp_path)
    tensors = tmp_path / "tensors.pt"
    torch.save({"inputs": list(inputs)}, tensors)
    data = str(tmp_path / "weights.ptd")
    peer({"run": str(tmp_path / "model.pte"), "tensors": str(tensors), "data": data})
    assert_agree(torch.load(tensors)["outputs"], expected)


def test_tensors_of_one_name_in_a_data_file_are_read_there(peer: Ask, tmp_path: Path) -> None:
    """The methods have different weights with the same names."""
    module, inputs, expected = case()
    other = copy.deepcopy(module)
    for parameter in other.parameters():
        torch.nn.init.normal_(parameter)
    programs = {"another": torch.export.export(other, inputs), "forward": torch.export.export(module, inputs)}
    config = ExecutorchBackendConfig(external_constants=lambda node: "weights")
    manager = to_edge(programs).to_executorch(config)
    manager.save(tmp_path / "model.pte")
    manager.write_tensor_data_to_file(tmp_path)
    tensors = tmp_path / "tensors.pt"
    torch.save({"inputs": list(inputs)}, tensors)
    data = str(tmp_path / "weights.ptd")
    peer({"run": str(tmp_path / "model.pte"), "tensors": str(tensors), "data": data})
    assert_agree(torch.load(tensors)["outputs"], expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_its_data_files_are_read_here(backend: str | None, peer: Ask, tmp_path: Path) -> None:
    _, inputs, expected = case()
    peer(request(backend, weights=NAME, folder=str(tmp_path)))
    program = Runtime.get().load_program(tmp_path / "model.pte", data_path=tmp_path / "weights.ptd")
    assert_agree(list(program.load_method("forward").execute(list(inputs))), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_our_saved_programs_are_loaded_there(backend: str | None, peer: Ask, tmp_path: Path) -> None:
    module, inputs, expected = case()
    partitioner = None if backend is None else [XnnpackPartitioner()]
    edge = to_edge_transform_and_lower(torch.export.export(module, inputs), partitioner=partitioner)
    save(edge.exported_program(), tmp_path / "model.pt2")
    tensors = tmp_path / "tensors.pt"
    torch.save({"inputs": list(inputs)}, tensors)
    peer({"saved": str(tmp_path / "model.pt2"), "tensors": str(tensors)})
    assert_agree(torch.load(tensors)["outputs"], expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_its_saved_programs_are_loaded_here(backend: str | None, peer: Ask, tmp_path: Path) -> None:
    _, inputs, expected = case()
    peer(request(backend, save=NAME, folder=str(tmp_path)))
    module = load(tmp_path / "model.pt2").module()
    assert_agree(torch.utils._pytree.tree_leaves(module(*inputs)), expected)
