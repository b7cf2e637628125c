"""`rushlight profile`: lines of the model's Python code, ETRecords of other programs, traces."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.fresh import run_python

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
    [("cpu", {"GEMM", "softmax"}), ("kernels", {"aten::add.out", "aten::relu.out"})],
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
    expected = {
        "module": {"wide", "(the model itself)"},
        "operator": {"aten.relu.default", "aten.add.Tensor"},
    }
    assert expected[by] <= names
    assert sum(row["time"] for row in facts[f"{by}s"]) == pytest.approx(facts["total"])


def test_the_model_in_the_place_of_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compiled(tmp_path)
    (tmp_path / "net.etrecord").unlink()
    assert main(["profile", str(path)]) == 1
    assert "rushlight profile --by step` needs neither" in capsys.readouterr().err
    facts = profiled(capsys, str(path), "--module", f"{tmp_path / 'model.py'}:make", "--runs", "1")
    assert {Path(line["name"]).name for line in facts["lines"]} >= {"model.py:11", "model.py:12"}


def test_another_model_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message names the operators, also if both models are one call of a delegate."""
    path = compiled(tmp_path)
    text = "import torch\ndef make():\n    return torch.nn.Linear(64, 3), (torch.ones(2, 64),)\n"
    (tmp_path / "other.py").write_text(text)
    assert main(["profile", str(path), "--module", f"{tmp_path / 'other.py'}:make"]) == 1
    message = capsys.readouterr().err
    assert "are GEMM, " in message and "the compiled model has GEMM;" in message


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
    assert re.search(r"^ *\d[\d.]* (ns|us|ms) +\d+\.\d%  \S*model.py:1[12] ", printed, re.M)


@pytest.mark.parametrize("backend", PARTITIONERS)
def test_a_step_has_one_name(backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands profile and inspect name the steps alike."""
    path = compiled(tmp_path, PARTITIONERS[backend])
    ran = {row["name"] for row in profiled(capsys, str(path), "--by", "step", "--runs", "1")["steps"]}
    assert main(["inspect", str(path), "--json"]) == 0
    (graph,) = json.loads(capsys.readouterr().out)["graphs"]
    assert ran == {node["name"] for node in graph["nodes"] if node["instruction"] >= 0}


def test_ones_of_a_dtype_that_numpy_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sixteen.pte"
    rushlight.compile(Other(), (torch.ones(3, dtype=torch.bfloat16),)).save(path)
    assert profiled(capsys, str(path), "--by", "step", "--runs", "1")["steps"]
    assert main(["run", str(path), "--outputs", str(tmp_path)]) == 0
    assert "bfloat16[3] [0.76" in capsys.readouterr().out
    assert np.load(tmp_path / "output_0.npy") == pytest.approx(np.tanh(np.ones(3)), rel=1e-2)
    assert main(["run", str(path), "--json"]) == 0
    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    assert output["dtype"] == "bfloat16" and output["values"] == pytest.approx([0.7616] * 3, rel=1e-2)


OPERATORS = """
import torch

torch.library.define("profiled::triple", "(Tensor x) -> Tensor")
torch.library.define("profiled::triple.out", "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
torch.library.impl("profiled::triple", "CompositeExplicitAutograd")(lambda x: 3 * x)
torch.library.register_fake("profiled::triple")(torch.empty_like)
torch.library.impl("profiled::triple.out", "CompositeExplicitAutograd")(lambda x, out: out.copy_(3 * x))


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.ops.profiled.triple(x + 1)


def make():
    return Net(), (torch.ones(3),)
"""


WRITE = """
import operators
import rushlight
from rushlight.compiler.config import ExecutorchBackendConfig
from rushlight.target.kernel_table import host_kernel_table

config = ExecutorchBackendConfig(target=host_kernel_table().with_operators(["profiled::triple.out"]))
program = rushlight.compile(*operators.make(), backend_config=config, generate_etrecord=True)
program.save("net.pte")
program.get_etrecord().save("net.etrecord")
"""
INSPECT = "import sys; from rushlight.cli.main import main; sys.exit(main(sys.argv[1:]))"


def test_operators_of_the_user_are_imported(tmp_path: Path) -> None:
    """An ETRecord with operators of the user can be read after the import of their module."""
    (tmp_path / "operators.py").write_text(OPERATORS)
    done = run_python(WRITE, cwd=tmp_path, environment={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    done = run_python(INSPECT, "inspect", "net.pte", cwd=tmp_path)
    assert done.returncode == 1
    assert "profiled.triple.default, which is not registered" in done.stderr and "--import" in done.stderr
    done = run_python(INSPECT, "inspect", "net.pte", "--json", "--import", "operators.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (graph,) = json.loads(done.stdout)["graphs"]
    lines = {node["name"]: node["lines"] for node in graph["nodes"]}
    assert [Path(line).name for line in lines["profiled::triple.out"]] == ["operators.py:13"]
    done = run_python(INSPECT, "inspect", "net.pte", "--import", "absent.py", cwd=tmp_path)
    assert done.returncode == 1 and "the file absent.py does not exist" in done.stderr


class Rows(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(4, 8)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.table(rows))


@pytest.mark.parametrize(
    ("backend", "operator"), [("cpu", "in a gather (debug handle"), ("kernels", "(aten::embedding.out)")]
)
@pytest.mark.parametrize("command", ["profile", "compare", "run"])
def test_a_failed_call_names_its_operator(
    command: str, backend: str, operator: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = (torch.zeros(3, dtype=torch.int64),)
    program = rushlight.compile(Rows(), inputs, partitioner=PARTITIONERS[backend], generate_etrecord=True)
    program.save(tmp_path / "rows.pte")
    program.get_etrecord().save(tmp_path / "rows.etrecord")
    np.save(tmp_path / "rows.npy", np.array([0, 3, 9]))
    assert main([command, str(tmp_path / "rows.pte"), "--inputs", str(tmp_path / "rows.npy")]) == 1
    message = capsys.readouterr().err
    assert "method 'forward', instruction 0" in message and operator in message and "index 9" in message
