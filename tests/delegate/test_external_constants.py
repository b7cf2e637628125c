"""Constants of delegates in files of their own."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import rushlight
from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.exir import to_edge_transform_and_lower
from rushlight.ir.errors import CompileError
from rushlight.passes.move_constants_to_files import delegate_external_constants_pass_unlifted

X = torch.randn(1, 512)


def lowered(model: Any, partitioner: Any, tag_of: Any) -> Any:
    captured = torch.export.export(model.eval(), (X,)).module()
    delegate_external_constants_pass_unlifted(captured, tag_of)
    return to_edge_transform_and_lower(torch.export.export(captured, (X,)), partitioner=[partitioner()])


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


def test_two_files_for_one_delegate_are_refused() -> None:
    model = torch.nn.Linear(512, 512)
    with pytest.raises(CompileError, match="p_weight in 'weight', p_bias in 'bias': give all constants"):
        lowered(model, CpuPartitioner, lambda node: str(node.target))
