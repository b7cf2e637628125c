"""The operations and bytes of steps, and the table of `rushlight bench --roofline`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.backends.cpu.support import Kind, lower, plan_of
from torch import nn

from rushlight.backends.cpu.partitioner import CpuPartitioner
from rushlight.backends.cpu.plan.tables import Attention, BlockGemm, DepthwiseConv2d, Gemm, MatMul, Softmax
from rushlight.backends.cpu.plan.work import work_of
from rushlight.cli.main import main
from rushlight.runtime import Runtime, _native


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 16, 3, 2, 1)
        self.depthwise = nn.Conv2d(16, 16, 5, padding=2, groups=16)
        self.linear = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.depthwise(torch.relu(self.conv(x)))
        y = self.linear(y.flatten(2).transpose(1, 2))
        return torch.softmax(y @ y.transpose(1, 2), -1)


IMAGE = (torch.randn(1, 8, 12, 12),)
OPERATIONS = {
    Gemm: {2 * 36 * 16 * 9 * 8, 2 * 36 * 16 * 10},
    DepthwiseConv2d: {2 * 36 * 16 * 25},
    MatMul: {2 * 36 * 36 * 10},
    Softmax: {0},
}


def test_operations_are_those_of_the_layers() -> None:
    found: dict[Kind, set[int]] = {}
    for work in work_of(plan_of(lower(Net(), IMAGE)[0])):
        found.setdefault(work.kind, set()).add(work.operations)
    assert {kind: found[kind] for kind in OPERATIONS} == OPERATIONS


def test_blocks_count_as_the_floats_that_they_stand_for() -> None:
    partitioner = CpuPartitioner("avx2", float32_matmul_precision="high")
    program, _ = lower(nn.Linear(200, 600), (torch.randn(100, 200),), partitioner=partitioner)
    (work,) = work_of(plan_of(program))
    assert work.kind is BlockGemm
    assert work.operations == 2 * 100 * 200 * 600
    assert 200 * 608 * 2 <= work.bytes - 4 * 100 * (200 + 600) <= 200 * 608 * 2 + 5000


def test_attention_counts_both_products() -> None:
    shapes = ((2, 3, 5, 8), (2, 3, 9, 8), (2, 3, 9, 4))
    program, _ = lower(nn.functional.scaled_dot_product_attention, tuple(torch.randn(s) for s in shapes))
    (work,) = [w for w in work_of(plan_of(program)) if w.kind is Attention]
    assert work.operations == 2 * 2 * 3 * 5 * 9 * (8 + 4)
    assert work.bytes >= 4 * (2 * 3 * (5 * 8 + 9 * 8 + 9 * 4 + 5 * 4))


def test_dynamic_sizes_count_at_their_upper_bound() -> None:
    shapes = ({0: torch.export.Dim("n", min=2, max=7)},)
    program, _ = lower(nn.Linear(6, 5), (torch.randn(3, 6),), shapes)
    assert max(work.operations for work in work_of(plan_of(program))) == 2 * 7 * 6 * 5


def test_a_timed_method_tells_of_every_step() -> None:
    program, _ = lower(Net(), IMAGE)
    method = Runtime.get().load_program(program).load_timed_method("forward")
    method.execute(list(IMAGE))
    steps = [timing for timing in method.timings() if timing[3]]
    assert len(steps) == len(plan_of(program).steps)
    assert all(seconds >= 0 for *_, seconds in steps)
    assert any(name == "depthwise convolution" for name, *_ in steps)
    method.execute(list(IMAGE))
    assert len([timing for timing in method.timings() if timing[3]]) == len(steps)


def test_peaks_are_measured() -> None:
    arithmetic, bandwidth, alone = _native.machine_peaks(1)
    assert arithmetic > 1e8 and bandwidth > 1e7 and alone == 0
    assert _native.machine_peaks(2)[2] > 0


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.pte"
    path.write_bytes(lower(Net(), IMAGE)[0])
    np.save(tmp_path / "x.npy", IMAGE[0].numpy())
    inputs = str(tmp_path / "x.npy")
    assert not main(["bench", str(path), "--inputs", inputs, "--seconds", "0.05", "--roofline"])
    text = capsys.readouterr().out
    assert (
        "GFLOP/s and" in text and "depthwise convolution" in text and "1x16x6x6" not in text.split("step")[0]
    )
    assert "1x6x6x16" in text and "softmax" in text
