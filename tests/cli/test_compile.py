"""`rushlight compile` of exported programs, with an ETRecord, and with JSON output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from rushlight.cli.main import main
from rushlight.devtools.etrecord import parse_etrecord
from rushlight.runtime import Runtime


def test_an_exported_program_with_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    x = torch.randn(2, 4)
    torch.export.save(torch.export.export(net, (x,)), tmp_path / "net.pt2")
    output, record = tmp_path / "net.pte", tmp_path / "net.etrecord"
    arguments = ["compile", str(tmp_path / "net.pt2"), "-o", str(output), "--etrecord", str(record), "--json"]
    assert main(arguments) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["bytes"] == output.stat().st_size and facts["etrecord"] == str(record)
    (result,) = Runtime.get().load_program(output).load_method("forward").execute([x])
    torch.testing.assert_close(torch.as_tensor(result), net(x).detach())
    assert parse_etrecord(record).handles_of("forward")


def test_what_is_no_exported_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.pt2").write_bytes(b"no archive")
    assert main(["compile", str(tmp_path / "bad.pt2")]) == 1
    assert "is not an exported program" in capsys.readouterr().err
    assert main(["compile", str(tmp_path / "none.pt2")]) == 1
    assert "does not exist" in capsys.readouterr().err
