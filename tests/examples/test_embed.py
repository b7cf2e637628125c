"""examples/embed: programs in C++ applications, with a heap and without."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import rushlight


@pytest.fixture(scope="module")
def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5)
    ).eval()


def run(command: Path, program: bytes, expected: torch.Tensor, *arguments: str) -> str:
    done = subprocess.run([str(command), *arguments], input=program, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    got = torch.tensor([float(line) for line in done.stdout.split()])
    torch.testing.assert_close(got, expected.flatten().detach(), rtol=1e-4, atol=1e-5)
    return done.stderr.decode()


def test_on_a_host(build_example: Callable[[str], Path], model: nn.Module, tmp_path: Path) -> None:
    rushlight.compile(model, (torch.ones(1, 1, 8, 8),)).save(tmp_path / "model.pte")
    host = build_example("embed") / "host"
    run(host, b"", model(torch.ones(1, 1, 8, 8)), str(tmp_path / "model.pte"))
    done = subprocess.run([str(host), str(tmp_path / "none.pte")], capture_output=True, text=True)
    assert done.returncode == 1 and "none.pte" in done.stderr


def test_without_a_heap(build_example: Callable[[str], Path], model: nn.Module) -> None:
    program = rushlight.compile(model, (torch.ones(1, 1, 8, 8),), partitioner=()).buffer
    device = build_example("embed") / "device"
    assert "bytes of structures" in run(device, program, model(torch.ones(1, 1, 8, 8)))
    done = subprocess.run([str(device)], input=program[:-200], capture_output=True)
    assert done.returncode == 1 and done.stderr
