"""`rushlight size`: parts, layers and duplicates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import rushlight
from rushlight.backends.xnnpack.partitioner import XnnpackPartitioner
from rushlight.cli.main import main
from rushlight.cli.size import collect


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide = torch.nn.Linear(64, 256)
        self.narrow = torch.nn.Linear(256, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.narrow(torch.relu(self.wide(x)))


def compiled(folder: Path, partitioner: Any) -> Path:
    program = rushlight.compile(Net(), (torch.randn(2, 64),), partitioner=partitioner, generate_etrecord=True)
    program.save(folder / "net.pte")
    program.get_etrecord().save(folder / "net.etrecord")
    return folder / "net.pte"


@pytest.mark.parametrize(
    "partitioner", [None, (), (XnnpackPartitioner(),)], ids=["cpu", "kernels", "xnnpack"]
)
def test_bytes_of_layers(partitioner: Any, tmp_path: Path) -> None:
    path = compiled(tmp_path, partitioner)
    facts = collect(path, tmp_path / "net.etrecord")
    assert facts["bytes"] == path.stat().st_size == sum(facts["parts"].values())
    layers = {row["layer"]: row["bytes"] for row in facts["layers"]}
    assert next(iter(layers)) == "wide" and layers["wide"] >= 64 * 256 * 4 > layers["narrow"] >= 256 * 8 * 4
    assert sum(row["bytes"] for row in collect(path)["layers"]) == sum(layers.values())


def test_duplicates_are_listed(program: Path) -> None:
    from rushlight.format.pte import read_pte, write_pte
    from rushlight.format.segments import NamedDataEntry

    file = read_pte(program.read_bytes())
    file.named_data = {"a": NamedDataEntry(b"x" * 100), "b": NamedDataEntry(b"x" * 100)}
    program.write_bytes(write_pte(file))
    assert {"bytes": 100, "names": ["a", "b"]} in collect(program)["duplicates"]


def test_the_record_beside_the_program_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = compiled(tmp_path, None)
    assert main(["size", str(path)]) == 0
    assert "wide" in capsys.readouterr().out
    assert main(["size", "--json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["layers"][0]["layer"] == "wide"
    (tmp_path / "net.etrecord").write_bytes(b"x")
    assert main(["size", str(path)]) == 1
    assert "not a readable zip archive" in capsys.readouterr().err
