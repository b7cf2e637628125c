"""`rushlight compare` finds artificial errors in their operators, on kernels and inside delegates."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rushlight
from rushlight.backends.cpu.optimize import pipeline
from rushlight.backends.cpu.optimize.context import Context
from rushlight.backends.cpu.plan.node import Convolution, PlanNode
from rushlight.backends.cpu.plan.payload import read_plan, write_plan
from rushlight.backends.cpu.plan.tables import Elementwise, UnaryFunction
from rushlight.backends.xnnpack import graph as xnnpack
from rushlight.backends.xnnpack.payload import read_payload, write_payload
from rushlight.cli.exit_codes import DIFFERENT, ERROR, OK
from rushlight.cli.main import main
from rushlight.format.pte import PTEFile, read_pte, write_pte
from rushlight.format.segments import NamedDataEntry
from rushlight.passes import fold_batch_norm
from rushlight.runtime.libraries import include_dir, library_dir

MODEL = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 8, 3)
        self.last = torch.nn.Linear(8, 4)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(1, 2)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = torch.nn.functional.hardswish(self.second(x))
        x = torch.tanh(x.mean((2, 3)))
        x = self.last(x)
        return torch.softmax(x, -1)


def make():
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(1, 3, 8, 8),)
"""
BACKENDS = ("none", "cpu", "xnnpack")

RECURRENT = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.LSTM(8, 16, batch_first=True)
        self.last = torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.last(self.layer(x)[0][:, -1])


def make():
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(1, 5, 8),)
"""

# In the edge program, the halves of a split have names of other values in the program of torch.export.
SHUFFLED = """
import torch


class Unit(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.branch = torch.nn.Sequential(torch.nn.Conv2d(width, width, 1), torch.nn.BatchNorm2d(width))

    def forward(self, x):
        left, right = x.chunk(2, 1)
        x = torch.cat((left, self.branch(right)), 1)
        n, c, h, w = x.shape
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


def make():
    torch.manual_seed(0)
    first = torch.nn.Sequential(torch.nn.Conv2d(8, 24, 3, 2, 1), torch.nn.BatchNorm2d(24))
    return torch.nn.Sequential(first, Unit(12), Unit(12)).eval(), (torch.randn(1, 8, 8, 8),)
"""

# The CPU backend first computes a factor and a term for each channel. Their shapes are those of the
# statistics.
NORMED = """
import torch


def make():
    torch.manual_seed(0)
    norm = torch.nn.GroupNorm(16, 16)
    torch.nn.init.uniform_(norm.weight, 0.5, 2.0)
    first, last = torch.nn.Conv1d(1, 16, 10, 5, bias=False), torch.nn.Conv1d(16, 16, 3)
    layers = (first, norm, torch.nn.GELU(), last, torch.nn.Softmax(1), torch.nn.AvgPool1d(2))
    return torch.nn.Sequential(*layers).eval(), (torch.randn(1, 1, 100),)
"""

# An 8-bit convolution step also computes the sum, the ReLU and the quantization after it.
QUANTIZED = """
import torch

from rushlight import quantize
from rushlight.backends.cpu.quantizer import CpuQuantizer


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = (torch.nn.Conv2d(c, 16, 3, padding=1) for c in (3, 16, 16))

    def forward(self, x):
        x = torch.relu(self.first(x))
        return self.last(torch.relu(self.second(x) + x))


def make():
    torch.manual_seed(0)
    inputs = (torch.randn(1, 3, 8, 8),)
    quantizer = CpuQuantizer().set_global(quantize.static_int8())
    return quantize.quantize(quantize.export_float(Net().eval(), inputs), inputs, quantizer, [inputs]), inputs
"""

# The decomposed attention adds a mask of -inf to square matrices. Its views become kernels of another name.
ATTENTION = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(8, 24), torch.nn.Linear(8, 8)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.first(x).reshape(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.last(y.transpose(1, 2).reshape(b, t, d))


def make():
    torch.manual_seed(0)
    inputs = (torch.randn(1, 4, 8),)
    sizes = ({1: torch.export.Dim("t", min=2, max=16)},)
    return torch.export.export(Net().eval(), inputs, dynamic_shapes=sizes), inputs
"""

# The operators in bodies are executed never, once or several times.
CONTROL_FLOW = """
import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
        self.weight = torch.nn.Parameter(torch.randn(8, 8))

    def forward(self, x, count):
        first = torch.cond(x.sum() > 1e3, lambda x: self.first(x), lambda x: torch.sin(self.last(x)), (x,))
        _, y = while_loop(lambda i, y: i.sum() < 4, lambda i, y: (i + 1, torch.tanh(y) + y), (count, first))
        rows = y[None] + x[:, None]
        state, rows = scan(lambda h, x: ((h := torch.tanh(h @ self.weight + x)), h * 2), y * 0, rows)
        return state, rows.sum(0)


def make():
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(3, 8), torch.tensor([0]))
"""


def line(text: str) -> str:
    """Returns the location of a line of the model, such as "model.py:18"."""
    return f"model.py:{next(i for i, found in enumerate(MODEL.splitlines(), 1) if text in found)}"


class Compared:
    """A compiled model in a folder."""

    def __init__(self, folder: Path, backend: str, model: str = MODEL) -> None:
        self.path = folder / "net.pte"
        self.source = folder / "model.py"
        self.source.write_text(model)
        self.backend = ["--backend", backend]
        assert main(["compile", f"{self.source}:make", "-o", str(self.path), *self.backend]) == OK

    def change(self, change: Callable[[PTEFile], None]) -> None:
        file = read_pte(self.path.read_bytes())
        change(file)
        self.path.write_bytes(write_pte(file))

    def first(self, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any] | None:
        """Runs the command, and returns the first operator that it finds."""
        capsys.readouterr()
        module = ["--module", f"{self.source}:make"]
        code = main(["compare", str(self.path), *module, *self.backend, "--json", *options])
        found = json.loads(capsys.readouterr().out)
        assert code == (OK if found["first_departure"] is None else DIFFERENT)
        assert found["compared"] > 3
        first: dict[str, Any] | None = found["first_departure"]
        return first


@pytest.fixture
def compared(tmp_path: Path) -> Callable[[str], Compared]:
    return lambda backend: Compared(tmp_path, backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_right_program(
    backend: str, compared: Callable[[str], Compared], capsys: pytest.CaptureFixture[str]
) -> None:
    program = compared(backend)
    for options in (
        [],
        ["--stage", "edge", "--comparator", "snr"],
        ["--accumulate", "--comparator", "mse"],
        ["--comparator", "l1"],
        ["--comparator", "cosine"],
    ):
        assert program.first(capsys, *options) is None


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "model",
    [RECURRENT, SHUFFLED, NORMED, QUANTIZED, ATTENTION, CONTROL_FLOW],
    ids=["recurrent", "shuffled", "normed", "quantized", "attention", "control flow"],
)
def test_values_that_are_easily_confused(
    backend: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """States, halves, statistics of groups, and a value before and after a ReLU have equal sizes or names."""
    assert Compared(tmp_path, backend, model).first(capsys) is None


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("comparator", ["max", "snr", "mse"])
def test_a_wrong_weight(
    backend: str, comparator: str, compared: Callable[[str], Compared], capsys: pytest.CaptureFixture[str]
) -> None:
    program = compared(backend)

    def change(file: PTEFile) -> None:
        """Changes the largest number in the largest weight, which belongs to the second convolution."""
        found = [bytes(memoryview(entry.data)) for entry in file.named_data.values()]
        keys: list[Any] = list(file.named_data)
        if not keys:
            found, keys = [bytes(memoryview(item)) for item in file.constants], [*range(len(file.constants))]
        key, data = max(zip(keys, found, strict=True), key=lambda item: len(item[1]))
        values = np.frombuffer(data, np.float32).copy()
        values[np.abs(values).argmax()] *= -3
        if file.named_data:
            file.named_data[key] = NamedDataEntry(values.tobytes(), 64)
        else:
            file.constants[key] = values.tobytes()

    program.change(change)
    first = program.first(capsys, "--comparator", comparator)
    assert first is not None
    assert "aten.convolution.default" in first["operators"] and "second" in first["modules"]
    assert Path(first["lines"][0]).name == line("self.second(x)")


def test_a_wrong_weight_in_a_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first iteration multiplies by zeros, so that the second one is the first with a wrong value."""
    program = Compared(tmp_path, "none", CONTROL_FLOW)

    def change(file: PTEFile) -> None:
        found = [np.frombuffer(bytes(memoryview(item)), np.uint8) for item in file.constants]
        sizes = [item.nbytes for item in found]
        largest = [np.abs(item.view(np.float32)).max() if item.nbytes == 256 else 0.0 for item in found]
        key = int(np.argmax(largest))
        assert sizes.count(256) == 3  # the weights of the linear layers are smaller than 1
        values = found[key].view(np.float32).copy()
        values[np.abs(values).argmax()] *= -3
        file.constants[key] = values.tobytes()

    program.change(change)
    first = program.first(capsys)
    assert first is not None
    assert first["operators"] == ["aten.mm.default"] and first["execution"] == 1
    assert Path(first["lines"][0]).name == "model.py:17"
    command = ["compare", str(program.path), "--module", f"{program.source}:make", *program.backend]
    assert main(command) == DIFFERENT
    assert "iteration 2 of a loop" in capsys.readouterr().out


def _plant_in_cpu_plan(payload: bytes) -> bytes:
    plan = read_plan(payload)
    for step in plan.steps:
        if isinstance(step.operation, Elementwise):
            for instruction in step.operation.code:
                if instruction.unary == UnaryFunction.TANH:
                    instruction.unary = UnaryFunction.SIGMOID
    return write_plan(plan)


def _plant_in_xnnpack_graph(payload: bytes) -> bytes:
    graph, constants = read_payload(payload)
    for node in graph.xnodes:
        if isinstance(node.xnode_union, xnnpack.XNNTanh):
            node.xnode_union = xnnpack.XNNSigmoid(**vars(node.xnode_union))
    return write_payload(graph, bytes(constants))


@pytest.mark.parametrize(
    "backend, plant", [("cpu", _plant_in_cpu_plan), ("xnnpack", _plant_in_xnnpack_graph)]
)
def test_a_wrong_kernel_inside_a_delegate(
    backend: str,
    plant: Callable[[bytes], bytes],
    compared: Callable[[str], Compared],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The step that computes tanh computes another function.

    With an ETRecord, compare does not check that the program has the steps of the compiled model.
    """
    program = compared(backend)
    model, record = ["--module", f"{program.source}:make"], ["--etrecord", f"{program.path}.etrecord"]
    assert main(["compile", model[1], "-o", str(program.path), *program.backend, *record]) == OK

    def change(file: PTEFile) -> None:
        file.delegate_data[:] = [plant(bytes(memoryview(item))) for item in file.delegate_data]

    program.change(change)
    first = program.first(capsys, *record)
    assert first is not None
    assert "aten.tanh.default" in first["operators"] and "aten.linear.default" not in first["operators"]
    assert [Path(place).name for place in first["lines"]][-1] == line("torch.tanh")
    assert main(["compare", str(program.path), *model, *program.backend, *record]) == DIFFERENT
    assert f"{line('torch.tanh')}: x = torch.tanh(x.mean((2, 3)))" in capsys.readouterr().out


KERNEL = """
#include "rushlight/core/library.h"
using namespace rushlight;
static void twice(KernelRuntimeContext&, const Tensor& x, Tensor& out) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = x.const_data_ptr<float>()[i] * (i == 5 ? 3 : 2);
  }
}
static const Kernel rows[] = {{"planted::twice.out", boxed<&twice>, {}}};
RUSHLIGHT_KERNEL_LIBRARY("planted", rows);
"""
KERNEL_MODEL = """
import torch

library = torch.library.Library("planted", "FRAGMENT")
if not hasattr(torch.ops.planted, "twice"):
    library.define("twice(Tensor x) -> Tensor")
    library.define("twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")


class Net(torch.nn.Module):
    def forward(self, x):
        x = torch.sin(x)
        x = torch.ops.planted.twice(x)
        return torch.cos(x)


def make():
    return Net(), (torch.linspace(1, 2, 12).reshape(3, 4),)
"""


@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "c++")) is None, reason="there is no C++ compiler")
def test_a_wrong_kernel_of_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, library = tmp_path / "kernel.cpp", tmp_path / "libplanted.so"
    source.write_text(KERNEL)
    flags = ["-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-DRUSHLIGHT_SHARED_LIBRARY"]
    command = [os.environ.get("CXX", "c++"), *flags, f"-I{include_dir()}", str(source), "-o", str(library)]
    subprocess.run([*command, f"-L{library_dir()}", "-lrushlight_core"], check=True)
    (tmp_path / "planted_model.py").write_text(KERNEL_MODEL)
    path = tmp_path / "net.pte"
    options = ["--backend", "none", "--kernel-library", str(library)]
    module = f"{tmp_path / 'planted_model.py'}:make"
    assert main(["compile", module, "-o", str(path), *options]) == OK
    capsys.readouterr()
    assert main(["compare", str(path), "--module", module, "--json", *options]) == DIFFERENT
    facts = json.loads(capsys.readouterr().out)
    assert facts["first_departure"]["operators"] == ["planted.twice.default"]
    assert Path(facts["first_departure"]["lines"][0]).name == "planted_model.py:14"
    # The cosine of the wrong value is right.
    assert [step["departs"] for step in facts["steps"]] == [False, True, False]


def test_a_wrong_fusion_in_a_plan(
    compared: Callable[[str], Compared],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lose_activation(steps: list[PlanNode], context: Context) -> list[PlanNode]:
        """Fuses hardswish into the convolution before it as another activation."""
        for step in steps:
            found = step.of(Convolution)
            if found is not None and found.epilogue.function == UnaryFunction.HARDSWISH:
                step.operation = replace(
                    found, epilogue=replace(found.epilogue, function=UnaryFunction.SIGMOID)
                )
        return steps

    monkeypatch.setattr(pipeline, "PASSES", (lose_activation, *pipeline.PASSES))
    first = compared("cpu").first(capsys)
    assert first is not None
    assert first["operators"] == ["aten.convolution.default", "aten.hardswish.default"]
    assert Path(first["lines"][0]).name == line("hardswish")


def test_a_wrong_fusion_on_kernels(
    compared: Callable[[str], Compared],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scaled = fold_batch_norm._scaled
    monkeypatch.setattr(
        fold_batch_norm, "_scaled", lambda weight, scale, *rest: scaled(weight, scale * 1.1, *rest)
    )
    first = compared("none").first(capsys)
    assert first is not None
    assert first["modules"] == ["first", "norm"]
    assert Path(first["lines"][0]).name == line("self.norm(")


def test_tolerances_inputs_and_stages(
    compared: Callable[[str], Compared], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = compared("none")

    def change(file: PTEFile) -> None:
        values = np.frombuffer(bytes(memoryview(file.constants[-1])), np.float32)
        file.constants[-1] = (values * 1.01).tobytes()

    program.change(change)
    assert program.first(capsys) is not None
    assert program.first(capsys, "--rtol", "0.1") is None
    assert program.first(capsys, "--atol", "1") is None
    np.save(tmp_path / "zeros.npy", np.zeros((1, 3, 8, 8), np.float32))
    assert program.first(capsys, "--inputs", str(tmp_path / "zeros.npy"), "--all") is not None
    command = ["compare", str(program.path), "--module", f"{program.source}:make", *program.backend]
    assert main([*command, "--stage", "none"]) == ERROR
    assert "no graph 'none'" in capsys.readouterr().err
    assert main([*command, "--all"]) == DIFFERENT
    printed = capsys.readouterr().out
    assert "<<" in printed and "first difference" in printed


class Same(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_a_method_without_operators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = rushlight.compile(Same(), (torch.ones(2),), generate_etrecord=True)
    program.save(tmp_path / "same.pte")
    program.get_etrecord().save(tmp_path / "same.etrecord")
    assert main(["compare", str(tmp_path / "same.pte")]) == 1
    assert "the method runs no operator whose value could be compared" in capsys.readouterr().err
