"""Constants of delegates and kernels in separate files, which programs share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export.experimental import _export_forward_backward

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.compiler.executorch import ExecutorchProgramManager
from rushlight.exir import to_edge, to_edge_transform_and_lower
from rushlight.ir.errors import CompileError
from rushlight.passes.move_constants_to_files import DEFAULT_TAG, delegate_external_constants_pass_unlifted

X = torch.randn(1, 512)


def lowered(model: Any, partitioner: Any, tag_of: Any, x: torch.Tensor = X) -> Any:
    captured = torch.export.export(model.eval(), (x,)).module()
    delegate_external_constants_pass_unlifted(captured, tag_of)
    return to_edge_transform_and_lower(torch.export.export(captured, (x,)), partitioner=[partitioner()])


@pytest.mark.parametrize("partitioner", [CpuPartitioner, XnnpackPartitioner])
def test_tagged_constants_lie_outside(partitioner: Any, tmp_path: Any) -> None:
    model = torch.nn.Linear(512, 512)
    program = lowered(model, partitioner, lambda node: "weights").to_executorch()
    assert len(program.buffer) < 4000
    program.write_tensor_data_to_file(str(tmp_path))
    (file,) = tmp_path.iterdir()
    assert file.name == "weights.ptd" and file.stat().st_size > 2**20
    torch.testing.assert_close(rushlight.load(program, data_path=file)(X), model(X), atol=1e-4, rtol=1e-4)
    with pytest.raises(rushlight.runtime.errors.RushlightError):
        rushlight.load(program)(X)


@pytest.mark.parametrize("partitioner", [CpuPartitioner, XnnpackPartitioner])
def test_two_files_for_one_operator_are_refused(partitioner: Any) -> None:
    model = torch.nn.Linear(512, 512)
    with pytest.raises(CompileError, match="p_weight in 'weight', p_bias in 'bias': give these constants"):
        lowered(model, partitioner, lambda node: str(node.target))


SIZE, RANK = 1024, 4


class Adapted(torch.nn.Module):
    """A matrix of the base model, and a low-rank adapter."""

    def __init__(self, foundation: torch.nn.Parameter) -> None:
        super().__init__()
        self.foundation = foundation
        self.down = torch.nn.Parameter(torch.randn(SIZE, RANK) / 32)
        self.up = torch.nn.Parameter(torch.randn(RANK, SIZE))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ self.foundation + x @ self.down @ self.up)


def file_of(node: torch.fx.Node, adapter: str) -> str:
    return "foundation" if "foundation" in str(node.target) else adapter


def compiled(kind: str, model: torch.nn.Module, adapter: str, x: torch.Tensor) -> ExecutorchProgramManager:
    def tag_of(node: torch.fx.Node) -> str:
        return file_of(node, adapter)

    if kind == "kernels":
        config = ExecutorchBackendConfig(external_constants=tag_of)
        return to_edge(torch.export.export(model, (x,))).to_executorch(config)
    partitioner = {"cpu": CpuPartitioner, "xnnpack": XnnpackPartitioner}[kind]
    manager: ExecutorchProgramManager = lowered(model, partitioner, tag_of, x).to_executorch()
    return manager


MEASURE = """
import sys
import numpy as np
import rushlight

def proportional() -> int:
    with open("/proc/self/smaps_rollup") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))

folder, x = sys.argv[1], np.ones((1, 1024), np.float32)
before, programs = proportional(), []
for number in range(2):
    files = [folder + "/foundation.ptd", folder + f"/adapter{number}.ptd"]
    programs.append(rushlight.load(folder + f"/{number}.pte", data_path=files))
    programs[-1](x)
    after = proportional()
    print(after - before)
    before = after
"""


@pytest.mark.parametrize("kind", ["cpu", "xnnpack", "kernels"])
def test_adapters_share_the_file_of_their_foundation(kind: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    foundation = torch.nn.Parameter(torch.randn(SIZE, SIZE) / 32)
    x = torch.randn(1, SIZE)
    contents = []
    for number in range(2):
        model = Adapted(foundation).eval()
        manager = compiled(kind, model, f"adapter{number}", x)
        assert set(manager.data_files) == {"foundation", f"adapter{number}"}
        manager.save(tmp_path / f"{number}.pte")
        manager.write_tensor_data_to_file(tmp_path)
        contents.append((tmp_path / "foundation.ptd").read_bytes())
        files = [tmp_path / "foundation.ptd", tmp_path / f"adapter{number}.ptd"]
        result = rushlight.load(manager, data_path=files)(x)
        torch.testing.assert_close(result, model(x), atol=1e-3, rtol=1e-3)
    assert contents[0] == contents[1]
    weights = 4 * SIZE * SIZE
    assert weights <= len(contents[0]) < weights + 8192
    assert (tmp_path / "adapter0.ptd").stat().st_size < weights // 8
    assert (tmp_path / "1.pte").stat().st_size < 8192
    if not Path("/proc/self/smaps_rollup").exists():
        return
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    first, second = map(int, measured.stdout.split())
    assert first > weights / 2, "the first program reads the foundation"
    assert second < weights / 2, "the second one finds it in memory"


class Loss(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.weight).sum()


def test_trained_weights_lie_outside_and_are_read_at_load(tmp_path: Path) -> None:
    x = torch.tensor([1.0, 10.0, 100.0])
    joint = _export_forward_backward(torch.export.export(Loss(), (x,)))
    config = ExecutorchBackendConfig(external_mutable_weights=True)
    program = to_edge(joint).to_executorch(config)
    assert program._emitter_output.external_constant_map == {DEFAULT_TAG: {"weight": 0}}
    program.save(tmp_path / "joint.pte")
    program.write_tensor_data_to_file(str(tmp_path))
    model = rushlight.load(tmp_path / "joint.pte", data_path=[str(tmp_path / f"{DEFAULT_TAG}.ptd")])
    loss, gradient, weight = model(x)
    assert loss == 321 and torch.equal(gradient, x) and weight.tolist() == [1, 2, 3]


def test_a_manager_has_the_named_data_of_all_delegates() -> None:
    x = torch.randn(1, 8)
    methods = {name: torch.export.export(torch.nn.Linear(8, 8), (x,)) for name in ("first", "second")}
    manager = to_edge_transform_and_lower(methods, partitioner=[XnnpackPartitioner()])
    output = manager._named_data_store.get_named_data_store_output()
    assert len(output.pte_data) == 4 and len(output.buffers) == 4
    assert not to_edge(methods)._named_data_store.get_named_data_store_output().buffers
