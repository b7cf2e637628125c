"""The JavaScript package in Node: results are equal to Python, and errors. `make js` builds and tests it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import rushlight

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "build/js"

needs_package = pytest.mark.skipif(
    not os.environ.get("RUSHLIGHT_JS"), reason="`make js` runs it: its build takes minutes"
)


class Several(nn.Module):
    def forward(self, x: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
        return (x * 2).softmax(-1), k.cumsum(0), x.shape[0]


def convolutions() -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 5)).eval()


def call(calls: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    (folder / "calls.json").write_text(json.dumps(calls))
    command = ["node", str(Path(__file__).with_name("run.mjs")), str(PACKAGE), str(folder / "calls.json")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return results


def given(tensor: torch.Tensor, shape: bool = True) -> dict[str, Any]:
    value = {"dtype": str(tensor.dtype).removeprefix("torch."), "data": tensor.flatten().tolist()}
    return {**value, "shape": list(tensor.shape)} if shape else value


def close(result: dict[str, Any], expected: torch.Tensor) -> None:
    assert result["shape"] == list(expected.shape) and f"torch.{result['dtype']}" == str(expected.dtype)
    got = torch.tensor(result["data"], dtype=expected.dtype).reshape(expected.shape)
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_the_version_is_that_of_the_project() -> None:
    assert json.loads((ROOT / "js/package.json").read_text())["version"] == rushlight.__version__


@needs_package
@pytest.mark.parametrize("partitioner", [None, ()], ids=["default", "kernels"])
def test_a_network(partitioner: Any, tmp_path: Path) -> None:
    model, image = convolutions(), torch.randn(1, 3, 12, 12)
    rushlight.compile(model, (image,), partitioner=partitioner).save(tmp_path / "model.pte")
    program = str(tmp_path / "model.pte")
    calls = [{"program": program, "inputs": [given(image, shape)]} for shape in (True, False)]
    for result in call(calls, tmp_path):
        info = {"kind": "tensor", "dtype": "float32", "shape": [1, 3, 12, 12]}
        assert result["inputs"] == [{**info, "dynamic": False, "dimOrder": [0, 1, 2, 3]}]
        close(result["results"][0], model(image).detach())


@needs_package
def test_threads(tmp_path: Path) -> None:
    """Results with several threads are equal to those of one thread.

    Steps are large enough for several threads.
    """
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 1), nn.ReLU(), nn.Conv2d(64, 8, 1)]
    model, image = nn.Sequential(*layers).eval(), torch.randn(1, 3, 64, 64)
    rushlight.compile(model, (image,)).save(tmp_path / "model.pte")
    calls = [
        {"program": str(tmp_path / "model.pte"), "inputs": [given(image)], "threads": threads}
        for threads in (1, 2, 4)
    ]
    results = call(calls, tmp_path)
    assert [result["threads"] for result in results] == [1, 2, 4]
    for result in results:
        close(result["results"][0], model(image).detach())
        assert result["results"] == results[0]["results"]


@needs_package
def test_wrong_numbers_of_threads(tmp_path: Path) -> None:
    rushlight.compile(nn.ReLU(), (torch.zeros(3),)).save(tmp_path / "model.pte")
    program = {"program": str(tmp_path / "model.pte"), "inputs": []}
    results = call([{**program, "threads": threads} for threads in (0, 1.5)], tmp_path)
    assert all(result["name"] == "RangeError" and "threads" in result["message"] for result in results)


@needs_package
def test_channels_last_outputs_are_in_row_major_order(tmp_path: Path) -> None:
    image = torch.randn(1, 3, 6, 5)

    class Last(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.to(memory_format=torch.channels_last) * 2

    rushlight.compile(Last(), (image,), partitioner=()).save(tmp_path / "last.pte")
    (result,) = call([{"program": str(tmp_path / "last.pte"), "inputs": [given(image)]}], tmp_path)
    close(result["results"][0], image * 2)


@needs_package
@pytest.mark.parametrize("shape", [(1, 3, 6, 5), (2, 4, 3, 7), (1, 1, 4, 4)])
def test_inputs_in_row_major_order_of_a_channels_last_program(shape: tuple[int, ...], tmp_path: Path) -> None:
    image = torch.randn(shape)
    model = nn.Sequential(nn.Conv2d(shape[1], 2, 3), nn.Flatten())
    program = rushlight.compile(model, (image.to(memory_format=torch.channels_last),))
    program.save(tmp_path / "last.pte")
    (result,) = call([{"program": str(tmp_path / "last.pte"), "inputs": [given(image)]}], tmp_path)
    close(result["results"][0], model(image).detach())


@needs_package
def test_several_kinds_and_dynamic_sizes(tmp_path: Path) -> None:
    x, k = torch.randn(4, 3), torch.tensor([1, 2, 3])
    rows = {0: torch.export.Dim("rows", min=2, max=9)}
    program = torch.export.export(Several(), (x, k), dynamic_shapes=(rows, None))
    rushlight.compile(program).save(tmp_path / "several.pte")
    calls: list[dict[str, Any]] = [
        {"program": str(tmp_path / "several.pte"), "inputs": [given(torch.randn(rows, 3)), given(k)]}
        for rows in (2, 9)
    ]
    for result, entry in zip(call(calls, tmp_path), calls, strict=True):
        assert result["inputs"][0]["dynamic"] and result["inputs"][0]["shape"] == [9, 3]
        values = torch.tensor(entry["inputs"][0]["data"]).reshape(-1, 3)
        softmax, sums, size = result["results"]
        close(softmax, (values * 2).softmax(-1))
        close(sums, k.cumsum(0))
        assert size == len(values)


@needs_package
def test_errors_say_what_is_wrong(tmp_path: Path) -> None:
    image = torch.randn(1, 3, 12, 12)
    rushlight.compile(convolutions(), (image,)).save(tmp_path / "model.pte")
    program, damaged = str(tmp_path / "model.pte"), str(tmp_path / "damaged.pte")
    Path(damaged).write_bytes(Path(program).read_bytes()[:300])
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"program": damaged, "inputs": []}, "InvalidProgram", ""),
        ({"program": program, "inputs": []}, "InvalidArgument", "1 inputs, and 0"),
        ({"program": program, "inputs": [3.5]}, "InvalidType", "a tensor"),
        ({"program": program, "inputs": [given(torch.ones(2, 3))]}, "InvalidArgument", "4 dimensions"),
        ({"program": program, "inputs": [given(torch.ones(5), False)]}, "InvalidArgument", "432 elements"),
        ({"program": program, "inputs": [given(image.int())]}, "InvalidArgument", "float32"),
        ({"program": program, "method": "none", "inputs": []}, "NotFound", "none"),
    ]
    results = call([entry for entry, _, _ in cases], tmp_path)
    for result, (_, status, text) in zip(results, cases, strict=True):
        assert result["status"] == status and text in result["message"], result
