"""`rushlight profile`: lines of the model's Python code, ETRecords of other programs, traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import rushlight
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.cli.main import main

MODEL = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = torch.nn.Linear(64, 256)

    def forward(self, x):
        y = torch.relu(self.wide(x))
        return torch.softmax(y + 1, -1)


def make():
    return Net().eval(), (torch.randn(2, 64),)
"""
PARTITIONERS: dict[str, Any] = {"cpu": None, "kernels": (), "xnnpack": (XnnpackPartitioner(),)}


class Other(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)


def compiled(folder: Path, partitioner: Any = None) -> Path:
    (folder / "model.py").write_text(MODEL)
    space: dict[str, Any] = {}
    exec(compile(MODEL, str(folder / "model.py"), "exec"), space)
    model, inputs = space["make"]()
    program = rushlight.compile(model, inputs, partitioner=partitioner, generate_etrecord=True)
    program.save(folder / "net.pte")
    program.get_etrecord().save(folder / "net.etrecord")
    return folder / "net.pte"


def profiled(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["profile", *arguments, "--json"]) == 0
    facts: dict[str, Any] = json.loads(capsys.readouterr().out)
    return facts


@pytest.mark.parametrize(
    ("backend", "steps"),
    [("cpu", {"GEMM", "softmax"}), ("kernels", {"native_call_add.out", "native_call_relu.out"})],
)
def test_steps_need_no_record(
    backend: str, steps: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = compiled(tmp_path, PARTITIONERS[backend])
    (tmp_path / "net.etrecord").unlink()
    facts = profiled(capsys, str(path), "--by", "step", "--runs", "3")
    names = [row["name"] for row in facts["steps"]]
    assert len(names) == len(set(names)) and steps <= set(names)
    assert facts["total"] == pytest.approx(sum(row["time"] for row in facts["steps"]))
    assert main(["profile", str(path), "--by", "line"]) == 1
    assert "--by step" in capsys.readouterr().err


@pytest.mark.parametrize("backend", PARTITIONERS)
def test_lines_of_the_model(backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compiled(tmp_path, PARTITIONERS[backend])
    facts = profiled(capsys, str(path), "--runs", "3")
    lines = {Path(line["name"]).name: line for line in facts["lines"]}
    assert {"model.py:11", "model.py:12"} <= set(lines)
    assert lines["model.py:11"]["code"] == "y = torch.relu(self.wide(x))"
    assert "wide" in lines["model.py:11"]["modules"]
    assert "aten.relu.default" in lines["model.py:11"]["operators"]
    assert facts["runs"] == 3 and sum(line["share"] for line in facts["lines"]) == pytest.approx(1)


@pytest.mark.parametrize("by", ["module", "operator"])
def test_costs_of_modules_and_operators(by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = profiled(capsys, str(compiled(tmp_path, ())), "--by", by, "--runs", "2")
    names = {row["name"] for row in facts[f"{by}s"]}
    assert {"module": "wide", "operator": "aten.relu.default"}[by] in names
    assert sum(row["time"] for row in facts[f"{by}s"]) == pytest.approx(facts["total"])


def test_the_model_in_the_place_of_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compiled(tmp_path)
    (tmp_path / "net.etrecord").unlink()
    assert main(["profile", str(path)]) == 1
    assert "rushlight profile --by step` needs neither" in capsys.readouterr().err
    facts = profiled(capsys, str(path), "--module", f"{tmp_path / 'model.py'}:make", "--runs", "1")
    assert {Path(line["name"]).name for line in facts["lines"]} >= {"model.py:11", "model.py:12"}


def test_a_record_of_another_program_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compiled(tmp_path)
    other = rushlight.compile(Other(), (torch.randn(2, 64),), generate_etrecord=True)
    other.get_etrecord().save(tmp_path / "other.etrecord")
    assert main(["profile", str(path), "--etrecord", str(tmp_path / "other.etrecord")]) == 1
    assert "other.etrecord" in capsys.readouterr().err


def test_table_trace_and_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compiled(tmp_path)
    trace, dump = tmp_path / "trace.json", tmp_path / "net.etdp"
    options = ["--top", "1", "--trace", str(trace), "--etdump", str(dump), "--events"]
    assert main(["profile", str(path), *options]) == 0
    printed = capsys.readouterr().out
    assert "DELEGATE_CALL" in printed and "median of 20 runs" in printed
    assert json.loads(trace.read_text())["traceEvents"]
    assert dump.stat().st_size > 0
