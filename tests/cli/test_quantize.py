"""`rushlight quantize`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import rushlight
from rushlight.cli.main import main

MODEL = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.head = nn.Linear(144, 10)

    def forward(self, x):
        return self.head(torch.relu(self.conv(x)).flatten(1))


def net():
    torch.manual_seed(0)
    return Net(), (torch.zeros(2, 1, 8, 8),)


def sine():
    class Sine(nn.Module):
        def forward(self, x):
            return torch.sin(x)
    return Sine(), (torch.zeros(3),)


def data():
    torch.manual_seed(1)
    return [torch.rand(2, 1, 8, 8) for _ in range(4)]


def other_size():
    return [torch.rand(2, 1, 8, 8), torch.rand(2, 1, 9, 8)]


def other_dtype():
    return [torch.ones(2, 1, 8, 8, dtype=torch.int64)]


def two_each():
    return [(torch.rand(2, 1, 8, 8), torch.rand(3))]


def words():
    return ["word"]


def nothing():
    pass


def bad():
    return [torch.full((2, 1, 8, 8), torch.nan)]


def mine():
    from rushlight.backends.cpu.quantizer import CpuQuantizer
    from rushlight.quantize import dynamic_int8
    return CpuQuantizer().set_global(dynamic_int8())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "quantized_model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_report_names_layers_and_the_runtime(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["quantized_model.py:net", "--data", "quantized_model.py:data", "--report", "--sensitivity"]
    assert main(["quantize", *arguments, "--html", "report.html"]) == 0
    out = capsys.readouterr().out
    assert "conv.conv2d" in out and "head.linear" in out and "quantized_model.py:13" in out
    assert "compiled, in the runtime" in out and "No layer is below 10 dB." in out
    assert "All layers quantized" in out and "net-static_int8.pte" in out
    page = (folder / "report.html").read_text()
    assert (
        page.count("<html") == 1
        and "End to end" in page
        and "Error of the outputs with one layer quantized" in page
    )
    images = np.random.default_rng(0).random((2, 1, 8, 8), np.float32)
    assert rushlight.load(folder / "net-static_int8.pte")(images).shape == (2, 10)


def test_a_record_for_the_developer_tools(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["quantized_model.py:net", "--data", "quantized_model.py:data", "-o", "net.pte"]
    assert main(["quantize", *arguments, "--etrecord", "net.etrecord"]) == 0
    capsys.readouterr()
    assert main(["compare", "net.pte"]) == 0
    assert "all values agree" in capsys.readouterr().out
    assert main(["profile", "net.pte", "--json"]) == 0
    assert "quantized_model.py:13" in capsys.readouterr().out


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = np.random.default_rng(0).random((9, 1, 8, 8), np.float32)
    np.save("images.npy", images)
    arguments = ["quantized_model.py:net", "--data", "images.npy", "--report", "--json", "--floor", "80"]
    assert main(["quantize", *arguments, "-o", "small.pte"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["file"] == "small.pte" and facts["bytes"] == (folder / "small.pte").stat().st_size
    assert facts["report"]["items"] == 4 and facts["report"]["first_below_floor"] == "conv.conv2d"
    assert [row["program"] for row in facts["report"]["results"]] == ["quantized", "compiled, in the runtime"]


@pytest.mark.parametrize(
    ("more", "left"),
    [
        (["--float-modules", "head"], {"head.linear"}),
        (["--float-types", "Conv2d"], {"conv.conv2d"}),
        (["--float-layers", "conv.conv2d"], {"conv.conv2d"}),
        (["--quantizer", "quantized_model.py:mine"], {"conv.conv2d"}),
        (["--config", "weight_only_int4", "--group-size", "16"], {"conv.conv2d"}),
        (["--backend", "xnnpack"], set()),
    ],
    ids=str,
)
def test_what_is_quantized(
    folder: Path, capsys: pytest.CaptureFixture[str], more: list[str], left: set[str]
) -> None:
    arguments = ["quantized_model.py:net", "--data", "quantized_model.py:data", "--report", "--json"]
    assert main(["quantize", *arguments, *more]) == 0
    layers = json.loads(capsys.readouterr().out)["report"]["layers"]
    weighted = [row for row in layers if row["operator"] in ("conv2d", "linear")]
    assert {row["layer"] for row in weighted if row["how"] == "float"} == left


def test_layers_left_in_float_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quantize", "quantized_model.py:net", "--config", "weight_only_int8"]) == 0
    warning = capsys.readouterr().err
    assert (
        warning.startswith("rushlight: warning: CpuQuantizer leaves 1 layer in float")
        and "conv.conv2d" in warning
    )


def test_a_floor_for_the_result_leaves_layers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["quantized_model.py:net", "--data", "quantized_model.py:data", "--json"]
    assert main(["quantize", *arguments, "--sensitivity"]) == 0
    found = json.loads(capsys.readouterr().out)["sensitivity"]
    goal = str(found["whole"]["snr_db"] + 0.3)
    assert main(["quantize", *arguments, "--min-snr", goal]) == 0
    assert json.loads(capsys.readouterr().out)["float"] == [found["layers"][0]["layer"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["quantized_model.py:net"], "--config static_int8 needs representative inputs: give --data"),
        (
            ["quantized_model.py:sine", "--data", "quantized_model.py:data"],
            "there is nothing to quantize: the model's operators are aten.sin.default",
        ),
        (
            ["quantized_model.py:net", "--data", "quantized_model.py:bad"],
            "calibration: 128 of 128 values at input x are not finite (NaN)",
        ),
        (
            ["quantized_model.py:net", "--data", "quantized_model.py:other_size"],
            "item 1 of the data: input x takes float32[2, 1, 8, 8], not float32[2, 1, 9, 8]",
        ),
        (
            ["quantized_model.py:net", "--data", "quantized_model.py:other_dtype"],
            "item 0 of the data: input x takes float32[2, 1, 8, 8], not int64[2, 1, 8, 8]",
        ),
        (
            ["quantized_model.py:net", "--data", "quantized_model.py:two_each"],
            "item 0 of the data has 2 inputs, but the model takes 1: x",
        ),
        (["quantized_model.py:net", "--data", "quantized_model.py:words"], "float32[2, 1, 8, 8], not a str"),
        (
            ["quantized_model.py:net", "--config", "weight_only_int4", "--group-size", "0"],
            "--group-size 0: a group needs at least one weight",
        ),
        (
            ["quantized_model.py:net", "--config", "weight_only_int4", "--backend", "xnnpack"]
            + ["--float32-matmul-precision", "high"],
            "--float32-matmul-precision: this is an option of --backend cpu, not of --backend xnnpack",
        ),
        (
            ["quantized_model.py:net", "--data", "quantized_model.py:data", "--config", "static_int16"]
            + ["--backend", "xnnpack"],
            "--config static_int16: XNNPACK supports only 8-bit activations; use --backend cpu",
        ),
        (
            ["quantized_model.py:net", "--config", "dynamic_int8", "--report"],
            "no data was given, but --report needs representative inputs: give --data",
        ),
        (
            ["quantized_model.py:net", "--data", "quantized_model.py:nothing"],
            "--data: nothing() must return several tensors or tuples of tensors, not NoneType",
        ),
        (
            ["quantized_model.py:net", "--data", "quantized_model.py:data"]
            + ["--quantizer", "quantized_model.py:data"],
            "the quantizer must be an object such as CpuQuantizer().set_global(static_int8()), not list",
        ),
        (
            ["quantized_model.py:net", "--config", "static_int8", "--group-size", "4"],
            "static_int8 has no groups",
        ),
        (
            ["quantized_model.py:net", "--html", "report.html"],
            "--html: there is no report to write",
        ),
        (
            ["quantized_model.py:net", "--data", "quantized_model.py:data", "--float-modules", "tail"],
            "the model has no module 'tail'",
        ),
        (["quantized_model.py:net", "--data", "quantized_model.py"], "is not of the form FILE.py:FACTORY"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["quantize", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not list(folder.glob("*.pte"))
