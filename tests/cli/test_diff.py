"""`rushlight diff`: the differences and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import rushlight
from rushlight.cli.diff import differences
from rushlight.cli.exit_codes import DIFFERENT, ERROR, OK
from rushlight.cli.main import main


def compiled(path: Path, *layers: torch.nn.Module) -> Path:
    torch.manual_seed(0)
    program = rushlight.compile(torch.nn.Sequential(*layers), (torch.randn(2, 4),), partitioner=())
    program.save(path)
    return path


def test_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = compiled(tmp_path / "one.pte", torch.nn.Linear(4, 4), torch.nn.ReLU())
    two = compiled(tmp_path / "two.pte", torch.nn.Linear(4, 4), torch.nn.Tanh())
    facts = differences(one, two)
    changed = facts["methods"]["forward"]
    assert "- aten::relu.out" in changed["instructions"] and "+ aten::tanh.out" in changed["instructions"]
    assert main(["diff", str(one), str(two)]) == DIFFERENT
    assert "+ aten::tanh.out" in capsys.readouterr().out
    assert main(["diff", "--json", str(one), str(two)]) == DIFFERENT
    assert json.loads(capsys.readouterr().out) == facts


def test_other_weights(tmp_path: Path) -> None:
    layer = torch.nn.Linear(4, 4)
    one = compiled(tmp_path / "one.pte", layer)
    with torch.no_grad():
        layer.weight += 1
    facts = differences(one, compiled(tmp_path / "two.pte", layer))
    assert facts["differs"] and not facts["methods"] and facts["data_changed"]


def test_equal_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = compiled(tmp_path / "one.pte", torch.nn.ReLU())
    assert main(["diff", str(one), str(one)]) == OK
    assert "equal" in capsys.readouterr().out
    assert main(["diff", str(one), str(tmp_path / "none.pte")]) == ERROR
