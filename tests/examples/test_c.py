"""examples/c: a program in a C99 application."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

import rushlight


def test_a_c_application(build_example: Callable[[str], Path], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).eval()
    ones = torch.ones(1, 1, 8, 8)
    rushlight.compile(model, (ones,)).save(tmp_path / "model.pte")
    classify = build_example("c") / "classify"
    done = subprocess.run([str(classify), str(tmp_path / "model.pte")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = torch.tensor([float(line) for line in done.stdout.split()])
    torch.testing.assert_close(printed, model(ones).flatten().detach(), rtol=1e-4, atol=1e-5)

    (tmp_path / "damaged.pte").write_bytes((tmp_path / "model.pte").read_bytes()[:200])
    done = subprocess.run([str(classify), str(tmp_path / "damaged.pte")], capture_output=True, text=True)
    assert done.returncode == 1 and "InvalidProgram" in done.stderr
